package argocd

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/intake/files"
	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
)

// Repository is a repository of Argo CD Applications. It is not safe for
// concurrent use.
type Repository struct {
	tree *files.Tree
	// files are the parsed files that hold Applications or ApplicationSets.
	files map[string][]document
	// manifests are all files of YAML and JSON, sorted.
	manifests []string
	// applications are all Applications of files, by file and line; disabled
	// ones are in files whose name says so.
	applications, disabled []document
	// templated are chart templates that hold Applications.
	templated []string
	// kustomized are the folders that hold a kustomization.
	kustomized []string
	// own are the addresses of this repository, normalised.
	own      map[string]bool
	findings []finding.Finding
	kustomizations
}

// mentions finds Applications and ApplicationSets before a file is parsed.
var mentions = regexp.MustCompile(`(?m)^\s*-?\s*["']?kind["']?:\s*["']?Application(Set)?["']?\s*,?\s*(#.*)?$`)

// Scan finds every Application of the repository.
func Scan(ctx context.Context, tree *files.Tree) (*Repository, error) {
	r := &Repository{tree: tree, files: map[string][]document{}, own: map[string]bool{}}
	r.kustomizations = kustomizations{repository: r}
	found, err := tree.Find(ctx, ".", isManifest)
	if err != nil {
		// Links that leave the repository are of no concern until something
		// names them.
		if len(files.InputErrors(err)) == 0 {
			return nil, err
		}
	}
	r.manifests = found
	for _, file := range found {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if isKustomizationName(path.Base(file)) {
			r.kustomized = append(r.kustomized, path.Dir(file))
		}
		data, err := tree.Read(file)
		if err != nil || !bytes.Contains(data, []byte("argoproj.io/")) || !mentions.Match(data) {
			continue
		}
		if r.inTemplates(file) {
			r.templated = append(r.templated, file)
			continue
		}
		values, err := yamlpos.Parse(file, data)
		if err != nil {
			// A template of some other tool is no reason to read nothing; a
			// file that an Application needs is refused when it is read.
			r.notRead(files.InputErrors(err)[0].Position, "", "%s", files.InputErrors(err)[0].Message)
			continue
		}
		r.add(file, split(values))
	}
	r.findOwnURLs()
	return r, nil
}

func (r *Repository) add(file string, documents []document) {
	r.files[file] = documents
	for _, d := range documents {
		if !d.isApplication() || d.name() == "" {
			continue
		}
		if isDisabledName(file) {
			r.disabled = append(r.disabled, d)
		} else {
			r.applications = append(r.applications, d)
		}
	}
}

// Unreadable says why a repository without environments has none, as far as
// that is known: its Applications are made by ApplicationSets or by a chart.
// It returns nil for a repository that has nothing of Argo CD's.
func (r *Repository) Unreadable() *files.InputError {
	for _, file := range r.manifests {
		for _, d := range r.files[file] {
			if d.argo("ApplicationSet") {
				return &files.InputError{
					Position: d.position(), Message: "the Applications of this repository are made by ApplicationSets, which are not read",
					Hint: "write descriptors, or Applications",
				}
			}
		}
	}
	if len(r.templated) > 0 {
		return &files.InputError{
			Position: finding.Position{File: r.templated[0], Line: 1}, Message: "the Applications of this repository are templates of a chart, which are not read",
			Hint: "render the chart and read the result",
		}
	}
	return nil
}

func isManifest(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return isDisabledName(name) || isKustomizationName(name)
}

// isDisabledName reports whether a file name says that its Application is
// switched off: x.disabled.yaml or x.yaml.disabled.
func isDisabledName(file string) bool {
	name := path.Base(file)
	for _, ext := range []string{"yaml", "yml"} {
		if strings.HasSuffix(name, ".disabled."+ext) || strings.HasSuffix(name, "."+ext+".disabled") {
			return true
		}
	}
	return false
}

// inTemplates reports whether a file is a template of a chart.
func (r *Repository) inTemplates(file string) bool {
	for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if path.Base(dir) == "templates" && r.tree.IsFile(path.Join(path.Dir(dir), "Chart.yaml")) {
			return true
		}
	}
	return false
}

func (r *Repository) notRead(at finding.Position, component, format string, args ...any) {
	r.findings = append(r.findings, notRead(at, component, format, args...))
}

// findOwnURLs finds out under which addresses the Applications know this
// repository: those of which at least half of the paths exist in it. A path
// that exists by coincidence does not make a foreign repository ours.
func (r *Repository) findOwnURLs() {
	type tally struct{ here, all int }
	tallies := map[string]*tally{}
	for _, app := range slices.Concat(r.applications, r.disabled) {
		for _, s := range app.sources() {
			if s.path() == "" || s.value.TextAt("chart") != "" {
				continue
			}
			url := normaliseURL(s.repoURL())
			if tallies[url] == nil {
				tallies[url] = &tally{}
			}
			if isRootPath(s.path()) {
				continue
			}
			tallies[url].all++
			if _, ok := r.existing(s.path()); ok {
				tallies[url].here++
			}
		}
	}
	for url, t := range tallies {
		r.own[url] = t.here > 0 && t.here*2 >= t.all
	}
}

func isRootPath(p string) bool {
	return path.Clean("/"+p) == "/"
}

// normaliseURL makes the forms of one address equal: https, ssh and scp-like,
// with and without .git.
func normaliseURL(url string) string {
	url = strings.ToLower(strings.TrimSpace(url))
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	} else if host, rest, ok := strings.Cut(url, ":"); ok && !strings.Contains(host, "/") {
		url = host + "/" + rest
	}
	if user, rest, ok := strings.Cut(url, "@"); ok && !strings.Contains(user, "/") {
		url = rest
	}
	return strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
}

// existing finds a path of a Git source below the root of the platform, or
// below the top of the repository when the platform is a part of it.
func (r *Repository) existing(written string) (string, bool) {
	p := strings.TrimPrefix(path.Clean("/"+written), "/")
	if p == "" {
		return ".", true
	}
	for _, candidate := range []string{p, path.Join(r.tree.Rel(r.tree.Repository), p)} {
		if r.tree.IsDir(candidate) || r.tree.IsFile(candidate) {
			return candidate, true
		}
	}
	return p, false
}

// local maps a source to a path of this repository. ok is false for a source
// of another one.
func (r *Repository) local(s source) (string, bool) {
	if s.value.TextAt("chart") != "" || s.path() == "" {
		return "", false
	}
	if !r.own[normaliseURL(s.repoURL())] {
		return "", false
	}
	p, _ := r.existing(s.path())
	return p, true
}

// notRead is the finding that something of the repository was left out.
func notRead(at finding.Position, component, format string, args ...any) finding.Finding {
	return newFinding(RuleNotRead, finding.Warning, at, component, format, args...)
}

// Namespaces are those that the Applications themselves live in, sorted: Argo CD
// runs there before it reads the first of them.
func (r *Repository) Namespaces() []string {
	var names []string
	for _, app := range r.applications {
		// Placeholders of templates are no names.
		if name := cmp.Or(app.value.TextAt("metadata", "namespace"), defaultNamespace); namespaceName.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// namespaceName is that of a DNS label (RFC 1123).
var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// defaultNamespace is Argo CD's own. Source: Argo CD's installation manifests.
const defaultNamespace = "argocd"
