package argocd

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/byhand"
	"github.com/rollout-ladder/ladder/internal/repo/installation"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	rendersource "github.com/rollout-ladder/ladder/internal/repo/render/source"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/terraform"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Renderer renders a component: the charts among the sources of a parent.
type Renderer interface {
	Component(ctx context.Context, c model.Component) ([]manifest.Object, error)
	// Build builds the kustomization of a folder as a view shows it, which is made anew for each try. asked
	// tells builds of one folder apart that see it differently.
	Build(ctx context.Context, view func() rendersource.View, folder, asked string) ([]map[string]any, error)
}

// Options say what is known beyond the repository.
type Options struct {
	// Renderer renders charts that make Applications; nil for nothing that does.
	Renderer Renderer
	// Data is what generators of ApplicationSets would learn elsewhere.
	Data appset.Data
	// Aliases are addresses of this repository that its paths do not tell.
	Aliases []string
	// Roots are the files and folders that are applied by hand; empty to find
	// them.
	Roots []string
	// Snapshot is the file of what a cluster knows, which SnapshotAt names; empty for
	// none.
	Snapshot   string
	SnapshotAt finding.Position
	// Known is a snapshot that was taken just now, of the cluster KnownOf, and takes the
	// place of the file; nil for none.
	Known   []byte
	KnownOf string
	// Skip reports of the content of a file that it says nothing of its own; nil
	// for no file.
	Skip func(content []byte) bool
}

// Repository is a repository of Argo CD Applications. It is not safe for
// concurrent use.
type Repository struct {
	tree *repofs.Tree
	opts Options
	// all are all files; present the same as a set.
	all     []string
	present map[string]bool
	// paths are all files as Git sources see them: with a prefix where the
	// platform is a part of the repository.
	paths  []string
	prefix string
	// files are the parsed files that hold Applications or ApplicationSets.
	files map[string][]document
	// counted is the number of values in the files that were parsed, large is held while a
	// large one is.
	counted atomic.Int64
	large   sync.Mutex
	// manifests are all files of YAML and JSON, sorted.
	manifests []string
	// applications are all Applications of files, by file and line; disabled
	// ones are in files whose name says so.
	applications, disabled []document
	// sets are all ApplicationSets of files, projects all AppProjects.
	sets, projects []document
	// aside are those in the data of tests or put away, unused those of them that make
	// Applications and that nothing applies.
	aside, unused []document
	// terraformUnread is why Terraform is not read: see TerraformUnread.
	terraformUnread *repofs.InputError
	// archives are the folders that are put away by what the repository says of them.
	archives map[string]bool
	// usedFolders are those whose names may say that they are put away, with whether
	// something names them.
	usedFolders map[string]bool
	// checkedOut is the revision that is taken for the one at hand where none asks for a
	// usual one, once asked is set.
	checkedOut string
	asked      bool
	layouts    layouts
	// leftOut are Applications that nothing applies, since the sources that read their
	// folders leave their files out.
	leftOut []document
	// neighbours are the keys of Applications that nothing applies and that may be applied
	// with what lies in their folder.
	neighbours map[string]bool
	// byScript are the files that commands of the repository apply; nil until they are
	// asked for.
	byScript map[string]finding.Position
	// commands are what the files of the repository have people do; nil until it is asked.
	commands *byhand.Told
	// noted are those of them that a comment of a kustomization names, ran those that a script
	// applies, scripted those that one applies by their names.
	noted, ran, scripted map[string]bool
	// chosen are the files of which commands apply one at a time, with the first command of each.
	chosen   map[string]finding.Position
	clusters foundClusters
	// terraformed are the folders of Terraform by the files that it reads as texts:
	// Applications in them are applied by it.
	terraformed map[string]string
	// settings are those of the installation, which it reads; searched is set once
	// the files that are no manifests were asked as well.
	settings     argo.Settings
	installation installation.Reader
	searched     bool
	misplaced    []argo.Misplaced
	// templated are chart templates that hold Applications, sorted.
	templated []string
	// skeletons are the Applications and sets that another tool fills in before they can be applied.
	skeletons []document
	// written are those of them that a source takes as plain YAML.
	written map[string][]document
	// broken are files with something of Argo CD's that are no YAML.
	broken []*repofs.InputError
	// kustomized are the folders that hold a kustomization.
	kustomized []string
	// patches are the files that kustomizations patch with: what they hold are no
	// objects of their own.
	patches map[string]bool
	// carried are the files that generators of kustomizations read, resources those that these
	// have as resources.
	carried, resources map[string]bool
	// inTree are the charts of the repository, once they were asked for.
	inTree map[string][]inTree
	// own are the addresses of this repository, normalised.
	own     map[string]bool
	tallied map[string]bool
	// cited is set where Applications take folders that exist of the address of the checkout.
	cited bool
	// byHandFolders are the kustomizations that people apply by hand.
	byHandFolders map[string]bool
	ignored       ignored
	released      map[string][]terraform.Release
	terragrunt    []terraform.Unit
	unitsRead     bool
	// chartsAway are the charts that make Applications in folders that are put away.
	chartsAway []string
	// origin is the address that the repository was cloned from; empty where that is not known.
	origin func() string
	// commented are the folders of kustomizations by what they leave out by a comment.
	commented map[string][]string
	// here counts the paths that were found when an address was settled.
	here map[string]int
	// otherTrees are folders that hold something else in other revisions; nil before they
	// are asked for.
	otherTrees map[string]bool
	// bases are the folders that addresses stand for, where that is not the whole
	// repository.
	bases map[string]string
	// prefixes are the folders that this repository is of the others which addresses
	// name, places the paths that are taken below each address.
	prefixes map[string]string
	places   map[string]places
	blanks   blanks
	// inClusterBeside are the folders of the Applications that are for the cluster that Argo
	// CD runs in.
	inClusterBeside map[string]bool
	// moved says so of each of them.
	moved    []finding.Finding
	findings []finding.Finding
	kustomizations
	charts map[string]bool
	// contents and expanded keep what was read, by the object.
	contents map[*yamldoc.Value]kept[contents]
	expanded map[*yamldoc.Value]kept[[]document]
	// partial are the sets that may generate more than could be read.
	partial map[*yamldoc.Value]bool
	// passing are the patterns of files that sets read Applications from; nil before they are asked for.
	passing []*regexp.Regexp
}

