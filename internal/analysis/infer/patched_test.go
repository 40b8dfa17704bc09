package infer

import (
	"io/fs"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// TestPatched: sync waves that a kustomization, its bases or the Application may
// write on what a chart renders.
func TestPatched(t *testing.T) {
	const wave = "- op: add\n  path: /metadata/annotations/argocd.argoproj.io~1sync-wave\n  value: '-1'\n"
	for name, c := range map[string]struct {
		files   map[string]string
		options *model.KustomizeOptions
		want    bool
	}{
		"no kustomization":          {nil, nil, false},
		"nothing is patched":        {map[string]string{"app/kustomization.yaml": "resources: [a.yaml, ../base]\n", "base/kustomization.yaml": "resources: [b.yaml]\n"}, nil, false},
		"a wave in the file itself": {map[string]string{"app/Kustomization": "commonAnnotations: {argocd.argoproj.io/sync-wave: '1'}\n"}, nil, true},
		"a patch in another file":   {map[string]string{"app/kustomization.yml": "patches: [{path: first.yaml}]\n", "app/first.yaml": wave}, nil, true},
		"a merge in another file": {map[string]string{"app/kustomization.yaml": "patchesStrategicMerge: [hook.yaml]\n",
			"app/hook.yaml": "metadata: {annotations: {argocd.argoproj.io/hook: PostSync}}\n"}, nil, true},
		"a patch in a base, whose name has a dot": {map[string]string{"app/kustomization.yaml": "resources: [../base/v1.2]\n",
			"base/v1.2/kustomization.yaml": "patches: [{patch: \"" + "metadata: {annotations: {argocd.argoproj.io/sync-wave: '1'}}" + "\"}]\n"}, nil, true},
		"bases in a circle":             {map[string]string{"app/kustomization.yaml": "resources: [../app, .]\n"}, nil, false},
		"the Application patches":       {nil, &model.KustomizeOptions{Patches: []any{map[string]any{"patch": wave}}}, true},
		"the Application patches other": {nil, &model.KustomizeOptions{CommonAnnotations: map[string]string{"team": "one"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			x := &index{in: Input{Read: func(file string) ([]byte, error) {
				if text, ok := c.files[file]; ok {
					return []byte(text), nil
				}
				return nil, fs.ErrNotExist
			}}}
			got := x.patched(&model.Component{Sources: []model.Source{{Path: "app", Kustomize: c.options}}})
			if got != c.want {
				t.Errorf("patched is %v, want %v", got, c.want)
			}
		})
	}
}
