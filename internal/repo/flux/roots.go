package flux

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// rootFolder is what a cluster starts with.
type rootFolder struct {
	name, path string
	// base is the folder that is the top of what is synced: "." or, where only a part of
	// the repository is packed for it, that part; empty until it is located.
	base string
	// sync is the name of the Kustomization that applies it, and of its source.
	sync string
	// address is that of the repository that is synced; empty where it is not known. source is the name
	// of the GitRepository that has it.
	address, source string
	// sourced is set where the source of the Kustomization that applies it is written here as well.
	sourced bool
	// guessed is set where nothing says that it is synced for certain: a Kustomization in
	// the folder that it names may be applied by another one.
	guessed bool
	// gathers is set where it is the folder that all of Flux's objects lie in, since nothing says what
	// applies any of them.
	gathers bool
	// only is set where somebody applies single files of it, as a glob of these: what others in it say is
	// applied is not applied with it.
	only     string
	position finding.Position
	// written is set where a Kustomization at the position applies it, whatever the folder itself
	// lists of it.
	written bool
}

// search finds the folders that clusters start with, and what of Flux's is written
// anywhere.
func (l *loader) search() (*searched, error) {
	found, err := l.tree.Find(l.ctx, l.options.Path, func(name string) bool { return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") })
	if err != nil {
		return nil, err
	}
	s := &searched{sources: map[string]writtenSource{}, installs: map[string]bool{}}
	for _, file := range found {
		data, err := l.tree.Read(file)
		if err != nil {
			return nil, err
		}
		text := string(data)
		helmfile := isHelmfile(file)
		if !concernsFlux(text) && !helmfile {
			continue
		}
		documents, err := yamldoc.Parse(file, data)
		if err != nil {
			// A template of another tool, or a mistake: what applies it will tell.
			continue
		}
		for _, d := range documents {
			s.add(file, d)
			if helmfile {
				s.installed(d)
			}
		}
	}
	l.findTop(s)
	for _, d := range s.declared {
		if !s.installs[d.file] {
			continue
		}
		// Of several Kustomizations in one file none is the root.
		alone := !slices.ContainsFunc(s.declared, func(other declared) bool { return other.file == d.file && other != d })
		if alone && !repofs.IsUnused(d.file) && l.tree.IsDir(l.at(".", d.path)) {
			s.starts = append(s.starts, rootFolder{path: d.path, base: ".", position: d.position})
		}
	}
	if err := l.locate(s); err != nil {
		return nil, err
	}
	if err := l.gather(s, found); err != nil {
		return nil, err
	}
	s.choose(l.options.Started)
	l.narrow(s)
	l.rebase(s)
	s.rename(l.options.Taken)
	if len(l.options.Roots) > 0 {
		if err := l.given(s); err != nil {
			return nil, err
		}
	}
	if len(s.found) == 0 {
		return nil, &repofs.InputError{
			Message: l.options.Path + " holds no Kustomization or HelmRelease of Flux", Hint: "give the folder of a repository that Flux applies", Err: ErrNothing,
		}
	}
	return s, nil
}

// concernsFlux reports whether a file may have objects of Flux, values of the chart that makes a
// FluxInstance, or flags of the controllers.
func concernsFlux(text string) bool {
	return strings.Contains(text, "fluxcd.io") || strings.Contains(text, groupInstance) ||
		strings.Contains(text, "instance:") && strings.Contains(text, "sync:") ||
		strings.Contains(text, "--requeue-dependency=") || strings.Contains(text, "--feature-gates")
}

// ErrNothing is the cause of the error that says that there is nothing of Flux's.
var ErrNothing = errors.New("there is nothing of Flux's")

// given takes the roots that somebody named, where there is anything of Flux's at all.
func (l *loader) given(s *searched) error {
	if len(s.found) == 0 {
		return nil
	}
	starts := s.found
	s.found = nil
	for _, r := range l.options.Roots {
		if !l.tree.IsDir(clean(r)) {
			return &repofs.InputError{Message: "there is no folder " + r, Hint: startsAt(starts)}
		}
		s.found = append(s.found, rootFolder{path: clean(r), base: ".", position: finding.Position{File: clean(r)}})
	}
	s.found = named(s.found)
	return nil
}

// startsAt says which folders may be named as roots.
func startsAt(starts []rootFolder) string {
	var folders []string
	for _, r := range starts {
		folders = append(folders, r.path)
	}
	return "a root is a folder that Flux syncs; here it starts at " + few(folders)
}

// NotSynced is the error that a root has nothing of Flux's in it; its cause is ErrNothing where the
// repository has nothing either.
func NotSynced(ctx context.Context, tree *repofs.Tree, root string) error {
	l := &loader{ctx: ctx, tree: tree, options: Options{Path: "."}, result: &Result{}}
	s, err := l.search()
	if err != nil {
		return err
	}
	return &repofs.InputError{Position: finding.Position{File: root}, Message: "the folder holds no Kustomization or HelmRelease of Flux", Hint: startsAt(s.found)}
}

// writtenSource is a source that is written somewhere in the repository, and its address.
type writtenSource struct {
	position finding.Position
	address  string
}

// searched are Flux's objects in the files of a repository.
type searched struct {
	// found are the roots, chosen of starts, which are folders that are said to be
	// synced; applied are the folders that any Kustomization applies, located of what is
	// declared.
	found, starts []rootFolder
	declared      []declared
	applied       []string
	// kustomizations and others are the folders of files with objects of Flux; gathered
	// are those that gather others, where no Kustomization does.
	kustomizations, others, gathered []string
	// written are the Kustomizations and HelmReleases themselves.
	written []Left
	// sources are the first objects of each kind and name of the other kinds.
	sources map[string]writtenSource
	// before are the releases of Helmfiles: who uses both bootstraps a cluster with
	// these.
	before []Before
	// retries is set where helm-controller is told to try every install again.
	retries bool
	// ignores is set where a source leaves files out.
	ignores bool
	// poll is the longest time that controllers are told to wait between two looks; 0 where none is.
	poll time.Duration
	// installs are the files that install Flux: who applies one applies all that is in it.
	installs map[string]bool
}

// retriesByDefault is the feature gate of helm-controller with which a release without a
// strategy has RetryOnFailure. Source: helm-controller, internal/features.
const retriesByDefault = "DefaultToRetryOnFailure=true"

// requeue is the flag of the controllers that says how often they look at what waits.
var requeue = lazyregexp.New(`--requeue-dependency=([0-9a-z.]+)`)

// written is where objects of one kind are written.
type written struct{ kind, file string }

// add looks at one document.
func (s *searched) add(file string, d *yamldoc.Value) {
	group, _, _ := strings.Cut(d.TextAt("apiVersion"), "/")
	kind, dir := d.TextAt("kind"), path.Dir(file)
	switch {
	case kind == "CustomResourceDefinition" && d.TextAt("metadata", "name") == "kustomizations."+groupKustomize:
		s.installs[file] = true
	case group == groupInstance && kind == "FluxInstance":
		s.start(d.At("spec", "sync"))
		s.instances(d.At("spec", "kustomize"), 0)
	case group == groupKustomize && kind == "Kustomization":
		unused := repofs.IsUnused(file)
		if !unused {
			s.kustomizations = append(s.kustomizations, dir)
		}
		// One with a part of what every Kustomization must have is a patch.
		if d.At("spec", "sourceRef") != nil || d.At("spec", "interval") != nil && d.At("spec", "prune") != nil {
			s.note(d, kind)
		}
		if d.At("spec", "path") == nil {
			return
		}
		p := clean(d.TextAt("spec", "path"))
		// Everything lies in the top folder: only the names that bootstrapping gives say
		// that it is this repository.
		bootstrapped := d.TextAt("spec", "sourceRef", "name") == systemName
		sync := bootstrapped && d.TextAt("metadata", "name") == systemName || path.Base(file) == syncFile
		if p == "." && !bootstrapped && !sync {
			return
		}
		s.declared = append(s.declared, declared{file, p, d.Position})
		if !unused {
			s.starts = append(s.starts, rootFolder{path: p, guessed: !sync, position: d.Position, written: sync, source: d.TextAt("spec", "sourceRef", "name")})
		}
	case group == groupHelm && kind == "HelmRelease":
		s.others = append(s.others, dir)
		if d.At("spec", "chart", "spec", "chart") != nil || d.At("spec", "chartRef", "name") != nil {
			s.note(d, kind)
		}
		s.instances(d, 0)
	case strings.HasSuffix(group, "fluxcd.io"):
		s.ignores = s.ignores || d.At("spec", "ignore") != nil
		if id := key(kind, "", d.TextAt("metadata", "name")); s.sources[id].position.File == "" && d.At("spec", "url") != nil {
			s.sources[id] = writtenSource{d.Position, d.TextAt("spec", "url")}
		}
	default:
		s.instances(d, 0)
	}
}

func (s *searched) note(d *yamldoc.Value, kind string) {
	s.written = append(s.written, Left{Kind: kind, Name: d.TextAt("metadata", "name"), Position: d.Position})
}

// isHelmfile reports whether a file is a Helmfile by its name: helmfile.yaml, or one in
// a folder helmfile or helmfile.d.
func isHelmfile(file string) bool {
	parts := strings.Split(strings.ToLower(file), "/")
	return slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, "helmfile") })
}

