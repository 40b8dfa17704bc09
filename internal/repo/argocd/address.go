package argocd

import (
	"context"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// findOwnURLs finds out under which addresses this repository is known: those
// that the ladder file names, and those of which at least half of the paths that
// Applications and generators take exist in it, or all of the several paths of one
// of them, whatever older ones say. A path that exists by coincidence does not make
// a foreign repository ours.
func (r *Repository) findOwnURLs(ctx context.Context) {
	for _, alias := range r.opts.Aliases {
		url := normaliseURL(alias)
		r.own[url], r.tallied[url], r.here[url] = true, true, math.MaxInt
	}
	r.findPaths()
	r.findBlanks()
	t := tallies{}
	for _, app := range slices.Concat(r.applications, r.disabled) {
		r.tallySources(t, app)
	}
	for _, set := range r.sets {
		t.add(r.tallySet(set))
	}
	r.decide(t)
	if err := r.findClusters(ctx); err != nil {
		return // the end of ctx, which the caller reports
	}
	r.learnGenerated(ctx, r.sets)
	r.revise(ctx)
}

// revise takes an address for this repository's that what is written says is not, where
// what kustomizations make of it says so: the paths in their bases may be placeholders.
func (r *Repository) revise(ctx context.Context) {
	if !slices.Contains(slices.Collect(maps.Values(r.own)), false) && (r.cited || r.origin() == "") {
		return
	}
	before := len(r.findings)
	defer func() { r.findings = r.findings[:before] }() // they are made again when it is built to be read
	t := tallies{}
	for _, dir := range r.overlays() {
		documents, err := r.build(ctx, dir, nil)
		if err != nil {
			continue
		}
		t.tally(r, documents)
	}
	if by := t[r.origin()]; by != nil && len(by.found) > 0 {
		r.cited = true
		if _, told := r.own[r.origin()]; !told { // bases have a placeholder in its place
			r.own[r.origin()], r.built = true, nil
		}
	}
	for url, counted := range t {
		if own, told := r.own[url]; told && !own && len(counted.found) >= minSure && counted.here*2 >= counted.all {
			r.own[url] = true
			r.built = nil // with remote resources of what is now known to be here
		}
	}
}

// tallySources counts the sources of an Application.
func (r *Repository) tallySources(t tallies, app document) {
	sources := app.sources()
	for i, s := range sources {
		r.tallyValueFiles(t, s, sources)
		if s.path() == "" || s.value.TextAt("chart") != "" || hasPlaceholder(s.path()) || strings.Contains(s.path(), "$") || isRelative(s.repoURL()) || isOCI(s) {
			continue
		}
		to := t.at(s.repoURL())
		if isRootPath(s.path()) {
			// A chart is another's where there is none at the root of this repository.
			to.weak = to.weak || s.value.At("helm") == nil || r.tree.IsFile("Chart.yaml")
			continue
		}
		_, exists := r.existing(s.path())
		to.count(s.path(), exists)
		if to.taken == 0 {
			to.first, to.address = s.position, s.repoURL()
		}
		to.countBelow(r, app.position().File, s.path())
		to.places.note(s.path(), s.position)
		for _, other := range sources[:i] {
			if normaliseURL(other.repoURL()) != normaliseURL(s.repoURL()) && path.Clean(other.path()) == path.Clean(s.path()) {
				to.twin(normaliseURL(other.repoURL()))
				t.at(other.repoURL()).twin(normaliseURL(s.repoURL()))
			}
		}
	}
}

// tallyValueFiles notes the value files of a source as places of the repositories that
// they are in.
func (r *Repository) tallyValueFiles(t tallies, s source, sources []source) {
	for _, file := range strs(s.value.At("helm", "valueFiles")) {
		of, place := s, path.Join(s.path(), file)
		if ref, rest, ok := strings.Cut(file, "/"); ok && strings.HasPrefix(ref, "$") {
			i := slices.IndexFunc(sources, func(o source) bool { return "$"+o.value.TextAt("ref") == ref })
			if i < 0 {
				continue
			}
			of, place = sources[i], rest
		} else if s.value.TextAt("chart") != "" || s.path() == "" {
			continue
		}
		if !hasPlaceholder(place) && !strings.ContainsAny(place, "$:") && !path.IsAbs(file) && !isRelative(of.repoURL()) {
			t.at(of.repoURL()).places.note(place, s.position)
		}
	}
}

// tallySet counts what one ApplicationSet takes. A template may write its address and
// path out.
func (r *Repository) tallySet(set document) tallies {
	t := tallies{}
	r.tallyGenerators(t, set.value.At("spec", "generators"))
	if template := set.value.At("spec", "template"); template != nil {
		r.tallySources(t, document{value: template, written: template})
	}
	return t
}

// tallyGenerators counts the patterns of git generators, nested ones too.
func (r *Repository) tallyGenerators(t tallies, generators *yamldoc.Value) {
	if generators == nil {
		return
	}
	for _, g := range generators.Items {
		for _, kind := range []string{"matrix", "merge"} {
			r.tallyGenerators(t, g.At(kind, "generators"))
		}
		git := g.At("git")
		if git == nil {
			continue
		}
		to := t.at(git.TextAt("repoURL"))
		for _, kind := range []string{"directories", "files"} {
			list := git.At(kind)
			if list == nil {
				continue
			}
			for _, item := range list.Items {
				r.tallyPattern(to, kind, item.TextAt("path"))
				if folder := literal(item.TextAt("path")); folder != "" && item.TextAt("exclude") != "true" {
					to.places.note(folder, item.Position)
				}
			}
		}
	}
}

func (r *Repository) tallyPattern(to *tally, kind, pattern string) {
	fixed, _, templated := strings.Cut(pattern, "{{")
	if templated {
		// What is before the first parameter must exist.
		if !strings.Contains(fixed, "/") {
			return
		}
		pattern = path.Dir(fixed)
		kind = "directories"
	}
	first, _, _ := strings.Cut(pattern, "/")
	if strings.ContainsAny(first, "*?[") {
		to.weak = to.weak || r.matches(kind, pattern)
		return
	}
	to.count(pattern, r.matches(kind, pattern))
}

func (r *Repository) matches(kind, pattern string) bool {
	if kind == "directories" {
		return slices.ContainsFunc(appset.Folders(r.paths), func(dir string) bool {
			ok, err := path.Match(pattern, dir)
			return ok && err == nil
		})
	}
	re, err := appset.GitPattern(pattern)
	return err == nil && slices.ContainsFunc(r.paths, re.MatchString)
}

// decide settles which of the addresses that are not settled yet are this
// repository's. Weak evidence counts where nothing else is known to be ours.
func (r *Repository) decide(t tallies) {
	var weak []string
	var fresh []string
	only := len(r.tallied) == 0 && t.addresses() == 1 && !checkout.IsAddressed(r.tree.Repository)
	for _, url := range slices.Sorted(maps.Keys(t)) {
		counted := t[url]
		if base := counted.base(only); base != "" && r.bases[url] == "" && r.here[url] < len(counted.paths) {
			r.own[url], r.tallied[url], r.bases[url] = true, true, base
			r.moved = append(r.moved, newFinding(RuleAssumed, finding.Info, counted.first, "",
				"the address %s is taken to be that of the folder %s, where all the paths are that this repository does not have", url, base))
		}
		if folder := counted.called(r.origin()); folder != "" && r.bases[url] == "" && !r.tallied[url] {
			r.own[url], r.tallied[url], r.bases[url] = true, true, folder
			r.moved = append(r.moved, newFinding(RuleAssumed, finding.Info, counted.first, "",
				"the address %s is taken to be that of the folder %s, which is called so", url, folder))
		}
		switch {
		case r.tallied[url]:
		case url != "" && url == r.origin():
			// What does not exist below the address of the checkout is missing.
			r.own[url], r.tallied[url], r.here[url] = true, true, counted.here
			r.cited = len(counted.found) > 0
		case counted.all > 0:
			r.tallied[url], r.here[url] = true, counted.here
			r.own[url] = counted.sure || counted.here > 0 && counted.here*2 >= counted.all
			fresh = append(fresh, url)
		case counted.weak && url != "" && !hasPlaceholder(counted.address):
			weak = append(weak, url)
		}
	}
	others := slices.DeleteFunc(slices.Clone(fresh), func(url string) bool { return !r.coincides(t, url) && (len(t[url].twins) == 0 || !r.isTwin(t, url)) })
	for _, url := range others {
		r.own[url] = false
	}
	for _, url := range fresh {
		if r.own[url] && r.isNamesake(t, url) {
			r.moved = append(r.moved, newFinding(RuleAssumed, finding.Info, t[url].first, "",
				"the address %s is taken to be this repository's, whose own differs by the owner alone", url))
		}
	}
	r.findPrefix(t)
	known := false
	for _, own := range r.own {
		known = known || own
	}
	if known {
		return
	}
	if len(weak) > 1 {
		weak = r.cloned(weak)
	}
	if len(weak) == 1 {
		r.own[weak[0]], r.tallied[weak[0]] = true, true
	}
}

// learn settles the addresses of objects that a chart or a kustomization made, and then
// those of what their sets generate.
func (r *Repository) learn(ctx context.Context, documents []document) {
	t := tallies{}
	t.tally(r, documents)
	r.decide(t)
	r.learnGenerated(ctx, slices.DeleteFunc(slices.Clone(documents), func(d document) bool { return !d.argo("ApplicationSet") }))
}

// learnGenerated settles the addresses of what sets generate of lists. Where ctx ends,
// what is learned is not used: the caller reports the end.
func (r *Repository) learnGenerated(ctx context.Context, sets []document) {
	t := tallies{}
	for _, set := range sets {
		r.switchOn(set)
		result, err := evaluate.Applications(ctx, set.value, view{r}, r.data(set))
		if err != nil {
			return
		}
		for _, app := range result.Applications {
			r.tallySources(t, r.generated(set, app))
		}
	}
	r.decide(t)
}

// tally counts what objects take.
func (t tallies) tally(r *Repository, documents []document) {
	for _, d := range documents {
		switch {
		case d.isApplication():
			r.tallySources(t, d)
		case d.argo("ApplicationSet"):
			t.add(r.tallySet(d))
		}
	}
}

// view is the repository as generators see it.
type view struct{ r *Repository }

// Own reports whether an address is this repository.
func (v view) Own(repoURL string) bool { return v.r.own[normaliseURL(repoURL)] }

// Files are all files by the paths that Git sources use.
func (v view) Files() []string { return v.r.paths }

// Read returns the content of a file.
func (v view) Read(file string) ([]byte, error) {
	return v.r.tree.Read(strings.TrimPrefix(file, v.r.prefix))
}

// findPaths settles how Git sources see the files. They see the whole repository,
// also where the platform is a part of it; but a platform may be kept in another
// repository than it lives in. The paths that are written tell.
func (r *Repository) findPaths() {
	r.paths = r.all
	rel, err := filepath.Rel(r.tree.Repository, r.tree.Root)
	if err != nil || rel == "." || strings.HasPrefix(rel, "..") {
		return
	}
	prefix := filepath.ToSlash(rel) + "/"
	within := func(p string) bool { return strings.HasPrefix(strings.TrimPrefix(path.Clean("/"+p), "/")+"/", prefix) }
	var any func(generators *yamldoc.Value) bool
	any = func(generators *yamldoc.Value) bool {
		if generators == nil {
			return false
		}
		for _, g := range generators.Items {
			for _, kind := range []string{"directories", "files"} {
				if list := g.At("git", kind); list != nil && slices.ContainsFunc(list.Items, func(v *yamldoc.Value) bool { return within(v.TextAt("path")) }) {
					return true
				}
			}
			if any(g.At("matrix", "generators")) || any(g.At("merge", "generators")) {
				return true
			}
		}
		return false
	}
	if !slices.ContainsFunc(r.sets, func(set document) bool { return any(set.value.At("spec", "generators")) }) {
		return
	}
	r.prefix = prefix
	r.paths = make([]string, len(r.all))
	for i, file := range r.all {
		r.paths[i] = prefix + file
	}
}
