package helmfile

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// state is a state file, evaluated in one environment.
type state struct {
	base string
	// declared are the environments that the file and its bases name.
	declared map[string]bool
	// defaults are those of values:, values those of the environment.
	defaults, values map[string]any
	// given are values that win over all others.
	given          map[string]any
	helmfiles      []*yamldoc.Value
	repositories   []*yamldoc.Value
	releases       []*yamldoc.Value
	templates      map[string]*yamldoc.Value
	defaultInherit []string
	// settings are the other entries, later ones win.
	settings map[string]yamldoc.Entry
}

func newState(file string) *state {
	return &state{
		base: path.Dir(file), declared: map[string]bool{}, defaults: map[string]any{}, values: map[string]any{},
		templates: map[string]*yamldoc.Value{}, settings: map[string]yamldoc.Entry{},
	}
}

// merged are the values that templates see.
func (st *state) merged() map[string]any { return merge(merge(st.defaults, st.values), st.given) }

func (st *state) setting(keys ...string) *yamldoc.Value {
	e, ok := st.settings[keys[0]]
	if !ok {
		return nil
	}
	return e.Value.At(keys[1:]...)
}

// maxBases bounds how deep bases are nested.
const maxBases = 10

// read evaluates a state file over values that are given to it.
func (l *loader) read(file string, given map[string]any, depth int) (*state, error) {
	st := newState(file)
	st.values, st.given = given, l.given
	return st, l.readInto(st, file, depth)
}

// readInto adds what a file says to a state.
func (l *loader) readInto(st *state, file string, depth int) error {
	if depth > maxBases {
		return &repofs.InputError{Position: finding.Position{File: file}, Message: "bases are nested too deep"}
	}
	data, err := l.engine.read(file)
	var broken *templateError
	if errors.As(err, &broken) {
		l.failed("", err)
		return nil
	}
	if err != nil {
		return err
	}
	l.seen[file] = true
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	line := 1
	for part := range strings.SplitSeq(text, "\n---\n") {
		l.part(st, file, line, part, depth)
		line += strings.Count(part, "\n") + 2
	}
	return nil
}

// part reads what stands between two lines of ---, which Helmfile evaluates one
// after the other.
func (l *loader) part(st *state, file string, line int, text string, depth int) {
	r, ok := l.evaluated(st, file, line, text, depth)
	if !ok {
		return
	}
	documents, err := yamldoc.Parse(file, []byte(r.text))
	if err != nil {
		l.unreadable("", file, r, err)
		return
	}
	for _, d := range documents {
		if located(d, r).Kind != yamldoc.Map {
			l.problem(Problem{Kind: Invalid, Position: d.Position, Message: "the state file is no map"})
			continue
		}
		l.document(st, d, depth)
	}
}

// evaluated is the text of a part after its templates. A file that is not named
// as a template is one only where it does not parse otherwise, as before Helmfile
// 1.0.
func (l *loader) evaluated(st *state, file string, line int, text string, depth int) (rendered, bool) {
	plain := plainText(text, line)
	if path.Ext(file) != ".gotmpl" {
		if !strings.Contains(text, "{{") {
			return plain, true
		}
		if _, err := yamldoc.Parse(file, []byte(text)); err == nil {
			return plain, true
		}
		l.problem(Problem{Kind: Template, Mild: true, Position: finding.Position{File: file, Line: line}, Message: "the file is read as a template, as Helmfile before 1.0 does; 1.0 wants the ending .gotmpl"})
	}
	if !strings.Contains(text, "{{") {
		return plain, true
	}
	l.ahead(st, file, line, text, depth)
	r, err := l.engine.render(file, line, path.Dir(file), text, l.data(st, st.merged()))
	if err != nil {
		l.failed("", err)
		return rendered{}, false
	}
	return r, true
}