// installed notes the releases of a Helmfile.
func (s *searched) installed(d *yamldoc.Value) {
	releases := d.At("releases")
	if releases == nil {
		return
	}
	for _, r := range releases.Items {
		if name := r.TextAt("name"); name != "" {
			s.before = append(s.before, Before{Name: name, Namespace: r.TextAt("namespace"), Chart: path.Base(r.TextAt("chart")), Position: r.Position})
		}
	}
}

// start takes what a FluxInstance syncs.
func (s *searched) start(sync *yamldoc.Value) {
	if sync == nil {
		return
	}
	if p := sync.TextAt("path"); p != "" && !strings.ContainsAny(p, "${") {
		s.starts = append(s.starts, rootFolder{path: clean(p), base: ".", sync: sync.TextAt("name"), address: finding.WithoutUser(sync.TextAt("url")), position: sync.Position})
	}
}

// maxNested is how deep values are searched for those of an instance.
const maxNested = 12

// instances finds the values of the chart that makes a FluxInstance: of an Application,
// a HelmRelease or a Helmfile, or in a file of values; and what patches tell helm-controller. Source:
// github.com/controlplaneio-fluxcd/charts, flux-instance, values.yaml.
func (s *searched) instances(v *yamldoc.Value, depth int) {
	if v == nil || depth > maxNested {
		return
	}
	s.retries = s.retries || strings.Contains(v.Text, "--feature-gates") && strings.Contains(v.Text, retriesByDefault)
	for _, m := range requeue.FindAllStringSubmatch(v.Text, -1) {
		if every, err := time.ParseDuration(m[1]); err == nil {
			s.poll = max(s.poll, every)
		}
	}
	if sync := v.At("instance", "sync"); sync != nil && (sync.At("kind") != nil || sync.At("url") != nil) {
		s.start(sync)
	}
	for _, e := range v.Entries {
		s.instances(e.Value, depth+1)
	}
	for _, item := range v.Items {
		s.instances(item, depth+1)
	}
}

