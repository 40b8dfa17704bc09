package helmfile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// fileOptions tells of settings of a whole state file that are not carried over.
func (l *loader) fileOptions(st *state) {
	if e, ok := st.settings["hooks"]; ok {
		l.hooks("", e.Value)
	}
	if v := st.setting("helmDefaults", "postRenderer"); v != nil {
		l.problem(Problem{Kind: Patch, Position: v.Position, Message: "the post-renderer of helmDefaults is not carried over", Hint: "make a kustomization of what it changes"})
	}
	if v := st.setting("helmDefaults", "args"); v != nil {
		l.problem(Problem{Kind: Option, Position: v.Position, Message: "the arguments of helmDefaults are not carried over"})
	}
}

// release evaluates one release.
func (l *loader) release(st *state, written *yamldoc.Value, group int, selected selection) {
	if written.Kind != yamldoc.Map {
		l.problem(Problem{Kind: Invalid, Position: written.Position, Message: "a release is no map"})
		return
	}
	merged, ok := l.inherited(st, written, st.defaultInherit, nil)
	if !ok {
		return
	}
	e := &evaluation{loader: l, st: st, v: merged}
	e.r = Release{Group: group, Position: written.Position, Labels: map[string]string{}}
	e.data = l.data(st, st.merged())
	if !e.identity() || !selected.matches(&e.r) {
		return
	}
	e.chart()
	e.options()
	e.installed()
	e.layers()
	e.sets()
	e.needs()
	e.lost()
	l.releases = append(l.releases, e.r)
}

// inherited is a release over the templates that it inherits: what a template
// says stays, lists are appended. Source: Helmfile, releaseWithInheritedTemplate.
func (l *loader) inherited(st *state, v *yamldoc.Value, defaults, trail []string) (*yamldoc.Value, bool) {
	type use struct {
		name   string
		except []string
	}
	var uses []use
	list := v.At("inherit")
	items := []*yamldoc.Value{list}
	if list != nil && list.Kind == yamldoc.List {
		items = list.Items
	}
	for _, item := range items {
		if item != nil && item.TextAt("template") != "" {
			uses = append(uses, use{item.TextAt("template"), texts(item.At("except"))})
		}
	}
	for _, name := range slices.Backward(defaults) {
		if !slices.ContainsFunc(uses, func(u use) bool { return u.name == name }) {
			uses = append([]use{{name: name}}, uses...)
		}
	}
	out := &yamldoc.Value{Kind: yamldoc.Map, Position: v.Position}
	for _, u := range uses {
		t := st.templates[u.name]
		if t == nil || slices.Contains(trail, u.name) {
			l.problem(Problem{Kind: Invalid, Release: v.TextAt("name"), Position: v.Position, Message: fmt.Sprintf("there is no template %q that a release could inherit", u.name)})
			return nil, false
		}
		above, ok := l.inherited(st, t, nil, append(slices.Clip(trail), u.name))
		if !ok {
			return nil, false
		}
		for _, key := range u.except {
			above = above.With(key, nil)
		}
		out = filled(out, above)
	}
	return filled(out, v).With("inherit", nil), true
}

// filled keeps what the first value has, adds what only the second has, and
// appends lists.
func filled(v, more *yamldoc.Value) *yamldoc.Value {
	out := &yamldoc.Value{Kind: yamldoc.Map, Entries: slices.Clone(v.Entries), Position: v.Position}
	for _, e := range more.Entries {
		i := slices.IndexFunc(out.Entries, func(o yamldoc.Entry) bool { return o.Key == e.Key })
		if i < 0 {
			out.Entries = append(out.Entries, e)
			continue
		}
		own := out.Entries[i].Value
		switch {
		case own.Kind == yamldoc.List && e.Value.Kind == yamldoc.List:
			out.Entries[i].Value = &yamldoc.Value{Kind: yamldoc.List, Items: slices.Concat(own.Items, e.Value.Items), Position: own.Position}
		case own.Kind == yamldoc.Map && e.Value.Kind == yamldoc.Map:
			out.Entries[i].Value = filled(own, e.Value)
		case own.Kind == yamldoc.Null || own.Kind == yamldoc.Scalar && own.Text == "":
			out.Entries[i] = e
		}
	}
	return out
}

