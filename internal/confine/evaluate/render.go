package evaluate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/render/helm"
	"github.com/rollout-ladder/ladder/internal/repo/render/kustomize"
	"github.com/rollout-ladder/ladder/internal/repo/render/plain"
	"github.com/rollout-ladder/ladder/internal/repo/render/postbuild"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// renderSource is methodSource, in the worker.
func renderSource(ctx context.Context, body []byte, parent *confine.Parent) ([]byte, error) {
	var request Request
	head, told, _ := bytes.Cut(body, []byte("\n"))
	if err := kjson.UnmarshalCaseSensitivePreserveInts(head, &request); err != nil {
		return nil, err
	}
	view := source.NewAsked(parent.Ask)
	view.Learn(told)
	result, err := recovered(func() (helm.Result, error) { return render(ctx, view, request, parent) })
	reply := Reply{Asks: result.ReadsCapabilities, Remote: view.Remote(), Objects: make([]Object, len(result.Objects))}
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
			return json.Marshal(Reply{Asks: reply.Asks, Remote: reply.Remote, Failure: &Failure{
				Position: o.Origin.Position(), Reason: fmt.Sprintf("the objects are larger than %d MiB; look for what makes them so large", request.MaxOutput>>20),
			}})
		}
		reply.Objects[i] = Object{raw, o.Origin, o.CRDFolder}
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

func render(ctx context.Context, view source.View, request Request, parent *confine.Parent) (helm.Result, error) {
	src := request.Source
	charts := helm.Options{
		KubeVersion: cmp.Or(src.KubeVersion, request.KubeVersion),
		APIVersions: request.APIVersions,
		MaxOutput:   request.MaxOutput,
		Partial:     request.Partial,
		Note: func(at finding.Position, what string) {
			if data, err := json.Marshal(note{at, what}); err == nil {
				parent.Note(data)
			}
		},
	}
	if len(src.APIVersions) > 0 {
		charts.APIVersions = src.APIVersions
	}
	if !request.Offline {
		charts.Fetch = func(_ context.Context, repoURL, name, version string) ([]byte, error) {
			question, err := json.Marshal(chartRequest{repoURL, name, version})
			if err != nil {
				return nil, err
			}
			return parent.Ask(opChart, question)
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
		objects, encrypted, err := plain.Render(ctx, view, src, plain.Filter{Include: src.Include, Exclude: src.Exclude}, charts.Note)
		result := helm.Result{Objects: objects}
		for _, e := range encrypted {
			file := model.Source{Kind: src.Kind, Path: e.Position.File, Position: e.Position}
			result.Lacking = append(result.Lacking, helm.Lacking{Source: file, Namespace: request.Namespace, Err: e})
		}
		return result, err
	default:
		return helm.Result{}, source.Errorf(src.Position, "sources of kind %q cannot be rendered", src.Kind)
	}
}

// remote asks for something that a kustomization names by an address.
func remote(parent *confine.Parent, address string) (kustomize.Remote, error) {
	data, err := parent.Ask(opBase, []byte(address))
	if err != nil {
		return kustomize.Remote{}, err
	}
	head, content, _ := bytes.Cut(data, []byte("\n"))
	var reply baseReply
	if err := json.Unmarshal(head, &reply); err != nil {
		return kustomize.Remote{}, errors.New("the answer is malformed")
	}
	if reply.Checkout == "" {
		return kustomize.Remote{Content: content}, nil
	}
	view := source.NewAsked(func(operation string, request []byte) ([]byte, error) {
		return parent.Ask(opCheckout+reply.Checkout+"/"+operation, request)
	})
	return kustomize.Remote{Checkout: view, Path: reply.Path}, nil
}
