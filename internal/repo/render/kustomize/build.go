package kustomize

import (
	"encoding/json"
	"errors"
	"path"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/openapi/kubernetesapi"

	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// Build builds the kustomization of a folder as it is seen through the view, which may
// show files outside of the folder: whether the installation lets kustomize load them is
// told of what applies it. It returns the objects as JSON, in kustomize's own order.
func Build(view source.View, folder string) ([]json.RawMessage, error) {
	files := newRepository(view)
	files.rewrite = func(_ string, data []byte) ([]byte, error) { return data, nil }
	plain := func(err error) error {
		return errors.New(files.plain(pointers.ReplaceAllString(err.Error(), "")))
	}
	built, err := run(unrestricted(), files, path.Join(files.root, folder))
	if err != nil {
		return nil, plain(err)
	}
	var objects []json.RawMessage
	for _, res := range built.Resources() {
		raw, err := res.MarshalJSON()
		if err != nil {
			return nil, plain(err)
		}
		objects = append(objects, raw)
	}
	return objects, nil
}

// unrestricted are options with which kustomize loads what the view shows, and nothing
// else.
func unrestricted() *krusty.Options {
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	return options
}

// run runs kustomize. The library keeps the schema that a kustomization names (openapi),
// also for those after it that name none: it is forgotten, so that what is built depends
// on nothing that was built before. The one that is usual stays, since it takes long to
// read.
func run(options *krusty.Options, files *repository, folder string) (resmap.ResMap, error) {
	defer func() {
		if openapi.GetSchemaVersion() != kubernetesapi.DefaultOpenAPI {
			openapi.ResetOpenAPI()
		}
	}()
	return krusty.MakeKustomizer(options).Run(files, folder)
}
