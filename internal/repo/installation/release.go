package installation

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Chart is the name of the chart of Argo CD.
const Chart = chartName

// Release is an installation of the chart argo-cd that is not made by Argo CD itself, but
// by Terraform, Ansible or a command.
type Release struct {
	// Namespace is the one that it is installed in, empty where that is not known.
	Namespace string
	// Values are what it is given in place, Files the files of the repository.
	Values []*yamldoc.Value
	Files  []string
	// Set are values by their paths.
	Set []Parameter
	// Open says that it is given others, which are not known: then nothing follows from
	// what is missing.
	Open     bool
	Position finding.Position
}

// Parameter is one value by its path.
type Parameter struct {
	Name, Value string
	Position    finding.Position
}

// Release takes one.
func (r *Reader) Release(one Release) { r.releases = append(r.releases, one) }

// Released reports whether there is such a release.
func (r *Reader) Released() bool {
	return len(r.releases)+len(r.releasedAt)+len(r.stock) > 0 || r.partial
}

// Beside takes a file that is no manifest, where there are releases: a script or a document
// may have people change the settings that a release made.
func (r *Reader) Beside(file string, text []byte) {
	if r.beside == nil {
		r.beside = &Reader{}
	}
	r.beside.Unread(file, text)
}

// settle reads the releases. What their values have is there; that there is nothing else
// holds only where all of each is known.
func (r *Reader) settle() {
	r.settleStock()
	pending := r.releases
	r.releases = nil
	for _, one := range pending {
		placed := one.Namespace != "" && !isOpen(one.Namespace)
		r.unplaced = r.unplaced || !placed
		if placed {
			r.installedIn(one.Namespace)
		}
		at, whole := r.release(one)
		r.partial = r.partial || !whole
		r.releasedAt = append(r.releasedAt, at)
	}
	beside := &Reader{}
	if r.beside != nil {
		beside = r.beside
	}
	for _, at := range r.releasedAt {
		if r.partial {
			break
		}
		if !r.unplaced && beside.found.ProgressiveSyncs.Unread == "" && beside.found.WatchedUnread == "" {
			r.started(at)
		}
		if beside.found.BuildUnread == "" && (r.found.Whole.File == "" || at.Compare(r.found.Whole) < 0) {
			r.found.Whole = at
		}
	}
	r.healthUnread = r.healthUnread || beside.healthUnread
}

// settleStock takes the settings that Argo CD's own manifests have, where nothing else in the repository
// has any.
func (r *Reader) settleStock() {
	all := r.stock
	r.stock = nil
	beside := &Reader{}
	if r.beside != nil {
		beside = r.beside
	}
	others := len(r.knownAt)+len(r.releases)+len(r.releasedAt)+len(r.written) > 0 || r.partial || r.healthUnread || beside.healthUnread
	found := beside.found
	if others || r.found.Started.File != "" || found.ProgressiveSyncs.Unread != "" || found.BuildUnread != "" || found.WatchedUnread != "" {
		return
	}
	for _, one := range all {
		r.whole(one.at, one.excludes)
	}
}

// release reads the values of one, and reports where they have the settings and whether
// they are all known. What a setting among them says of the whole does not count.
func (r *Reader) release(one Release) (at finding.Position, whole bool) {
	known, before := slices.Clone(r.knownAt), r.found
	defer func() { r.knownAt, r.found.Whole, r.found.Started = known, before.Whole, before.Started }()
	var values []*yamldoc.Value
	whole = !one.Open
	for _, file := range one.Files {
		documents, err := r.values(file)
		whole = whole && err == nil
		values = append(values, documents...)
	}
	values = append(values, one.Values...)
	for _, v := range values {
		whole = whole && !opens(v)
		if !r.read[v.Position.File] {
			r.value(v, anywhere, 0)
		}
	}
	for _, p := range one.Set {
		r.parameter(p.value())
		whole = whole && (!strings.HasSuffix(p.Name, ".create") || p.Value != "false") // another ConfigMap takes its place
		whole = whole && !isOpen(p.Name) && (!isOpen(p.Value) || !strings.HasPrefix(p.Name, "configs."))
	}
	return placeOf(values, one.Position), whole
}

// value is a parameter as an Application has it.
func (p Parameter) value() *yamldoc.Value {
	return (&yamldoc.Value{Kind: yamldoc.Map, Position: p.Position}).
		With("name", yamldoc.Text(p.Name, p.Position)).With("value", yamldoc.Text(p.Value, p.Position))
}