// ahead reads the values of the environment that a part defines itself, which its
// own templates may use: before 1.0 Helmfile evaluated every file twice.
func (l *loader) ahead(st *state, file string, line int, text string, depth int) {
	for _, key := range []string{"bases", "values", "environments"} {
		block, at, ok := topLevel(text, key)
		if !ok {
			continue
		}
		r := plainText(block, line+at)
		if strings.Contains(block, "{{") {
			var err error
			if r, err = l.engine.render(file, line+at, path.Dir(file), block, l.data(st, st.merged())); err != nil {
				continue // the whole part tells what is wrong
			}
		}
		d, err := yamldoc.ParseOne(file, []byte(r.text))
		if err != nil || d.Kind != yamldoc.Map {
			continue
		}
		if e, ok := located(d, r).Get(key); ok {
			quiet := l.quiet
			l.quiet = true // the document itself tells it
			l.values(st, yamldoc.Entry{Key: key, Value: e.Value, Position: e.Position}, depth)
			l.quiet = quiet
		}
	}
}

// topLevel cuts the entry of a key out of a text, with its first line from 0.
func topLevel(text, key string) (block string, at int, ok bool) {
	lines := strings.Split(text, "\n")
	start := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, key+":") })
	if start < 0 {
		return "", 0, false
	}
	end := start + 1
	for end < len(lines) {
		s := lines[end]
		if s != "" && s[0] != ' ' && s[0] != '\t' && s[0] != '#' && s[0] != '-' && !strings.HasPrefix(s, "{{") {
			break
		}
		end++
	}
	return strings.Join(lines[start:end], "\n") + "\n", start, true
}

// document adds one document to a state.
func (l *loader) document(st *state, d *yamldoc.Value, depth int) {
	// What gives values comes first, wherever it is written.
	for _, key := range []string{"bases", "values", "environments"} {
		if e, ok := d.Get(key); ok {
			l.values(st, e, depth)
		}
	}
	for _, e := range d.Entries {
		switch e.Key {
		case "bases", "values", "environments":
		case "helmfiles":
			st.helmfiles = append(st.helmfiles, e.Value.Items...)
		case "repositories":
			st.repositories = append(st.repositories, e.Value.Items...)
		case "releases":
			st.releases = append(st.releases, e.Value.Items...)
		case "templates":
			for _, t := range e.Value.Entries {
				st.templates[t.Key] = t.Value
			}
		case "defaultInherit":
			st.defaultInherit = texts(e.Value)
		default:
			st.settings[e.Key] = e
		}
	}
}

// values adds bases, values or environments to a state.
func (l *loader) values(st *state, e yamldoc.Entry, depth int) {
	switch e.Key {
	case "bases":
		for _, item := range e.Value.Items {
			l.base(st, item, depth)
		}
	case "values":
		st.defaults = merge(st.defaults, l.environmentValues(st, e.Value.Items, l.handler(st, nil), false, st.merged()))
	case "environments":
		for _, env := range e.Value.Entries {
			st.declared[env.Key] = true
			l.declared[env.Key] = true
			if env.Key == l.environment {
				l.environmentOf(st, env.Value)
			}
		}
	}
}

// base reads a file of bases:, as if it were part of the state file.
func (l *loader) base(st *state, item *yamldoc.Value, depth int) {
	name, ok := l.text(st, "", item, l.data(st, st.merged()))
	if !ok {
		return
	}
	if isRemote(name) {
		l.problem(Problem{Kind: Remote, Position: item.Position, Message: "the base " + finding.Redact(name) + " would have to be fetched", Hint: "copy the file into the repository"})
		return
	}
	file, err := l.engine.join(st.base, name)
	if err == nil {
		l.bases[file] = true
		base := st.base
		// Paths in a base are relative to it. Source: Helmfile, loadBases.
		st.base = path.Dir(file)
		err = l.readInto(st, file, depth+1)
		st.base = base
	}
	if err != nil {
		kind := Invalid
		if errors.Is(err, fs.ErrNotExist) {
			kind = Missing
		}
		l.problem(Problem{Kind: kind, Position: item.Position, Message: oneLine(err)})
	}
}