// evaluation is one release while it is evaluated.
type evaluation struct {
	*loader
	st   *state
	v    *yamldoc.Value
	r    Release
	data map[string]any
}

func (e *evaluation) tell(kind Kind, at finding.Position, hint, format string, args ...any) {
	e.problem(Problem{Kind: kind, Release: e.r.Name, Position: at, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// field evaluates a field; "" where it is not there or not known.
func (e *evaluation) field(key string) string {
	v := e.v.At(key)
	if v == nil || v.Kind != yamldoc.Scalar {
		return ""
	}
	text, _ := e.text(e.st, e.r.Name, v, e.data)
	return text
}

// identity evaluates what the release is called, which its other templates use.
func (e *evaluation) identity() bool {
	e.tellTemplates()
	e.r.Name = e.v.TextAt("name")
	e.r.Namespace = e.field("namespace")
	e.tellTemplates()
	name := e.v.At("name")
	if name == nil || name.Text == "" {
		e.problem(Problem{Kind: Invalid, Position: e.v.Position, Message: "a release has no name"})
		return false
	}
	text, ok := e.text(e.st, "", name, e.data)
	if !ok {
		return false
	}
	e.r.Name = text
	e.tellTemplates()
	e.r.Namespace = e.field("namespace")
	if v := e.st.setting("namespace"); v != nil && v.Text != "" {
		e.r.Namespace = v.Text
	}
	e.r.KubeContext = e.field("kubeContext")
	for _, key := range []*yamldoc.Value{e.v.At("labels"), e.st.setting("commonLabels")} {
		if key == nil {
			continue
		}
		for _, entry := range key.Entries {
			if text, ok := e.text(e.st, e.r.Name, entry.Value, e.data); ok {
				e.r.Labels[entry.Key] = text
			}
		}
	}
	e.tellTemplates()
	return true
}

// tellTemplates tells templates about the release, as far as it is known.
func (e *evaluation) tellTemplates() {
	labels := map[string]any{}
	for k, v := range e.r.Labels {
		labels[k] = v
	}
	e.data["Release"] = map[string]any{
		"Name": e.r.Name, "Namespace": e.r.Namespace, "Labels": labels, "Chart": e.r.Chart, "KubeContext": e.r.KubeContext, "ChartVersion": e.r.Version,
	}
	e.data["Chart"] = e.r.Chart
}

// chart finds out what is installed.
func (e *evaluation) chart() {
	e.r.Version = e.field("version")
	e.r.Chart = e.field("chart")
	e.tellTemplates()
	at := e.v.Position
	if v := e.v.At("chart"); v != nil {
		at = v.Position
	}
	switch chart := e.r.Chart; {
	case chart == "":
		if v := e.v.At("chart"); v == nil {
			e.tell(Invalid, at, "", "the release has no chart")
		}
	case strings.HasPrefix(chart, "oci://"):
		e.registry(strings.TrimSuffix(chart, "/"))
	case isRemote(chart):
		e.tell(Remote, at, "vendor the chart into the repository, or name one of a chart repository", "the chart %s would have to be fetched", finding.Redact(chart))
	case e.local(chart, at):
	default:
		e.fromRepository(chart, at)
	}
}

// registry reads oci://host/path/name[:version].
func (e *evaluation) registry(chart string) {
	if slash, colon := strings.LastIndexByte(chart, '/'), strings.LastIndexByte(chart, ':'); colon > slash {
		chart, e.r.Version = chart[:colon], cmp.Or(e.r.Version, chart[colon+1:])
	}
	slash := strings.LastIndexByte(chart, '/')
	e.r.Repository, e.r.ChartName = finding.Redact(chart[:slash]), chart[slash+1:]
}

// local finds a chart in the repository; it is relative to the state file.
func (e *evaluation) local(chart string, at finding.Position) bool {
	dotted := strings.HasPrefix(chart, "./") || strings.HasPrefix(chart, "../") || chart == "."
	if path.IsAbs(chart) {
		e.tell(Missing, at, "", "the chart %s lies outside the repository", chart)
		return true
	}
	dir := path.Join(e.st.base, chart)
	if err := e.tree.Check(dir, at); err != nil {
		if dotted {
			e.tell(Missing, at, "", "the chart %s cannot be read: %s", chart, oneLine(err))
		}
		return dotted
	}
	if e.tree.IsDir(dir) {
		e.r.Dir = dir
		return true
	}
	if dotted {
		e.tell(Missing, at, "", "there is no chart %s", dir)
	}
	return dotted
}

// fromRepository reads repository/name.
func (e *evaluation) fromRepository(chart string, at finding.Position) {
	alias, name, ok := strings.Cut(chart, "/")
	if !ok {
		e.tell(Missing, at, "", "there is no chart %s", path.Join(e.st.base, chart))
		return
	}
	for _, repository := range slices.Backward(e.st.repositories) {
		data := e.loader.data(e.st, e.st.merged())
		v := repository.At("name")
		if v == nil {
			continue
		}
		if text, err := e.evaluate(e.st, v, data); err != nil || text != alias {
			continue
		}
		e.repository(repository, name, data)
		return
	}
	e.tell(Invalid, at, "add it to repositories", "the state file has no repository %q", alias)
}

func (e *evaluation) repository(v *yamldoc.Value, name string, data map[string]any) {
	address := v.At("url")
	if address == nil || address.Kind != yamldoc.Scalar {
		e.tell(Invalid, v.Position, "", "the repository of the chart has no url")
		return
	}
	url, ok := e.text(e.st, e.r.Name, address, data)
	if !ok {
		return
	}
	for _, key := range []string{"username", "password", "certFile", "keyFile", "caFile", "registryConfig"} {
		if v.TextAt(key) != "" {
			e.problem(Problem{
				Kind: Secret, Position: v.Position, Message: fmt.Sprintf("the credentials of the repository %s are not carried over", v.TextAt("name")),
				Hint: "give Argo CD a repository Secret",
			})
			break
		}
	}
	plain := finding.WithoutUser(url)
	if plain != url {
		e.problem(Problem{Kind: Secret, Position: address.Position, Message: fmt.Sprintf("the credentials in the address of the repository %s are not carried over", v.TextAt("name")), Hint: "give Argo CD a repository Secret"})
	}
	if v.TextAt("oci") == "true" && !strings.Contains(plain, "://") {
		plain = "oci://" + plain
	}
	if strings.HasPrefix(plain, "git+") || strings.HasPrefix(plain, "s3://") || strings.HasPrefix(plain, "gs://") {
		e.tell(Remote, address.Position, "vendor the chart into the repository", "the repository %s needs a plugin of Helm", plain)
		return
	}
	// The name of a chart of a registry may have folders.
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		plain, name = strings.TrimSuffix(plain, "/")+"/"+name[:i], name[i+1:]
	}
	e.r.Repository, e.r.ChartName = plain, name
}

// options reads the settings that have an equivalent.
func (e *evaluation) options() {
	seconds := cmp.Or(e.field("timeout"), textOf(e.st.setting("helmDefaults", "timeout")))
	if n, err := strconv.Atoi(seconds); err == nil && n > 0 && n < 7*24*3600 {
		e.r.Timeout = time.Duration(n) * time.Second
	}
	e.r.CreateNamespace = e.flag("createNamespace", true)
	e.r.SkipCRDs = e.flag("skipCRDs", false)
	if e.r.KubeContext == "" {
		e.r.KubeContext = textOf(e.st.setting("kubeContext"))
		if e.r.KubeContext == "" {
			e.r.KubeContext = textOf(e.st.setting("helmDefaults", "kubeContext"))
		}
	}
}

func textOf(v *yamldoc.Value) string {
	if v == nil || v.Kind != yamldoc.Scalar || isMarked(v.Text) {
		return ""
	}
	return v.Text
}

// flag is a boolean of the release, or else of helmDefaults.
func (e *evaluation) flag(key string, fallback bool) bool {
	for _, v := range []*yamldoc.Value{e.v.At(key), e.st.setting("helmDefaults", key)} {
		if v != nil && v.Kind == yamldoc.Scalar {
			if b, err := strconv.ParseBool(v.Text); err == nil {
				return b
			}
		}
	}
	return fallback
}

// installed finds out whether the environment installs the release. One of which
// that is not known is not: it keeps its place.
func (e *evaluation) installed() {
	e.r.Installed = true
	for _, key := range []string{"installed", "installedTemplate", "condition", "conditionTemplate"} {
		v := e.v.At(key)
		if v == nil || v.Kind == yamldoc.Null {
			continue
		}
		on, why := e.decided(key, v)
		if why != "" {
			e.tell(Template, v.Position, "give the value with --values FILE or the variable with --variable NAME=VALUE", "%s is not known: %s; the release is written as disabled", key, why)
		}
		e.r.Installed = e.r.Installed && on
	}
}

// decided evaluates one of the fields that decide whether a release is installed.
func (e *evaluation) decided(key string, v *yamldoc.Value) (on bool, why string) {
	text, err := e.evaluate(e.st, v, e.data)
	switch {
	case err != nil:
		return false, oneLine(err)
	case isMarked(text):
		return false, e.engine.unknown.reason(text)
	case strings.HasPrefix(key, "condition"):
		return e.condition(text)
	}
	on, err = strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Sprintf("%q is neither true nor false", text)
	}
	return on, ""
}

// condition looks up a value such as "redis.enabled". Source: Helmfile,
// ConditionEnabled.
func (e *evaluation) condition(text string) (on bool, why string) {
	switch strings.ToLower(text) {
	case "", "true":
		return true, ""
	case "false":
		return false, ""
	}
	keys := strings.Split(text, ".")
	if keys[len(keys)-1] != "enabled" {
		return false, "it does not end in .enabled"
	}
	var at any = e.st.merged()
	for i, key := range keys {
		m, ok := at.(map[string]any)
		if ok {
			at, ok = m[key]
		}
		if !ok {
			if i == len(keys)-1 {
				return false, "" // not said is not enabled
			}
			return false, "there is no value " + strings.Join(keys[:i+1], ".")
		}
	}
	if s, ok := at.(string); ok && isMarked(s) {
		return false, e.engine.unknown.reason(s)
	}
	on, _ = at.(bool)
	return on, ""
}

// selection chooses releases by label.
type selection struct {
	// any has groups of which one must match; a group matches if all its parts do.
	any [][]labelMatch
}

type labelMatch struct {
	key, value string
	not        bool
}

// selectors reads "tier=frontend,name!=x".
func selectors(written []string) (selection, string) {
	var s selection
	for _, text := range written {
		var group []labelMatch
		for part := range strings.SplitSeq(text, ",") {
			key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
			m := labelMatch{key: strings.TrimSuffix(key, "!"), value: strings.TrimPrefix(value, "="), not: strings.HasSuffix(key, "!")}
			if !ok || m.key == "" {
				return selection{}, fmt.Sprintf("the selector %q is neither key=value nor key!=value", part)
			}
			group = append(group, m)
		}
		s.any = append(s.any, group)
	}
	return s, ""
}

// matches reports whether a release is chosen. Name, namespace and chart are
// labels too. Source: Helmfile, release_filters.go.
func (s selection) matches(r *Release) bool {
	if len(s.any) == 0 {
		return true
	}
	label := func(key string) string {
		switch key {
		case "name":
			return r.Name
		case "namespace":
			return r.Namespace
		default:
			return r.Labels[key]
		}
	}
	return slices.ContainsFunc(s.any, func(group []labelMatch) bool {
		return !slices.ContainsFunc(group, func(m labelMatch) bool { return (label(m.key) == m.value) == m.not })
	})
}
