package kustomize

import (
	"encoding/json"
	"errors"
	"path"

	"sigs.k8s.io/kustomize/api/krusty"

	"github.com/rollout-ladder/ladder/internal/render/source"
)

// Build builds the kustomization of a folder as it is seen through the view, and
// nothing outside of its folder, as kustomize does by default. It returns the objects
// as JSON, in kustomize's own order.
func Build(view source.View, folder string) ([]json.RawMessage, error) {
	files := newRepository(view)
	files.rewrite = func(_ string, data []byte) ([]byte, error) { return data, nil }
	plain := func(err error) error {
		return errors.New(files.plain(pointers.ReplaceAllString(err.Error(), "")))
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, path.Join(files.root, folder))
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
