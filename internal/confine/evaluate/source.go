package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/helm"
	"github.com/rollout-ladder/ladder/internal/repo/render/plain"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// methodSource renders one source.
const methodSource = "source"

// Request is one source of a component to render.
type Request struct {
	Source model.Source `json:"source"`
	// Component and Namespace are those that the source is rendered for.
	Component string `json:"component"`
	Namespace string `json:"namespace"`
	// KubeVersion and APIVersions are those of the target.
	KubeVersion string   `json:"kubeVersion"`
	APIVersions []string `json:"apiVersions"`
	// MaxOutput bounds the text that the source renders to, in bytes.
	MaxOutput int `json:"maxOutput"`
	// Partial renders what can be rendered where a part cannot be had.
	Partial bool `json:"partial"`
	// Offline is set where nothing is fetched.
	Offline bool `json:"offline"`
}

// Fetch gets what is remote.
type Fetch struct {
	// Chart gets the archive of a chart.
	Chart helm.Fetch
	// File gets one file over HTTP.
	File func(ctx context.Context, address string) ([]byte, error)
	// Base gets a file or a folder that a kustomization names.
	Base func(ctx context.Context, address string) (Base, error)
	// Repository gets a folder of a Git repository.
	Repository func(ctx context.Context, address string) (Base, error)
}

// Base is something remote that a kustomization takes in.
type Base struct {
	// Content is that of a file. Where the address is a repository, Tree is what it
	// holds and Path the folder in it.
	Content []byte
	Tree    *source.Tree
	Path    string
}

