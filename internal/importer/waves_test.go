package importer_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/importer"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

const wavesBefore = `
-- environments/dev/components/platform/keycloak/component.yaml --
# Wave 35: keycloak
name: keycloak
tier: platform   # the tier
wave: wave35     # after postgres
labels: {rolloutWave: "wave35", team: id}
manifests: {path: sources/x}
-- environments/dev/components/data/pg/component.yaml --
name: pg
tier: data
wave: "05"
manifests: {path: sources/x}
-- environments/dev/components/data/new/component.yaml --
name: new
domain: data
rolloutPhase: "050"
manifests: {path: sources/x}
-- argocd/platform.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: platform
spec:
  generators:
    - git:
        files: [{path: "environments/dev/components/**/component.yaml"}]
  template:
    metadata:
      name: '{{name}}'
      labels:
        tier: '{{tier}}'
        wave: '{{wave}}'   # the label
    spec:
      project: '{{project}}'
  strategy:
    type: RollingSync
    rollingSync:
      steps:
        - matchExpressions:
            - {key: wave, operator: In, values: ["wave05"]}   # first
          maxUpdate: 1
        - matchExpressions:
            - key: wave
              operator: In
              values: [wave35, 'wave36']
-- ladder.yaml --
bands:
  - {name: data, from: 0, to: 9}
  - {name: platform, from: 30, to: 39}
steps:
  - {phases: ["05"], maxUpdate: 1}   # data
  - {phases: [35, 36]}
-- sources/x/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: wave}
data: {wave: wave35}
-- notes.yaml --
wave: {{ broken
`

const wavesAfter = `
-- environments/dev/components/platform/keycloak/component.yaml --
# Wave 35: keycloak
name: keycloak
domain: platform   # the tier
rolloutPhase: "350"     # after postgres
labels: {rollout-phase: "350", team: id}
manifests: {path: sources/x}
-- environments/dev/components/data/pg/component.yaml --
name: pg
domain: data
rolloutPhase: "050"
manifests: {path: sources/x}
-- environments/dev/components/data/new/component.yaml --
name: new
domain: data
rolloutPhase: "050"
manifests: {path: sources/x}
-- argocd/platform.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: platform
spec:
  generators:
    - git:
        files: [{path: "environments/dev/components/**/component.yaml"}]
  template:
    metadata:
      name: '{{name}}'
      labels:
        tier: '{{domain}}'
        rollout-phase: '{{rolloutPhase}}'   # the label
    spec:
      project: '{{project}}'
  strategy:
    type: RollingSync
    rollingSync:
      steps:
        - matchExpressions:
            - {key: rollout-phase, operator: In, values: ["050"]}   # first
          maxUpdate: 1
        - matchExpressions:
            - key: rollout-phase
              operator: In
              values: ["350", '360']
-- ladder.yaml --
bands:
  - {name: data, from: "000", to: "090"}
  - {name: platform, from: "300", to: "390"}
steps:
  - {phases: ["050"], maxUpdate: 1}   # data
  - {phases: ["350", "360"]}
-- sources/x/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: wave}
data: {wave: wave35}
-- notes.yaml --
wave: {{ broken
`

// contents are the files of an archive.
func contents(archive string) map[string]string {
	out := map[string]string{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		out[f.Name] = string(f.Data)
	}
	return out
}

func TestWaves(t *testing.T) {
	dir := unpack(t, wavesBefore)
	r, err := importer.Waves(context.Background(), dir, importer.WavesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents(wavesBefore), tree(t, dir)); diff != "" {
		t.Error("looking changed something", diff)
	}
	want := []importer.Mapping{{Wave: 0, Phase: "000", Uses: 1}, {Wave: 5, Phase: "050", Uses: 3}, {Wave: 9, Phase: "090", Uses: 1}, {Wave: 30, Phase: "300", Uses: 1}, {Wave: 35, Phase: "350", Uses: 4}, {Wave: 36, Phase: "360", Uses: 2}, {Wave: 39, Phase: "390", Uses: 1}}
	if diff := cmp.Diff(want, r.Mapping); diff != "" {
		t.Error(diff)
	}
	if err := r.Write(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents(wavesAfter), tree(t, dir)); diff != "" {
		t.Error(diff)
	}
	again, err := importer.Waves(context.Background(), dir, importer.WavesOptions{})
	if err != nil || len(again.Changes) != 0 {
		t.Errorf("a second run changes %d files, %v", len(again.Changes), err)
	}
}