// within reports whether a folder is another, or lies below it.
func within(dir, other string) bool {
	if strings.Trim(other, "./") == "" { // the root of the platform, or a folder above it
		return dir == other || !strings.HasPrefix(dir, "..")
	}
	return dir == other || strings.HasPrefix(dir, other+"/")
}

// maxRoots is how many folders without anything that applies them are taken for
// clusters; where there are more, the repository is one.
const maxRoots = 50

// choose finds the folders that are synced. Where none says so, they are those with
// Kustomizations that no Kustomization applies, unless only what is certain is wanted.
func (s *searched) choose(certain bool) {
	var started []string
	known := map[string]rootFolder{}
	for _, r := range s.starts {
		if r.guessed && certain {
			continue
		}
		started = append(started, r.path)
		have, ok := known[r.path]
		if !ok || have.guessed || have.address == "" && !r.guessed {
			known[r.path] = r
		}
	}
	tops := outermost(started)
	if certain {
		for _, p := range tops {
			s.found = append(s.found, known[p])
		}
		s.found = named(s.found)
		return
	}
	if len(tops) == 0 {
		var free []string
		for _, dir := range s.kustomizations {
			if !slices.ContainsFunc(s.applied, func(p string) bool { return within(dir, p) }) {
				free = append(free, dir)
			}
		}
		if len(free) == 0 {
			free = s.around()
		}
		tops = withoutTemplates(outermost(free))
	}
	if len(tops) == 0 {
		tops = withoutTemplates(s.gathered)
	}
	gathers := len(s.kustomizations) == 0
	if all := slices.Concat(s.kustomizations, s.others); len(all) > 0 && (len(tops) == 0 || len(tops) > maxRoots) {
		tops, gathers = []string{common(all)}, true
	}
	for _, p := range tops {
		r, ok := known[p]
		if !ok {
			r = rootFolder{path: p, base: ".", guessed: !slices.Contains(s.gathered, p), gathers: gathers, position: finding.Position{File: p}}
		}
		s.found = append(s.found, r)
	}
	s.found = named(s.found)
}

// outermost are the folders that lie in no other of the list, sorted.
func outermost(all []string) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(slices.Clone(all), func(dir string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return other != dir && within(dir, other) })
	})
}

// common is the folder that holds all folders.
func common(all []string) string {
	if len(all) == 0 {
		return "."
	}
	parts := strings.Split(all[0], "/")
	for _, dir := range all[1:] {
		other := strings.Split(dir, "/")
		n := 0
		for n < len(parts) && n < len(other) && parts[n] == other[n] {
			n++
		}
		parts = parts[:n]
	}
	if len(parts) == 0 {
		return "."
	}
	return strings.Join(parts, "/")
}

// clean makes a path of Flux one relative to the root of the repository.
func clean(p string) string { return cmp.Or(strings.TrimPrefix(path.Clean("/"+p), "/"), ".") }

// named gives roots the names of their folders; where two have one name, of their
// whole paths.
func named(all []rootFolder) []rootFolder {
	count := map[string]int{}
	base := func(p string) string {
		parts := slices.DeleteFunc(strings.Split(p, "/"), func(part string) bool {
			return slices.Contains([]string{".", "..", "flux", "flux-system", "cluster", "clusters", "kubernetes", "k8s", "gitops", "config"}, part)
		})
		if len(parts) == 0 {
			return "main"
		}
		return parts[len(parts)-1]
	}
	for _, r := range all {
		count[base(r.path)]++
	}
	for i, r := range all {
		all[i].name = base(r.path)
		if count[all[i].name] > 1 {
			all[i].name = strings.ReplaceAll(strings.Trim(r.path, "./"), "/", "-")
		}
	}
	return all
}
