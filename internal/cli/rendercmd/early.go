package rendercmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/run/bootstrap"
)

// Early is the JSON form of what is applied before Argo CD.
type Early struct {
	FormatVersion string           `json:"formatVersion"`
	Environment   string           `json:"environment"`
	Components    []EarlyComponent `json:"components"`
}

// EarlyComponent is a component, in the order in which they are applied.
type EarlyComponent struct {
	Component string   `json:"component"`
	Objects   []Object `json:"objects"`
}

// early is a component with its objects.
type early struct {
	component model.Component
	objects   []manifest.Object
}

// runEarly prints what is applied before Argo CD.
func runEarly(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) error {
	environments, err := source.Chosen(ctx, o.Source)
	if err != nil {
		return err
	}
	var parts []source.Part
	for _, environment := range environments {
		all, name, err := readEarly(ctx, streams, global, o, environment)
		if err != nil {
			return source.Coded(err)
		}
		if len(all) == 0 && !global.Quiet {
			fmt.Fprintf(streams.Err, "environment %s has nothing that comes before Argo CD: ladder.yaml lists it under preArgo\n", name)
		}
		content, err := o.early(streams, all, name)
		if err != nil {
			return exit.With(exit.CouldNotRun, err)
		}
		parts = append(parts, source.Part{Environment: name, Content: content})
	}
	return o.print(streams, parts)
}

// early is the document of one environment.
func (o *Options) early(streams *stream.Streams, all []early, environment string) ([]byte, error) {
	var b bytes.Buffer
	var err error
	switch {
	case o.TalosPatch:
		err = o.patch(&b, streams, all)
	case o.Format == "json":
		err = report.JSON(&b, earlyDocument(environment, o.shown(all)))
	default:
		for _, one := range o.shown(all) {
			err = errors.Join(err, write(&b, one.objects))
		}
	}
	return b.Bytes(), err
}

// readEarly renders the components that come before Argo CD, as bootstrap applies them.
func readEarly(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options, environment string) (all []early, name string, err error) {
	display := progress.New(streams, global, time.Now)
	defer display.Close()
	options := o.loading(environment)
	options.Progress = display.Counted
	display.Stage("reading " + o.Path)
	platform, err := analysis.Open(ctx, o.Path, options)
	if err != nil {
		return nil, "", err
	}
	components, objects, err := bootstrap.Early(ctx, platform, options)
	if err != nil {
		return nil, "", err
	}
	seen := map[string]bool{}
	for _, c := range components {
		all = append(all, early{c, bootstrap.Applied(objects[c.Name], seen)})
	}
	return all, platform.Environment, nil
}

// shown are components without the values of Secrets, unless they are asked for.
func (o *Options) shown(all []early) []early {
	if o.ShowSecrets {
		return all
	}
	shown := slices.Clone(all)
	for i := range shown {
		shown[i].objects = withoutSecrets(shown[i].objects)
	}
	return shown
}

func earlyDocument(environment string, all []early) Early {
	d := Early{FormatVersion: report.FormatVersion, Environment: environment, Components: []EarlyComponent{}}
	for _, one := range all {
		d.Components = append(d.Components, EarlyComponent{one.component.Name, document(one.component, one.objects).Objects})
	}
	return d
}

// talosPatch is a patch of the machine configuration of Talos. Source: Talos,
// v1alpha1 Config, ClusterConfig.
type talosPatch struct {
	Cluster struct {
		InlineManifests []inlineManifest `yaml:"inlineManifests"`
	} `yaml:"cluster"`
}

type inlineManifest struct {
	Name     string `yaml:"name"`
	Contents string `yaml:"contents"`
}

// patch writes the patch. Talos sorts inline manifests by name, so the names are
// numbered. Source: Talos, k8s.ManifestApplyController.
func (o *Options) patch(b *bytes.Buffer, streams *stream.Streams, all []early) error {
	patch := talosPatch{}
	patch.Cluster.InlineManifests = []inlineManifest{}
	digits := max(2, len(strconv.Itoa(len(all))))
	for i, one := range all {
		objects := one.objects
		if !o.ShowSecrets {
			objects = slices.DeleteFunc(slices.Clone(objects), isSecret)
			o.tellSecrets(streams, one)
		}
		if len(objects) == 0 {
			continue
		}
		var contents bytes.Buffer
		if err := write(&contents, objects); err != nil {
			return err
		}
		patch.Cluster.InlineManifests = append(patch.Cluster.InlineManifests, inlineManifest{
			Name: fmt.Sprintf("%0*d-%s", digits, i+1, one.component.Name), Contents: strings.TrimPrefix(contents.String(), "---\n"),
		})
	}
	encoder := yaml.NewEncoder(b)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(patch), encoder.Close()); err != nil {
		return fmt.Errorf("print the patch: %w", err)
	}
	return nil
}

func isSecret(o manifest.Object) bool { return o.GetKind() == "Secret" && o.GetAPIVersion() == "v1" }

// tellSecrets says which Secrets the patch does not have: one without its values would
// break what uses it.
func (o *Options) tellSecrets(streams *stream.Streams, one early) {
	for _, object := range one.objects {
		if isSecret(object) {
			fmt.Fprintf(streams.Err, "%s: %s is not in the patch: apply it by hand, let bootstrap make it, or give --show-secrets and commit nothing\n",
				finding.Plain(one.component.Name), finding.Plain(object.Resource().Human()))
		}
	}
}
