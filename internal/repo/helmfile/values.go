package helmfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// merge puts values over others: maps are merged, anything else replaces. Neither
// argument is changed.
func merge(base, over map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range over {
		below, isMap := v.(map[string]any)
		under, wasMap := out[k].(map[string]any)
		if isMap && wasMap {
			out[k] = merge(under, below)
			continue
		}
		out[k] = v
	}
	return out
}

// isEncrypted reports whether a file, or the values in it, are such as only its
// owner can read. Source: SOPS, the form of its values.
func isEncrypted(data []byte) bool {
	return bytes.Contains(data, []byte("ENC[AES256_GCM,")) || manifest.EncryptedBy(data) != ""
}

// located gives the values of an evaluated text the lines of its template.
func located(v *yamldoc.Value, r rendered) *yamldoc.Value {
	seen := map[*yamldoc.Value]bool{}
	var walk func(*yamldoc.Value)
	walk = func(v *yamldoc.Value) {
		if v == nil || seen[v] {
			return
		}
		seen[v] = true
		v.Position.Line = r.line(v.Position.Line)
		for i := range v.Entries {
			v.Entries[i].Position.Line = r.line(v.Entries[i].Position.Line)
			walk(v.Entries[i].Value)
		}
		for _, item := range v.Items {
			walk(item)
		}
	}
	walk(v)
	return v
}

// plainText is a text as it is, with its lines.
func plainText(text string, first int) rendered {
	r := rendered{text: text}
	for i := range strings.Count(text, "\n") + 1 {
		r.lines = append(r.lines, first+i)
	}
	return r
}

// leaf is a value without entries, with its path.
type leaf struct {
	path  string
	value *yamldoc.Value
}

// unset takes the leaves out of values for which remove is true.
func (l *loader) unset(v *yamldoc.Value, remove func(leaf) bool) *yamldoc.Value {
	out, _ := l.pruned(leaf{value: v}, remove)
	if out == nil {
		return &yamldoc.Value{Kind: yamldoc.Map, Position: v.Position}
	}
	return out
}

func (l *loader) pruned(at leaf, remove func(leaf) bool) (out *yamldoc.Value, changed bool) {
	v := at.value
	switch v.Kind {
	case yamldoc.Map:
		entries := make([]yamldoc.Entry, 0, len(v.Entries))
		for _, e := range v.Entries {
			below, did := l.pruned(leaf{yamldoc.Join(at.path, e.Key), e.Value}, remove)
			changed = changed || did
			if below != nil {
				entries = append(entries, yamldoc.Entry{Key: e.Key, Value: below, Position: e.Position})
			}
		}
		if !changed {
			return v, false
		}
		return &yamldoc.Value{Kind: yamldoc.Map, Entries: entries, Position: v.Position}, true
	case yamldoc.List:
		for i, item := range v.Items {
			below, did := l.pruned(leaf{at.path + "[" + strconv.Itoa(i) + "]", item}, remove)
			// A list with a hole would be another list.
			if below == nil || did {
				return nil, true
			}
		}
		return v, false
	case yamldoc.Scalar:
		if remove(at) {
			return nil, true
		}
		return v, false
	default:
		return v, false
	}
}

// known takes out of values what is not known, and tells of it.
func (l *loader) known(release string, v *yamldoc.Value) map[string]any {
	told := map[string]bool{}
	v = l.unset(v, func(at leaf) bool {
		text := at.value.Text
		switch {
		case isMarked(text):
			l.problem(Problem{
				Kind: Template, Release: release, Position: at.value.Position,
				Message: fmt.Sprintf("the value %s is left out: %s", at.path, l.engine.unknown.reason(text)),
				Hint:    "write the value into the layer of values of each environment, or give it with --values FILE, and variables with --variable NAME=VALUE",
			})
			return true
		case isReference(text):
			scheme, _, _ := strings.Cut(text, "://")
			if !told[scheme+at.path] {
				told[scheme+at.path] = true
				l.problem(Problem{
					Kind: Secret, Release: release, Position: at.value.Position,
					Message: fmt.Sprintf("the value %s is left out: it refers to a store of secrets (%s)", at.path, scheme),
					Hint:    "make a Secret of it, with an ExternalSecret for example, and let the chart read that",
				})
			}
			return true
		default:
			return false
		}
	})
	m, _ := v.Any().(map[string]any)
	return m
}

// isReference reports whether a value is one that vals would resolve. Source:
// Helmfile, "Remote Secrets": ref+BACKEND://PATH and secretref+BACKEND://PATH.
func isReference(text string) bool {
	before, _, ok := strings.Cut(text, "://")
	return ok && (strings.HasPrefix(before, "ref+") || strings.HasPrefix(before, "secretref+"))
}