// environmentOf loads the values of the environment that is read.
func (l *loader) environmentOf(st *state, spec *yamldoc.Value) {
	fallback := spec.TextAt("mergeStrategy") == "fallback"
	for _, key := range []string{"defaults", "values"} {
		if list := spec.At(key); list != nil {
			loaded := l.environmentValues(st, list.Items, l.handler(st, spec), fallback, st.merged())
			if key == "defaults" {
				st.values = merge(loaded, st.values)
			} else {
				st.values = merge(st.values, loaded)
			}
		}
	}
	list := spec.At("secrets")
	if list == nil {
		return
	}
	for _, item := range list.Items {
		name, ok := l.text(st, "", item, l.data(st, st.merged()))
		if !ok {
			continue
		}
		found, err := l.expand(st.base, name)
		if err != nil || isRemote(name) {
			found = nil
		}
		shown := name
		for _, file := range found {
			shown = file
			if data, err := l.engine.read(file); err == nil {
				st.values = merge(st.values, l.structure(file, data))
			}
		}
		l.encrypted(finding.Redact(shown), item.Position, "")
	}
}

// handler is what is done about missing files: "Error" where nothing is said.
func (l *loader) handler(st *state, spec *yamldoc.Value) string {
	if spec != nil {
		if text := spec.TextAt("missingFileHandler"); text != "" {
			return text
		}
	}
	if v := st.setting("missingFileHandler"); v != nil {
		return v.Text
	}
	return ""
}

// data is what templates of a state file see.
func (l *loader) data(st *state, values map[string]any) map[string]any {
	context := ""
	if v := st.setting("kubeContext"); v != nil {
		context = v.Text
	}
	namespace := ""
	if v := st.setting("namespace"); v != nil {
		namespace = v.Text
	}
	return map[string]any{
		"Environment": map[string]any{"Name": l.environment, "KubeContext": context, "Values": values},
		"Values":      values, "StateValues": values, "Namespace": namespace, "KubeContext": context, "Chart": "",
	}
}

// maxPasses bounds how often a text is evaluated: templates may make templates.
// Source: Helmfile, ExecuteTemplates.
const maxPasses = 6

// text evaluates a scalar. ok is false where it is not known; that is told.
func (l *loader) text(st *state, release string, v *yamldoc.Value, data map[string]any) (string, bool) {
	text, err := l.evaluate(st, v, data)
	if err != nil {
		l.failed(release, err)
		return "", false
	}
	if isMarked(text) {
		l.problem(Problem{Kind: Template, Release: release, Position: v.Position, Message: "the field is left out: " + l.engine.unknown.reason(text)})
		return "", false
	}
	return text, true
}

// evaluate fills in the templates of a scalar; the result may hold marks.
func (l *loader) evaluate(st *state, v *yamldoc.Value, data map[string]any) (string, error) {
	text := v.Text
	for range maxPasses {
		if !strings.Contains(text, "{{") {
			return strings.TrimSpace(text), nil
		}
		r, err := l.engine.render(v.Position.File, v.Position.Line, st.base, text, data)
		if err != nil {
			return "", err
		}
		if r.text == text {
			break
		}
		text = r.text
	}
	return strings.TrimSpace(text), nil
}

// unreadable tells that a text is no YAML.
func (l *loader) unreadable(release, file string, r rendered, err error) {
	p := Problem{Kind: Invalid, Release: release, Position: finding.Position{File: file, Line: r.line(1)}, Message: oneLine(err)}
	var input *repofs.InputError
	if errors.As(err, &input) {
		p.Position.Line = r.line(input.Position.Line)
		p.Message, p.Hint = scrub(input.Message), input.Hint
	}
	l.problem(p)
}

// texts are the scalars of a list, or the one that stands instead of it.
func texts(v *yamldoc.Value) []string {
	if v == nil {
		return nil
	}
	if v.Kind == yamldoc.Scalar {
		return []string{v.Text}
	}
	var all []string
	for _, item := range v.Items {
		if item.Kind == yamldoc.Scalar {
			all = append(all, item.Text)
		}
	}
	return all
}

// problem records a problem of the environment that is read.
func (l *loader) problem(p Problem) {
	if l.quiet {
		return
	}
	p.Environment = l.environment
	p.Message = scrub(p.Message)
	l.problems = append(l.problems, p)
}
