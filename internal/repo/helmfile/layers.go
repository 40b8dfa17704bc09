package helmfile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// layers evaluates the values of the release, in their order.
func (e *evaluation) layers() {
	for _, item := range e.items("valuesTemplate") {
		e.layer(item, true)
	}
	if v := e.v.At("values"); v != nil && v.Kind == yamldoc.Map {
		e.layer(v, false)
	}
	for _, item := range e.items("values") {
		e.layer(item, false)
	}
	for _, item := range e.items("secrets") {
		if item.Kind != yamldoc.Scalar {
			e.tell(Secret, item.Position, "make Secrets of them and let the chart read those", "encrypted values are not carried over")
			continue
		}
		if name, ok := e.text(e.st, e.r.Name, item, e.data); ok {
			e.encrypted(finding.Redact(e.relative(name)), item.Position, e.r.Name)
		}
	}
}

// maxItems is how many entries a list of a release may have.
const maxItems = 1000

// items are the entries of a list of the release; what is too many is told.
func (e *evaluation) items(key string) []*yamldoc.Value {
	list := e.v.At(key)
	if list == nil {
		return nil
	}
	if len(list.Items) > maxItems {
		e.tell(Invalid, list.Items[maxItems].Position, "write fewer", "%s has more than %d entries; the rest is left out", key, maxItems)
		return list.Items[:maxItems]
	}
	return list.Items
}

// relative is a path as it is named for people: relative to the root where it can.
func (e *evaluation) relative(name string) string {
	if isRemote(name) || path.IsAbs(name) {
		return name
	}
	return path.Join(e.st.base, name)
}

func (e *evaluation) layer(item *yamldoc.Value, template bool) {
	switch item.Kind {
	case yamldoc.Map:
		if template {
			filledIn, ok := e.fill(item)
			if !ok {
				return
			}
			item = filledIn
		}
		if data := e.known(e.r.Name, item); len(data) > 0 {
			e.r.Values = append(e.r.Values, Layer{Data: data, From: item.Position})
		}
	case yamldoc.Scalar:
		name, ok := e.text(e.st, e.r.Name, item, e.data)
		if !ok || name == "" {
			return
		}
		if prefix := e.field("valuesPathPrefix"); prefix != "" && !isRemote(name) {
			name = prefix + name
		}
		handler := cmp.Or(e.field("missingFileHandler"), e.handler(e.st, nil))
		for _, file := range e.valueFiles(e.st.base, name, item.Position, handler, e.r.Name) {
			e.file(file, item.Position)
		}
	default:
	}
}

// fill evaluates the texts below a value.
func (e *evaluation) fill(v *yamldoc.Value) (*yamldoc.Value, bool) {
	switch v.Kind {
	case yamldoc.Scalar:
		if !strings.Contains(v.Text, "{{") {
			return v, true
		}
		text, err := e.evaluate(e.st, v, e.data)
		if err != nil {
			e.failed(e.r.Name, err)
			return nil, false
		}
		// What a template makes is read as YAML again: numbers become numbers.
		if made, err := yamldoc.ParseOne(v.Position.File, []byte(text)); err == nil && !isMarked(text) {
			return made.Located(v.Position), true
		}
		return yamldoc.Text(text, v.Position), true
	case yamldoc.List:
		out := &yamldoc.Value{Kind: yamldoc.List, Position: v.Position}
		for _, item := range v.Items {
			below, ok := e.fill(item)
			if !ok {
				return nil, false
			}
			out.Items = append(out.Items, below)
		}
		return out, true
	case yamldoc.Map:
		out := &yamldoc.Value{Kind: yamldoc.Map, Position: v.Position}
		for _, entry := range v.Entries {
			below, ok := e.fill(entry.Value)
			if !ok {
				return nil, false
			}
			out.Entries = append(out.Entries, yamldoc.Entry{Key: entry.Key, Value: below, Position: entry.Position})
		}
		return out, true
	default:
		return v, true
	}
}

