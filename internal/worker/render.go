package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/helm"
	"github.com/rollout-ladder/ladder/internal/repo/render/kustomize"
	"github.com/rollout-ladder/ladder/internal/repo/render/plain"
	"github.com/rollout-ladder/ladder/internal/repo/render/postbuild"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// renderSource is wire.Source, in the worker.
func renderSource(ctx context.Context, body []byte, parent *confine.Parent) ([]byte, error) {
	var request wire.Request
	head, told, _ := bytes.Cut(body, []byte("\n"))
	if err := kjson.UnmarshalCaseSensitivePreserveInts(head, &request); err != nil {
		return nil, err
	}
	view := source.NewAsked(parent.Ask)
	view.Learn(told)
	result, err := recovered(func() (helm.Result, error) { return render(ctx, view, request, parent) })
	reply := wire.Reply{Asks: result.ReadsCapabilities, Remote: view.Remote(), Objects: make([]wire.Object, len(result.Objects))}
	for _, l := range result.Lacking {
		reply.Lacking = append(reply.Lacking, lack(l))
	}
	if err != nil {
		reply.Failure = failure(err)
		reply.Failure.Reason = redact(view, request.Source, reply.Failure.Reason)
	}
	left := request.MaxOutput
	for i, o := range result.Objects {
		raw, err := json.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		// Aliases make much of little, whatever the text was.
		if left -= len(raw); left < 0 {
			return json.Marshal(wire.Reply{Asks: reply.Asks, Remote: reply.Remote, Failure: &wire.Failure{
				Position: o.Origin.Position(), Reason: fmt.Sprintf("the objects are larger than %d MiB; look for what makes them so large", request.MaxOutput>>20),
			}})
		}
		reply.Objects[i] = wire.Object{Object: raw, Origin: o.Origin, CRDFolder: o.CRDFolder}
	}
	return json.Marshal(reply)
}

// recovered turns a panic of a library into an error, whose text may hold what was
// rendered.
func recovered(render func() (helm.Result, error)) (result helm.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = helm.Result{}, fmt.Errorf("the renderer panics: %v", r)
		}
	}()
	return render()
}

func render(ctx context.Context, view source.View, request wire.Request, parent *confine.Parent) (helm.Result, error) {
	src := request.Source
	charts := helm.Options{
		KubeVersion:  cmp.Or(src.KubeVersion, request.KubeVersion),
		APIVersions:  request.APIVersions,
		MaxOutput:    request.MaxOutput,
		Partial:      request.Partial,
		Dependencies: src.Dependencies,
		Note: func(at finding.Position, what string) {
			if data, err := json.Marshal(wire.Note{Position: at, What: what}); err == nil {
				parent.Note(data)
			}
		},
	}
	if len(src.APIVersions) > 0 {
		charts.APIVersions = src.APIVersions
	}
	if !request.Offline {
		charts.Fetch = func(_ context.Context, repoURL, name, version string) ([]byte, error) {
			question, err := json.Marshal(wire.ChartRequest{RepoURL: repoURL, Name: name, Version: version})
			if err != nil {
				return nil, err
			}
			return parent.Ask(wire.OpChart, question)
		}
	}
	switch src.Kind {
	case model.Chart:
		return helm.Render(ctx, view, helm.Request{
			Source: src, Release: cmp.Or(src.ReleaseName, request.Component), Namespace: cmp.Or(src.Namespace, request.Namespace),
		}, charts)
	case model.Kustomize:
		options := kustomize.Options{Charts: charts, Namespace: request.Namespace, Release: request.Component}
		if !request.Offline {
			options.Remote = func(address string) (kustomize.Remote, error) { return remote(parent, address) }
		}
		loading.serve(parent)
		defer loading.serve(nil)
		result, err := kustomize.Render(ctx, view, src, options)
		if err == nil {
			err = postbuild.Apply(result.Objects, src.PostBuild, request.MaxOutput)
		}
		return result, err
	case model.Manifests:
		objects, encrypted, err := plain.Render(ctx, view, src, source.Filter{Include: src.Include, Exclude: src.Exclude}, charts.Note)
		result := helm.Result{Objects: objects}
		for _, e := range encrypted {
			file := model.Source{Kind: src.Kind, Path: e.Position.File, Position: e.Position}
			result.Lacking = append(result.Lacking, source.Lacking{Source: file, Namespace: request.Namespace, Err: e})
		}
		return result, err
	default:
		return helm.Result{}, source.Errorf(src.Position, "sources of kind %q cannot be rendered", src.Kind)
	}
}

// remote asks for something that a kustomization names by an address.
func remote(parent *confine.Parent, address string) (kustomize.Remote, error) {
	data, err := parent.Ask(wire.OpBase, []byte(address))
	if err != nil {
		return kustomize.Remote{}, err
	}
	head, content, _ := bytes.Cut(data, []byte("\n"))
	var reply wire.BaseReply
	if err := json.Unmarshal(head, &reply); err != nil {
		return kustomize.Remote{}, errors.New("the answer is malformed")
	}
	if reply.Checkout == "" {
		return kustomize.Remote{Content: content}, nil
	}
	view := source.NewAsked(func(operation string, request []byte) ([]byte, error) {
		return parent.Ask(wire.OpCheckout+reply.Checkout+"/"+operation, request)
	})
	return kustomize.Remote{Checkout: view, Path: reply.Path}, nil
}

// lack describes a part that is left out.
func lack(l source.Lacking) wire.Lack {
	return wire.Lack{Source: l.Source, Namespace: l.Namespace, Moved: l.Moved, Deleted: l.Deleted, Position: l.Err.Position, Reason: l.Err.Reason, Encrypted: errors.Is(l.Err, source.ErrEncrypted)}
}

// failure describes why a source could not be rendered.
func failure(err error) *wire.Failure {
	f := &wire.Failure{
		Reason: err.Error(), Without: errors.Is(err, source.ErrWithout), Encrypted: errors.Is(err, source.ErrEncrypted),
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
	var unavailable *source.UnavailableError
	if errors.As(err, &unavailable) {
		l := lack(unavailable.Lacking)
		f.Unavailable = &l
	}
	return f
}