// values are the documents of a file of values. A template that is no YAML as it is may
// hold anything.
func (r *Reader) values(file string) ([]*yamldoc.Value, error) {
	data, err := r.Open(file)
	if err != nil {
		return nil, err
	}
	return yamldoc.Parse(file, data)
}

// placeOf is where values have the settings: argocd-cm, or both ConfigMaps.
func placeOf(values []*yamldoc.Value, otherwise finding.Position) finding.Position {
	for _, keys := range [][]string{{"configs", "cm"}, {"server", "config"}, {"configs"}} {
		for _, v := range values {
			if e, ok := v.At(keys[:len(keys)-1]...).Get(keys[len(keys)-1]); ok {
				return e.Position
			}
		}
	}
	return otherwise
}

// isOpen reports whether a text is filled in by what is not known: a mark, or what Jinja
// or a shell puts in.
func isOpen(text string) bool {
	return appset.IsMarked(text) || strings.Contains(text, "{{") || strings.Contains(text, "${")
}

// opens reports whether values may have settings that are not seen in them: where the
// chart has its ConfigMaps, and what processes are started with, something is filled in.
func opens(v *yamldoc.Value) bool {
	for _, keys := range [][]string{nil, {"configs"}, {"configs", "cm"}, {"configs", "params"}, {"server"}, {"server", "config"}, {"applicationSet"}, {"controller"}, {"global"}} {
		section := v.At(keys...)
		switch {
		case section == nil || section.Kind == yamldoc.Null:
		case section.Kind != yamldoc.Map:
			return true
		case slices.ContainsFunc(section.Entries, opensEntry):
			return true
		}
	}
	return false
}

// opensEntry reports whether an entry of a section may stand for other settings: its key is
// filled in, or the value of a setting is. Of a health script it matters only that it is
// there.
func opensEntry(e yamldoc.Entry) bool {
	_, isKey := belongs(e.Key)
	isKey = isKey && !strings.HasPrefix(e.Key, healthPrefix)
	switch {
	case isOpen(e.Key):
		return true
	case isKey, e.Key == "extraArgs", e.Key == "extraEnv", e.Key == "env":
		return holdsOpen(e.Value)
	}
	return false
}

// holdsOpen reports whether something in a value is filled in.
func holdsOpen(v *yamldoc.Value) bool {
	return v != nil && (isOpen(v.Text) || slices.ContainsFunc(v.Items, holdsOpen) ||
		slices.ContainsFunc(v.Entries, func(e yamldoc.Entry) bool { return isOpen(e.Key) || holdsOpen(e.Value) }))
}

// ofVariable matches the folder that a variable of Ansible begins a path with.
var ofVariable = lazyregexp.New(`^\{\{[^{}]*\}\}/`)

// ansible takes a task of the module helm that installs the chart. Source: Ansible,
// kubernetes.core.helm.
func (r *Reader) ansible(v *yamldoc.Value) {
	ref := v.TextAt("chart_ref")
	if path.Base(ref) != chartName || isOpen(ref) || strings.HasPrefix(ref, "/") || strings.HasPrefix(ref, ".") {
		return
	}
	if v.TextAt("release_state") == "absent" || v.TextAt("state") == "absent" {
		return
	}
	one := Release{Namespace: cmp.Or(v.TextAt("release_namespace"), v.TextAt("namespace")), Position: v.Position}
	for _, key := range []string{"values", "release_values"} {
		if given := v.At(key); given != nil {
			one.Values = append(one.Values, given)
		}
	}
	files := v.At("values_files")
	one.Open = files != nil && files.Kind == yamldoc.Scalar || v.At("set_values") != nil
	for _, item := range files.Elements() {
		if file := r.ofTask(v.Position.File, item.Text); file != "" {
			one.Files = append(one.Files, file)
		} else {
			one.Open = true
		}
	}
	r.Release(one)
}

// ofTask is a file of the repository that a task names, as it is seen from the repository,
// which a variable may stand for, and from the folders of the task and its role; empty
// where there is none, or several.
func (r *Reader) ofTask(task, written string) string {
	written = ofVariable.ReplaceAllString(written, "")
	if written == "" || isOpen(written) || path.IsAbs(written) {
		return ""
	}
	var all []string
	tasks := path.Dir(task)
	for _, dir := range []string{".", tasks, path.Dir(tasks), path.Join(path.Dir(tasks), "files")} {
		file := path.Join(dir, written)
		if strings.HasPrefix(file, "../") || slices.Contains(all, file) {
			continue
		}
		if _, err := r.Open(file); err == nil {
			all = append(all, file)
		}
	}
	if len(all) != 1 {
		return ""
	}
	return all[0]
}