// file adds a file of values: as it is, or evaluated.
func (e *evaluation) file(file string, at finding.Position) {
	data, err := e.engine.read(file)
	if err != nil {
		e.unread(e.r.Name, at, err)
		return
	}
	if isEncrypted(data) {
		e.encrypted(file, at, e.r.Name)
		return
	}
	if path.Ext(file) != ".gotmpl" {
		v, err := yamldoc.ParseOne(file, data)
		if err != nil {
			e.unreadable(e.r.Name, file, plainText(string(data), 1), err)
			return
		}
		known := e.known(e.r.Name, v)
		if len(known) == 0 {
			return
		}
		if v.Kind == yamldoc.Map && !e.holdsReferences(v) {
			e.r.Values = append(e.r.Values, Layer{File: file, From: finding.Position{File: file, Line: 1}})
			return
		}
		e.r.Values = append(e.r.Values, Layer{Data: known, From: finding.Position{File: file, Line: 1}})
		return
	}
	r, err := e.engine.render(file, 1, path.Dir(file), string(data), e.data)
	if err != nil {
		e.failed(e.r.Name, err)
		return
	}
	v, err := yamldoc.ParseOne(file, []byte(r.text))
	if err != nil {
		e.unreadable(e.r.Name, file, r, err)
		return
	}
	if v.Kind != yamldoc.Map {
		e.tell(Invalid, finding.Position{File: file, Line: 1}, "", "the values are no map")
		return
	}
	if known := e.known(e.r.Name, located(v, r)); len(known) > 0 {
		e.r.Values = append(e.r.Values, Layer{Data: known, From: finding.Position{File: file, Line: 1}})
	}
}

// holdsReferences reports whether values refer to stores of secrets.
func (e *evaluation) holdsReferences(v *yamldoc.Value) bool {
	found := false
	e.unset(v, func(at leaf) bool {
		found = found || isReference(at.value.Text)
		return false
	})
	return found
}

// sets evaluates set and setString.
func (e *evaluation) sets() {
	for _, key := range []string{"setTemplate", "set", "setString"} {
		for _, item := range e.items(key) {
			e.set(key, item)
		}
	}
}

func (e *evaluation) set(key string, item *yamldoc.Value) {
	name := item.TextAt("name")
	if name == "" {
		e.tell(Invalid, item.Position, "", "an entry of %s has no name", key)
		return
	}
	if v := item.At("file"); v != nil {
		e.tell(Option, item.Position, "write the content into the values", "%s of %s from a file is not carried over", key, name)
		return
	}
	value := ""
	if v := item.At("value"); v != nil && v.Kind == yamldoc.Scalar {
		text, ok := e.setText(key, v)
		if !ok {
			return
		}
		value = text
	}
	if list := item.At("values"); list != nil && list.Kind == yamldoc.List {
		var all []string
		for _, v := range list.Items {
			text, ok := e.setText(key, v)
			if !ok {
				return
			}
			all = append(all, strings.ReplaceAll(text, ",", `\,`))
		}
		value = "{" + strings.Join(all, ",") + "}"
	}
	if isReference(value) {
		e.tell(Secret, item.Position, "make a Secret of it and let the chart read that", "%s of %s is left out: it refers to a store of secrets", key, name)
		return
	}
	to := &e.r.Set
	if key == "setString" {
		to = &e.r.SetString
	}
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[name] = value
}

func (e *evaluation) setText(key string, v *yamldoc.Value) (string, bool) {
	if key == "setTemplate" {
		return e.text(e.st, e.r.Name, v, e.data)
	}
	if isMarked(v.Text) {
		e.tell(Template, v.Position, "", "the value is left out: %s", e.engine.unknown.reason(v.Text))
		return "", false
	}
	return v.Text, true
}

// needs evaluates what the release requires; resolve finds the releases.
func (e *evaluation) needs() {
	for _, item := range e.items("needs") {
		if item.Kind != yamldoc.Scalar {
			e.tell(Invalid, item.Position, "", "an entry of needs is no text")
			continue
		}
		if text, ok := e.text(e.st, e.r.Name, item, e.data); ok && text != "" {
			e.r.Needs = append(e.r.Needs, Requirement{Text: text, Release: -1, Position: item.Position})
		}
	}
}