// environmentValues loads entries of values of an environment, or of the state
// file as a whole, over others.
func (l *loader) environmentValues(st *state, entries []*yamldoc.Value, handler string, fallback bool, values map[string]any) map[string]any {
	result := map[string]any{}
	add := func(m map[string]any) {
		if fallback {
			result = merge(m, result)
		} else {
			result = merge(result, m)
		}
	}
	for _, entry := range entries {
		switch entry.Kind {
		case yamldoc.Map:
			m, _ := entry.Any().(map[string]any)
			add(m)
		case yamldoc.Scalar:
			name, ok := l.text(st, "", entry, l.data(st, values))
			if !ok {
				continue
			}
			for _, file := range l.valueFiles(st.base, name, entry.Position, handler, "") {
				seen := values
				if fallback {
					seen = merge(result, values)
				}
				if m, ok := l.environmentFile(st, file, entry.Position, seen); ok {
					add(m)
				}
			}
		default:
		}
	}
	return result
}

// environmentFile reads one file of values of an environment.
func (l *loader) environmentFile(st *state, file string, at finding.Position, values map[string]any) (map[string]any, bool) {
	data, err := l.engine.read(file)
	if err != nil {
		l.unread("", at, err)
		return nil, false
	}
	if path.Ext(file) == ".hcl" {
		l.problem(Problem{Kind: Template, Position: at, Message: fmt.Sprintf("the values of %s are not known: HCL is not evaluated", file), Hint: "write the file as YAML"})
		return nil, false
	}
	if isEncrypted(data) {
		l.encrypted(file, at, "")
		return l.structure(file, data), true
	}
	r := plainText(string(data), 1)
	if path.Ext(file) == ".gotmpl" {
		if r, err = l.engine.render(file, 1, path.Dir(file), string(data), l.data(st, values)); err != nil {
			l.failed("", err)
			return nil, false
		}
	}
	v, err := yamldoc.ParseOne(file, []byte(r.text))
	if err != nil {
		l.unreadable("", file, r, err)
		return nil, false
	}
	m, ok := located(v, r).Any().(map[string]any)
	if !ok {
		l.problem(Problem{Kind: Invalid, Position: finding.Position{File: file, Line: 1}, Message: "the values are no map"})
	}
	return m, ok
}

// structure is what can be read of an encrypted file: the names of its values.
// SOPS leaves them in the clear; the values are marks.
func (l *loader) structure(file string, data []byte) map[string]any {
	v, err := yamldoc.ParseOne(file, data)
	if err != nil || v.Kind != yamldoc.Map {
		return map[string]any{}
	}
	mark := l.engine.unknown.mark("its value is in the encrypted file %s", file)
	var hidden func(v *yamldoc.Value) any
	hidden = func(v *yamldoc.Value) any {
		if v.Kind != yamldoc.Map {
			return mark
		}
		m := map[string]any{}
		for _, e := range v.Entries {
			m[e.Key] = hidden(e.Value)
		}
		return m
	}
	m, _ := hidden(v.With("sops", nil)).(map[string]any)
	return m
}

// encrypted tells of an encrypted file, which is listed and never decrypted.
func (l *loader) encrypted(file string, at finding.Position, release string) {
	l.problem(Problem{
		Kind: Secret, Release: release, Position: at,
		Message: fmt.Sprintf("the encrypted values of %s are not carried over", file),
		Hint:    "make Secrets of them, with ExternalSecrets for example, and let the charts read those",
	})
}

// valueFiles finds the files that an entry of values names; what is missing is
// told as the handler says.
func (l *loader) valueFiles(base, name string, at finding.Position, handler, release string) []string {
	if isRemote(name) {
		l.problem(Problem{Kind: Remote, Release: release, Position: at, Message: "the values of " + finding.Redact(name) + " would have to be fetched", Hint: "copy the file into the repository"})
		return nil
	}
	found, err := l.expand(base, name)
	if err != nil {
		l.problem(Problem{Kind: Missing, Release: release, Position: at, Message: oneLine(err)})
		return nil
	}
	found = slices.DeleteFunc(found, func(f string) bool { return !l.tree.IsFile(f) })
	if len(found) == 0 && (handler == "" || strings.EqualFold(handler, "error")) {
		l.problem(Problem{
			Kind: Missing, Release: release, Position: at,
			Message: fmt.Sprintf("there is no file of values %s", path.Join(base, name)),
		})
	}
	return found
}

// oneLine is the message of an error on one line.
func oneLine(err error) string { return strings.Join(strings.Fields(scrub(err.Error())), " ") }

// unread tells that a file of values could not be read.
func (l *loader) unread(release string, at finding.Position, err error) {
	var t *templateError
	if errors.As(err, &t) {
		l.failed(release, err)
		return
	}
	l.problem(Problem{Kind: Missing, Release: release, Position: at, Message: oneLine(err)})
}

// failed tells that a template could not be evaluated.
func (l *loader) failed(release string, err error) {
	var t *templateError
	if !errors.As(err, &t) {
		l.problem(Problem{Kind: Template, Release: release, Message: oneLine(err)})
		return
	}
	p := Problem{Kind: Template, Release: release, Position: t.position, Message: "the template cannot be evaluated: " + t.reason}
	if t.unknown {
		p.Message = "the template cannot be evaluated, since what it decides by is not known: " + t.reason
		p.Hint = "give the value with --values FILE, and variables with --variable NAME=VALUE"
	}
	l.problem(p)
}
