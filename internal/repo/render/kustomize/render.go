package kustomize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/helm"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// Options are what all kustomizations of a component have in common.
type Options struct {
	// Charts say how helmCharts are rendered; Charts.Fetch is nil offline.
	Charts helm.Options
	// Remote fetches a file or folder that a kustomization names by an address; nil
	// offline.
	Remote    func(address string) (Remote, error)
	Namespace string // destination namespace of the component
	Release   string // release name of charts that have none
}

// Remote is something from outside the repository.
type Remote struct {
	// Content is that of a file. Where the address is a repository, Checkout is what
	// it holds and Path the folder in it.
	Content  []byte
	Checkout source.View
	Path     string
}

// Render builds a kustomization. Objects are in kustomize's own order. One is built
// at a time in a process: the library keeps the schema of the kinds that it knows in
// a variable, see run.
func Render(ctx context.Context, view source.View, src model.Source, opts Options) (helm.Result, error) {
	kind, err := view.Stat(src.Path)
	if err != nil {
		return helm.Result{}, source.Errorf(src.Position, "kustomization: %w", err)
	}
	if kind != source.Folder {
		return helm.Result{}, source.Errorf(src.Position, "kustomization %s is not a folder; name the folder that holds kustomization.yaml", src.Path)
	}
	root, err := view.Resolve(src.Path)
	if err != nil {
		return helm.Result{}, source.Errorf(src.Position, "kustomization: %w", err)
	}
	if opts.Charts.Note == nil {
		opts.Charts.Note = func(finding.Position, string) {}
	}
	files := newRepository(view)
	b := &build{ctx: ctx, src: src, opts: opts, root: files.abs(root), files: files, charts: map[string]chartOrigins{}}
	files.rewrite = b.rewrite
	opts.Charts.Note(b.position(), "kustomization "+src.Path)
	if src.Kustomize != nil && src.Kustomize.Generate {
		if empty, err := b.generate(root); err != nil || empty {
			return helm.Result{}, err
		}
	}
	built, err := b.run()
	if err != nil {
		return helm.Result{ReadsCapabilities: b.readsCapabilities, Lacking: b.withDeleted()}, b.explain(err)
	}
	opts.Charts.Note(b.position(), "kustomization "+src.Path)
	objects, err := b.objects(built)
	return helm.Result{Objects: objects, ReadsCapabilities: b.readsCapabilities, Lacking: b.withDeleted()}, err
}

// build is one run of kustomize.
type build struct {
	ctx   context.Context
	src   model.Source
	opts  Options
	root  string // absolute
	files *repository
	// namespace is that of the kustomization that is built; empty where it sets none.
	namespace string
	// charts are the files that stand in for helmCharts, by absolute path.
	charts            map[string]chartOrigins
	readsCapabilities bool
	// keepOrigins is set when the kustomization itself asks for origins.
	keepOrigins bool
	lacking     []source.Lacking
	// patching are the patches of all kustomizations that were read.
	patching []patching
	// withoutPatches leaves out patches whose targets may be lacking.
	withoutPatches bool
}

// run builds the kustomization. Where sources are lacking, patches may have lost
// what they change: then it is built without them.
func (b *build) run() (resmap.ResMap, error) {
	objects, err := b.once()
	if err != nil && len(b.lacking) > 0 && b.files.first == nil {
		b.withoutPatches = true
		b.files.again()
		objects, err = b.once()
	}
	return objects, err
}

func (b *build) once() (objects resmap.ResMap, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("kustomize panics: %v", r)
		}
	}()
	return run(unrestricted(), b.files, b.root)
}

// explain turns an error of kustomize into one sentence without absolute paths.
func (b *build) explain(err error) error {
	if b.files.first != nil {
		var problem *source.Error
		if errors.As(b.files.first, &problem) {
			if problem.Position.File == "" {
				problem.Position = b.position()
			}
			return problem
		}
		return b.files.first
	}
	if name, problem := manifest.Malformed(err.Error(), b.files.seen, b.files.read); problem != nil {
		return &source.Error{Position: finding.Position{File: b.files.rel(name), Line: problem.Line}, Reason: "not valid YAML: " + problem.Message, Err: problem}
	}
	text := pointers.ReplaceAllString(strings.Join(strings.Fields(err.Error()), " "), "")
	text = b.files.plain(text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " ..."
	}
	if len(b.lacking) > 0 { // it may be what that would change
		return &source.Error{Position: b.position(), Err: errors.Join(source.ErrWithout, err), Reason: fmt.Sprintf("kustomization %s cannot be built without %s: %s", b.src.Path, cmp.Or(b.lacking[0].Source.RepoURL, "what is not rendered"), text)}
	}
	return &source.Error{Position: b.position(), Err: err, Reason: fmt.Sprintf("kustomization %s cannot be built: %s", b.src.Path, text)}
}