// resolve finds the releases that others need: in the same state file first, as
// Helmfile does, then in any.
func (l *loader) resolve() {
	for i := range l.releases {
		r := &l.releases[i]
		for k := range r.Needs {
			n := &r.Needs[k]
			n.Release = l.find(r, n.Text)
			switch {
			case n.Release < 0:
				l.problem(Problem{Kind: Need, Release: r.Name, Position: n.Position, Message: fmt.Sprintf("%s needs %s, which no state file defines", r.ID(), n.Text), Hint: "correct the name, with its namespace, or remove it"})
			case l.releases[n.Release].Group != r.Group:
				l.problem(Problem{Kind: Need, Release: r.Name, Mild: true, Position: n.Position, Message: fmt.Sprintf("%s needs %s of another state file, which Helmfile does not order", r.ID(), n.Text)})
			}
		}
	}
}

// find returns the index of the release that a need of another names; -1 for none.
// Source: Helmfile, reformat: what is not written is that of the release itself.
func (l *loader) find(from *Release, text string) int {
	parts := strings.Split(text, "/")
	name, namespace, context := parts[len(parts)-1], from.Namespace, from.KubeContext
	if len(parts) > 1 {
		namespace = parts[len(parts)-2]
	}
	if len(parts) > 2 {
		context = strings.Join(parts[:len(parts)-2], "/")
	}
	wanted := id(context, namespace, name)
	best := -1
	for i := range l.releases {
		r := &l.releases[i]
		if r.ID() != wanted && (len(parts) > 1 || r.Name != name) {
			continue
		}
		switch {
		case best < 0:
			best = i
		case rank(r, from, wanted) > rank(&l.releases[best], from, wanted):
			best = i
		}
	}
	return best
}

// rank says how well a release answers a need.
func rank(r, from *Release, wanted string) int {
	n := 0
	if r.ID() == wanted {
		n += 2
	}
	if r.Group == from.Group {
		n++
	}
	return n
}

// lost tells of what has no equivalent.
func (e *evaluation) lost() {
	if v := e.v.At("hooks"); v != nil {
		e.hooks(e.r.Name, v)
	}
	for _, key := range []string{"jsonPatches", "strategicMergePatches", "transformers", "postRenderer", "forceNamespace"} {
		if en, ok := e.v.Get(key); ok && en.Value.Kind != yamldoc.Null {
			e.tell(Patch, en.Position, "make a kustomization that inflates the chart and patches it, or set values of the chart", "%s is not carried over", key)
		}
	}
	if en, ok := e.v.Get("dependencies"); ok {
		e.tell(Patch, en.Position, "make a chart with these dependencies", "dependencies is not carried over")
	}
	if e.r.KubeContext != "" {
		at := e.v.Position
		if v := e.v.At("kubeContext"); v != nil {
			at = v.Position
		}
		e.tell(Option, at, "say the cluster in the destination of the environment", "the context %q is not carried over", e.r.KubeContext)
	}
	for _, key := range []string{"adopt", "env", "unitTests"} {
		if en, ok := e.v.Get(key); ok && en.Value.Kind != yamldoc.Null {
			e.problem(Problem{Kind: Option, Mild: key != "env", Release: e.r.Name, Position: en.Position, Message: key + " is not carried over"})
		}
	}
}

// hooks tells of commands that Helmfile runs. Their arguments are not shown: they
// may hold anything.
func (l *loader) hooks(release string, v *yamldoc.Value) {
	for _, h := range v.Items {
		events := slices.Sorted(slices.Values(texts(h.At("events"))))
		what := "a hook"
		if command := h.TextAt("command"); command != "" && !isMarked(command) && !strings.Contains(command, "{{") {
			what = "the hook that runs " + first(command)
		}
		when := ""
		if len(events) > 0 && !isMarked(strings.Join(events, "")) {
			when = " at " + strings.Join(events, ", ")
		}
		l.problem(Problem{
			Kind: Hook, Release: release, Position: h.Position, Message: fmt.Sprintf("%s%s is not carried over", what, when),
			Hint: "make a Job of it: a component of its own, or a hook of Argo CD in the chart",
		})
	}
}