// mentions finds Argo CD's own objects before a file is parsed.
var mentions = lazyregexp.New(`(?m)^\s*-?\s*["']?kind["']?:\s*["']?(Application(Set)?|AppProject)["']?\s*,?\s*(#.*)?$`)

// Scan finds every Application of the repository.
func Scan(ctx context.Context, tree *repofs.Tree, opts Options) (*Repository, error) {
	r := &Repository{
		tree: tree, opts: opts, present: map[string]bool{}, files: map[string][]document{},
		usedFolders: map[string]bool{}, patches: map[string]bool{}, carried: map[string]bool{}, resources: map[string]bool{}, own: map[string]bool{}, tallied: map[string]bool{}, here: map[string]int{}, bases: map[string]string{}, prefixes: map[string]string{}, places: map[string]places{}, commented: map[string][]string{}, charts: map[string]bool{}, terraformed: map[string]string{},
		contents: map[*yamldoc.Value]kept[contents]{}, written: map[string][]document{}, expanded: map[*yamldoc.Value]kept[[]document]{}, partial: map[*yamldoc.Value]bool{},
	}
	r.installation.Open = tree.Read
	r.origin = sync.OnceValue(func() string { return originOf(tree) })
	r.kustomizations = kustomizations{repository: r, inflating: map[string]bool{}, inflates: map[string]bool{}}
	found, err := tree.Find(ctx, ".", func(string) bool { return true })
	if err != nil {
		// Links that leave the repository are of no concern until something
		// names them.
		if len(repofs.InputErrors(err)) == 0 {
			return nil, err
		}
	}
	r.all = found
	for _, file := range found {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.present[file] = true
		if path.Base(file) == "Chart.yaml" {
			r.charts[path.Dir(file)] = true
		}
		if path.Ext(file) == ".tf" {
			r.noteTerraform(file)
		}
		if name := path.Base(file); strings.TrimSuffix(name, path.Ext(name)) == globalProjects {
			r.readGlobalProjects(file)
		}
	}
	for _, file := range r.all {
		if isManifest(file) || r.terraformed[file] != "" && isTemplate(file) {
			r.manifests = append(r.manifests, file)
		}
	}
	for _, file := range r.manifests {
		if isKustomizationName(path.Base(file)) {
			r.kustomized = append(r.kustomized, path.Dir(file))
			r.notePatches(file)
		}
	}
	all, err := r.lookInto(ctx, r.manifests)
	if err != nil {
		return nil, err
	}
	r.findArchives(ctx, all)
	for i, file := range r.manifests {
		r.take(file, all[i])
	}
	r.readTerraformed(ctx)
	if err := r.readSnapshot(); err != nil {
		return nil, err
	}
	if err := r.readReleases(ctx); err != nil {
		return nil, err
	}
	r.settings = r.installation.Settings()
	r.findStray()
	r.findUnknownBundles()
	r.findOwnURLs(ctx)
	return r, ctx.Err()
}