// maxText is how much of an error of kustomize is shown, in bytes: it repeats its
// input.
const maxText = 1000

// pointers are addresses in memory that kustomize prints, other ones every time.
var pointers = lazyregexp.New(` ?&?\{?0x[0-9a-f]{6,}( 0x[0-9a-f]{6,})*\}?`)

// position is the kustomization file, or the descriptor when there is none.
func (b *build) position() finding.Position {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if kind, err := b.files.view.Stat(path.Join(b.src.Path, name)); err == nil && kind == source.File {
			return finding.Position{File: path.Join(b.src.Path, name), Line: 1}
		}
	}
	return b.src.Position
}

const originAnnotation = "config.kubernetes.io/origin"

// objects reads what kustomize built, each object with where it comes from.
func (b *build) objects(built resmap.ResMap) ([]manifest.Object, error) {
	var out []manifest.Object
	locators := map[string]*fileObjects{}
	left := b.opts.Charts.MaxOutput
	tooMuch := func() error {
		return source.Errorf(b.position(), "kustomization %s makes more than %d MiB of output", b.src.Path, b.opts.Charts.MaxOutput>>20)
	}
	for _, res := range built.Resources() {
		if text(res.YNode(), left) > left {
			return nil, tooMuch()
		}
		m, size, err := values(res)
		if err != nil {
			return nil, source.Errorf(b.position(), "kustomization %s: %w", b.src.Path, err)
		}
		if left -= size; left < 0 {
			return nil, tooMuch()
		}
		flat, err := manifest.Flatten(m)
		if err != nil {
			return nil, source.Errorf(b.position(), "kustomization %s: %w", b.src.Path, err)
		}
		for _, u := range flat {
			o := manifest.Object{Unstructured: u, Origin: b.origin(u, locators)}
			if !b.keepOrigins {
				dropAnnotation(u, originAnnotation)
			} else if len(b.files.fetched) > 0 {
				annotations := u.GetAnnotations()
				annotations[originAnnotation] = b.files.plain(annotations[originAnnotation])
				u.SetAnnotations(annotations)
			}
			out = append(out, o)
		}
	}
	return out, nil
}

// values are a resource that kustomize built, as Kubernetes clients read what
// "kustomize build" prints, and its size as JSON in bytes. The resource's own Map is
// faster and not the same: what is printed has blank lines more in some folded texts.
func values(res *resource.Resource) (values map[string]any, size int, err error) {
	raw, err := res.MarshalJSON()
	if err != nil {
		return nil, 0, err
	}
	err = utiljson.Unmarshal(raw, &values)
	return values, len(raw), err
}

// text is about how many bytes a node takes when it is written, counted until it is more
// than most: a text that aliases repeat a thousand times is one until then.
func text(node *yaml.Node, most int) int {
	if node == nil {
		return 0
	}
	n := 1 + len(node.Value)
	if node.Kind == yaml.AliasNode {
		return n + text(node.Alias, most)
	}
	for _, child := range node.Content {
		if n > most {
			break
		}
		n += text(child, most-n)
	}
	return n
}

func dropAnnotation(u *unstructured.Unstructured, name string) {
	annotations := u.GetAnnotations()
	if _, ok := annotations[name]; !ok {
		return
	}
	delete(annotations, name)
	if len(annotations) == 0 {
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations")
		return
	}
	u.SetAnnotations(annotations)
}

// remoteReference matches what kustomize fetches instead of reads, for messages: what
// is fetched in truth is decided where it is asked for. Source: kustomize, "Remote
// targets".
var remoteReference = lazyregexp.New(`(?i)^([a-z][a-z0-9+.-]*://|[a-z]+::|github\.com[/:]|[a-z0-9_.-]+@[^/]+[:/])`)