func TestWavesMapped(t *testing.T) {
	descriptor := func(wave string) string {
		return "-- environments/dev/components/x" + wave + "/component.yaml --\nname: x" + wave + "\nwave: " + wave + "\nmanifests: {path: x}\n"
	}
	for name, test := range map[string]struct {
		archive string
		options importer.WavesOptions
		want    map[int]string
		failed  string
	}{
		"single waves":          {descriptor("35") + descriptor("36"), importer.WavesOptions{Map: map[int]model.Phase{36: 355}}, map[int]string{35: "350", 36: "355"}, ""},
		"a factor":              {descriptor("35"), importer.WavesOptions{Factor: 1}, map[int]string{35: "035"}, ""},
		"waves above 99":        {descriptor("35") + descriptor("135"), importer.WavesOptions{}, map[int]string{35: "035", 135: "135"}, ""},
		"the order must stay":   {descriptor("35") + descriptor("36"), importer.WavesOptions{Map: map[int]model.Phase{35: 365}}, nil, "is not after 365"},
		"two must not be one":   {descriptor("35") + descriptor("36"), importer.WavesOptions{Map: map[int]model.Phase{36: 350}}, nil, "is not after 350"},
		"no phase above 999":    {descriptor("35"), importer.WavesOptions{Factor: 100}, nil, "phases go to 999"},
		"what is no wave":       {descriptor("later"), importer.WavesOptions{}, nil, `"later" is no wave`},
		"an alias":              {"-- environments/dev/components/component.yaml --\nx: &w 5\nname: x\nwave: *w\n", importer.WavesOptions{}, nil, "shared through an alias"},
		"a descriptor, no YAML": {"-- environments/dev/components/component.yaml --\nwave: [\n", importer.WavesOptions{}, nil, "component.yaml:1"},
		"the label of a label":  {"-- a.yaml --\nkind: ApplicationSet\nspec: {template: {metadata: {labels: {wave: '{{ .labels.wave }}'}}}}\n", importer.WavesOptions{}, nil, "takes the wave from a label"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, test.archive)
			r, err := importer.Waves(context.Background(), dir, test.options)
			if test.failed != "" {
				var input *repofs.InputError
				if !errors.As(err, &input) || !strings.Contains(err.Error(), test.failed) {
					t.Fatalf("got %v, want %q", err, test.failed)
				}
				if diff := cmp.Diff(contents(test.archive), tree(t, dir)); diff != "" {
					t.Error("half-written", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[int]string{}
			for _, m := range r.Mapping {
				got[m.Wave] = m.Phase
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWavesChangeAllOrNone: a file that changes in the meantime stops everything.
func TestWavesChangeAllOrNone(t *testing.T) {
	dir := unpack(t, wavesBefore)
	r, err := importer.Waves(context.Background(), dir, importer.WavesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "ladder.yaml")
	if err := os.WriteFile(file, []byte("steps: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(); err == nil {
		t.Fatal("it wrote over a change")
	}
	want := contents(wavesBefore)
	want["ladder.yaml"] = "steps: []\n"
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// FuzzWaves: whatever the descriptor, it is refused or rewritten into one that a
// second run leaves alone.
func FuzzWaves(f *testing.F) {
	f.Add("name: a\nwave: wave35 # x\ntier: b\n")
	f.Add("{name: a, 'wave': \"05\", labels: {wave: 5}}\r\n")
	f.Add("wave: |\n  35\n---\nwave: 3\n")
	f.Add("? wave\n: 35\n")
	f.Add("kind: ApplicationSet\nspec: {strategy: {rollingSync: {steps: [{matchExpressions: [{key: wave, values: [wave1, '2']}]}]}}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		for _, name := range []string{"component.yaml", "set.yaml", "ladder.yaml"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := importer.Waves(context.Background(), dir, importer.WavesOptions{})
		if err != nil {
			return
		}
		if err := r.Write(); err != nil {
			t.Fatal(err)
		}
		again, err := importer.Waves(context.Background(), dir, importer.WavesOptions{Factor: 1})
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%q", err, text)
		}
		if len(again.Changes) != 0 {
			t.Fatalf("a second run changes\n%s", again.Diff())
		}
	})
}