// Reply is what a source renders to.
type Reply struct {
	Asks    bool     `json:"asks"`
	Remote  bool     `json:"remote,omitempty"`
	Objects []Object `json:"objects"`
	Lacking []Lack   `json:"lacking,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}

// Object is an object as JSON.
type Object struct {
	Object    json.RawMessage `json:"object"`
	Origin    manifest.Origin `json:"origin"`
	CRDFolder bool            `json:"crdFolder,omitempty"`
}

// Lack is a part that is left out.
type Lack struct {
	Source    model.Source     `json:"source"`
	Namespace string           `json:"namespace,omitempty"`
	Position  finding.Position `json:"position"`
	Reason    string           `json:"reason"`
	Encrypted bool             `json:"encrypted,omitempty"`
}

// Failure is why a source could not be rendered.
type Failure struct {
	Position finding.Position `json:"position"`
	Reason   string           `json:"reason"`
	// These say what kind of failure it is.
	Without   bool `json:"without,omitempty"`   // helm.ErrWithout
	Encrypted bool `json:"encrypted,omitempty"` // source.ErrEncrypted
	Plugin    bool `json:"plugin,omitempty"`    // a program that is not run
	Syntax    bool `json:"syntax,omitempty"`    // a file that is not YAML
	// Missing is the path of a file that does not exist.
	Missing     string `json:"missing,omitempty"`
	Unavailable *Lack  `json:"unavailable,omitempty"`
}

// lack describes a part that is left out.
func lack(l helm.Lacking) Lack {
	return Lack{l.Source, l.Namespace, l.Err.Position, l.Err.Reason, errors.Is(l.Err, source.ErrEncrypted)}
}

// Lacking is the part that is left out.
func (l Lack) Lacking() helm.Lacking {
	err := &source.Error{Position: l.Position, Reason: l.Reason}
	if l.Encrypted {
		err.Err = source.ErrEncrypted
	}
	return helm.Lacking{Source: l.Source, Namespace: l.Namespace, Err: err}
}

func failure(err error) *Failure {
	f := &Failure{
		Reason: err.Error(), Without: errors.Is(err, helm.ErrWithout), Encrypted: errors.Is(err, source.ErrEncrypted),
		Plugin: types.IsErrOnlyBuiltinPluginsAllowed(err),
	}
	var problem *source.Error
	if errors.As(err, &problem) {
		f.Position, f.Reason = problem.Position, problem.Reason
		f.Plugin = f.Plugin || types.IsErrOnlyBuiltinPluginsAllowed(problem.Err)
	}
	f.Syntax = errors.As(err, new(*manifest.SyntaxError))
	var file *fs.PathError
	if errors.As(err, &file) && errors.Is(err, fs.ErrNotExist) {
		f.Missing = file.Path
	}
	var unavailable *helm.UnavailableError
	if errors.As(err, &unavailable) {
		l := lack(unavailable.Lacking)
		f.Unavailable = &l
	}
	return f
}

// error is the failure as the renderers report it.
func (f *Failure) error() error {
	if f.Unavailable != nil {
		return &helm.UnavailableError{Lacking: f.Unavailable.Lacking()}
	}
	problem := &source.Error{Position: f.Position, Reason: f.Reason}
	var causes []error
	if f.Without {
		causes = append(causes, helm.ErrWithout)
	}
	if f.Encrypted {
		causes = append(causes, source.ErrEncrypted)
	}
	if f.Plugin {
		causes = append(causes, types.NewErrOnlyBuiltinPluginsAllowed(""))
	}
	if f.Syntax {
		causes = append(causes, &manifest.SyntaxError{Line: f.Position.Line, Message: f.Reason})
	}
	if f.Missing != "" {
		causes = append(causes, &fs.PathError{Op: "open", Path: f.Missing, Err: fs.ErrNotExist})
	}
	if len(causes) == 1 {
		problem.Err = causes[0]
	} else {
		problem.Err = errors.Join(causes...)
	}
	return problem
}

// Source renders a source in a worker, which sees the repository through the view.
// limit is how much CPU time it may take. Errors about the repository are
// *source.Error, or *helm.UnavailableError; the Reply that stands beside one says
// what else is known.
func Source(ctx context.Context, view *source.Recording, request Request, fetch Fetch, limit time.Duration) (Reply, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return Reply{}, source.Errorf(request.Source.Position, "the source cannot be read: %w", err)
	}
	body = append(append(body, '\n'), ahead(view, request.Source)...)
	answers := &answers{view: view, fetch: fetch, offline: request.Offline, checkouts: map[string]*source.Recording{}}
	// Kustomize keeps schemas and a client for the whole process.
	together := request.Source.Kind != model.Kustomize
	data, err := Workers.Do(ctx, confine.Call{Method: methodSource, Request: body, Answer: answers.answer, Together: together, Time: limit})
	if err != nil {
		return Reply{}, explain(err, request.Source.Position, "the source")
	}
	var reply Reply
	if err := json.Unmarshal(data, &reply); err != nil {
		return Reply{}, fmt.Errorf("read the answer of a worker: %w", err)
	}
	if reply.Remote {
		view.MarkRemote()
	}
	if reply.Failure != nil {
		return reply, reply.Failure.error()
	}
	return reply, nil
}

// ahead tells a worker the files that it will ask for first.
func ahead(view *source.Recording, src model.Source) []byte {
	told := source.NewAhead(view)
	all := func(string) bool { return true }
	switch {
	case src.RepoURL != "" || src.Path == "":
	case src.Kind == model.Chart:
		told.Folder(src.Path, true, all)
		told.File(src.Path + "/.helmignore")
	case src.Kind == model.Kustomize:
		told.Folder(src.Path, false, all)
		for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
			told.File(src.Path + "/" + name)
		}
	case src.Kind == model.Manifests:
		told.Folder(src.Path, src.Recurse, plain.Filter{Include: src.Include, Exclude: src.Exclude}.Takes)
	}
	for _, file := range src.ValueFiles {
		told.File(file.Path)
	}
	return told.Encode()
}

// note says where a worker is at.
type note struct {
	Position finding.Position `json:"position"`
	What     string           `json:"what"`
}

// explain turns the end of a worker into a problem of the repository. subject is
// what was evaluated, where the worker did not say more.
func explain(err error, at finding.Position, subject string) error {
	var limit *confine.LimitError
	var failed *confine.MethodError
	switch {
	case errors.As(err, &limit):
		n := note{Position: at, What: subject}
		_ = json.Unmarshal(limit.Note, &n) // without a note it is the subject
		return &source.Error{Position: n.Position, Err: err, Reason: fmt.Sprintf("%s %s; %s", n.What, limit.Error(), wayOut(limit.Limit))}
	case errors.As(err, &failed):
		return &source.Error{Position: at, Err: err, Reason: subject + " cannot be evaluated: " + failed.Text}
	default:
		return err
	}
}

func wayOut(limit confine.Limit) string {
	switch limit {
	case confine.Time, confine.Stack:
		return "look for a loop or an include of itself"
	case confine.Memory, confine.Output, confine.Questions:
		return "look for what makes it so large"
	default:
		return "please report it with the files that it reads"
	}
}