// unparsed says why a file is not YAML, as far as its text tells.
func unparsed(data []byte, message string) string {
	if placeholder.Match(data) {
		return "the file has placeholders that another tool fills in: " + message
	}
	return message
}

// ofTemplate matches lines that hold nothing but what another tool evaluates.
var ofTemplate = lazyregexp.New(`(?m)^[ \t]*(?:(?:\{\{[^{}]*\}\}|\{%[^{}]*%\})[ \t]*)+$`)

// awaitsFilling reports whether nothing but what another tool fills in makes a file no YAML.
func awaitsFilling(file string, data []byte) bool {
	if !placeholder.Match(data) {
		return false
	}
	text := filledIn.ReplaceAllString(ofTemplate.ReplaceAllString(string(data), ""), "filled-in")
	_, err := yamldoc.ParseLast(file, []byte(text))
	return err == nil
}

func (r *Repository) add(file string, documents []document) {
	if r.isUnused(file) {
		r.files[file] = documents
		r.aside = append(r.aside, documents...)
		return
	}
	for _, d := range documents {
		switch {
		case d.name() == "":
		case isSkeleton(d):
			r.skeletons = append(r.skeletons, d)
			r.broken = append(r.broken, &repofs.InputError{Position: d.position(), Message: fmt.Sprintf("the %s %s is a template that another tool fills in", d.kind(), d.name())})
		case d.argo("AppProject"):
			r.files[file] = documents
			r.projects = append(r.projects, d)
		case d.argo("ApplicationSet"):
			r.files[file] = documents
			if !isDisabledName(file) {
				r.sets = append(r.sets, d)
			}
		case d.isApplication():
			r.files[file] = documents
			if isDisabledName(file) {
				r.disabled = append(r.disabled, d)
			} else {
				r.applications = append(r.applications, d)
			}
		}
	}
	if r.files[file] == nil {
		r.findHeld(documents)
	}
}

// HasSets reports whether somebody wrote an ApplicationSet.
func (r *Repository) HasSets() bool { return len(r.sets) > 0 }

// Unreadable says why a repository without environments has none, as far as
// that is known: what its ApplicationSets or charts generate cannot be read. It
// returns nil for a repository that has nothing of Argo CD's.
func (r *Repository) Unreadable() *repofs.InputError {
	if len(r.templated) > 0 {
		return &repofs.InputError{
			Position: finding.Position{File: r.templated[0], Line: 1}, Message: "the Applications of this repository are templates of a chart, which is not rendered here",
			Hint: "render the chart and read the result",
		}
	}
	if len(r.broken) > 0 && len(r.applications)+len(r.sets) == 0 {
		hint := "correct it"
		if n := len(r.broken); n > 1 {
			hint += fmt.Sprintf("; %d files with Applications cannot be read", n)
		}
		return &repofs.InputError{Position: r.broken[0].Position, Message: "the repository has no Application that can be read: " + r.broken[0].Message, Hint: hint}
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
		if path.Base(dir) == "templates" && r.charts[path.Dir(dir)] {
			return true
		}
	}
	return false
}

func (r *Repository) notRead(at finding.Position, component, format string, args ...any) {
	r.findings = append(r.findings, notRead(at, component, format, args...))
}

// partNotRead tells of something that an Application lacks which is read otherwise.
func (r *Repository) partNotRead(at finding.Position, component, format string, args ...any) {
	f := notRead(at, component, format, args...)
	f.Unread[0].Part = true
	r.findings = append(r.findings, f)
}

func (r *Repository) assumed(at finding.Position, component, format string, args ...any) {
	r.findings = append(r.findings, newFinding(RuleAssumed, finding.Info, at, component, format, args...))
}

// notRead is the finding that something of the repository was left out: an
// Application, or what may hold some.
func notRead(at finding.Position, component, format string, args ...any) finding.Finding {
	f := newFinding(RuleNotRead, finding.Info, at, component, format, args...)
	f.Unread = []finding.Unread{{Name: component, Position: at, Reason: f.Message}}
	return f
}

// defaultNamespace is Argo CD's own. Source: Argo CD's installation manifests.
const defaultNamespace = "argocd"
