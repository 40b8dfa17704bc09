package importer_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/importer"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// TestHostile: what would take the importers themselves too long is an error with a
// place.
func TestHostile(t *testing.T) {
	releases := func(prefix string) string {
		var b strings.Builder
		for i := range 1100 {
			fmt.Fprintf(&b, "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: %s-%d, namespace: x}\nspec: {}\n", prefix, i)
		}
		return b.String()
	}
	kustomization := "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: %s, namespace: flux-system}\nspec: {path: ./apps/%[1]s, sourceRef: {kind: GitRepository, name: flux-system}%s}\n"
	for name, test := range map[string]struct {
		archive, want string
		run           func(dir string) error
	}{
		"many that wait for many": {
			"-- clusters/main/a.yaml --\n" + fmt.Sprintf(kustomization, "a", "") + "-- clusters/main/b.yaml --\n" + fmt.Sprintf(kustomization, "b", ", dependsOn: [{name: a}]") +
				"-- apps/a/all.yaml --\n" + releases("a") + "-- apps/b/all.yaml --\n" + releases("b"),
			"clusters/main/b.yaml:4: more than 1000000 pairs of components wait for each other",
			func(dir string) error {
				tree, err := repofs.Discover(dir)
				if err != nil {
					return err
				}
				target, err := importer.NewTarget(filepath.Join(dir, "platform"))
				if err != nil {
					return err
				}
				_, err = importer.FromFlux(context.Background(), tree, importer.FluxOptions{Path: ".", Target: target})
				return err
			},
		},
		"a long line of waves": {
			"-- set.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: x}\nspec:\n  strategy:\n    rollingSync:\n      steps: [{matchExpressions: [{key: wave, values: [" + strings.Repeat("wave05, ", 50_000) + "]}]}]\n",
			"set.yaml:7: too much of a long line would change",
			func(dir string) error {
				_, err := importer.Waves(context.Background(), dir, importer.WavesOptions{})
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.run(unpack(t, test.archive))
			var input *repofs.InputError
			if !errors.As(err, &input) || !strings.Contains(input.Error(), test.want) {
				t.Errorf("got %.500v, want %q", err, test.want)
			}
		})
	}
}
