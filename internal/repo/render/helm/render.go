package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
	"github.com/rollout-ladder/ladder/internal/repo/render/values"
)

// Options are what all charts of a repository have in common.
type Options struct {
	KubeVersion string   // "1.36" or "v1.36.2"
	APIVersions []string // "group/version" and "group/version/Kind"
	MaxOutput   int      // bytes of text that one chart makes
	// Dependencies are folders with charts that others depend on by an address, by name.
	Dependencies map[string]string
	// Fetch gets a remote chart; nil when offline.
	Fetch source.Fetch
	// Note is told what is rendered next; nil tells nobody.
	Note func(at finding.Position, what string)
	// Partial renders without remote sources that cannot be had, where the rest
	// can be; Result.Lacking names them.
	Partial bool
}

// Request is one chart to render.
type Request struct {
	Source    model.Source
	Release   string // release name
	Namespace string
}

// Result is a rendered chart.
type Result struct {
	Objects []manifest.Object
	// ReadsCapabilities is set when the chart or its values mention the
	// capabilities of the cluster other than its version: only then can the
	// result depend on Options.APIVersions.
	ReadsCapabilities bool
	// Lacking are the remote sources that are left out; it is set next to an error
	// too.
	Lacking []source.Lacking
}

// Render renders a chart: first the objects of its crds folders, then those of
// its templates by path and document. Hooks are kept, notes are left out.
// Errors about the repository are *source.Error.
func Render(ctx context.Context, view source.View, req Request, opts Options) (Result, error) {
	if opts.Note == nil {
		opts.Note = func(finding.Position, string) {}
	}
	opts.Note(chartPosition(req.Source), "chart "+cmp.Or(req.Source.Path, req.Source.Name))
	loaded, err := load(ctx, view, req.Source, opts)
	var unavailable *source.UnavailableError
	if errors.As(err, &unavailable) {
		unavailable.Namespace, unavailable.Source.ReleaseName = req.Namespace, req.Release
		// A value file that is not there is a mistake whatever the chart holds.
		if _, wrong := values.Layer(view, req.Source); missingFile(wrong) {
			err = wrong
		}
	}
	if err != nil {
		return Result{}, err
	}
	given, err := values.Layer(view, req.Source)
	if err != nil {
		return Result{}, err
	}
	result := Result{ReadsCapabilities: loaded.readsCapabilities() || readsCapabilities(given.Text), Lacking: loaded.leaveOut(given.Merged, req)}
	// With other API versions it may be rendered after all.
	failed := Result{ReadsCapabilities: result.ReadsCapabilities, Lacking: result.Lacking}

	if opts.KubeVersion == "" {
		opts.KubeVersion = acceptable(loaded.chart.Metadata.KubeVersion)
	}
	caps, err := capabilities(opts)
	if err != nil {
		return failed, source.Errorf(req.Source.Position, "%w", err)
	}
	top, err := prepare(loaded, given.Merged, req, caps)
	if err != nil {
		return failed, err
	}
	if !req.Source.SkipCRDs {
		objects, err := loaded.crds()
		if err != nil {
			return failed, err
		}
		result.Objects = objects
	}
	run := newExecution(loaded, req, opts)
	outputs, err := run.execute(top)
	if err != nil {
		if run.parsed { // what is no template needs no dependency
			err = without(err, result.Lacking)
		}
		return failed, err
	}
	for _, out := range outputs {
		objects, err := out.objects(loaded)
		if err != nil {
			return failed, err
		}
		result.Objects = append(result.Objects, objects...)
	}
	if req.Source.SkipTests {
		result.Objects = slices.DeleteFunc(result.Objects, isTest)
	}
	for i := range result.Objects {
		if !result.Objects[i].CRDFolder {
			result.Objects[i].Origin.Values = given.Last
		}
	}
	return result, nil
}

// isTest reports whether an object is a test hook. Source: helm, pkg/cmd/template.go,
// isTestHook.
func isTest(o manifest.Object) bool {
	for event := range strings.SplitSeq(o.GetAnnotations()["helm.sh/hook"], ",") {
		if event = strings.ToLower(strings.TrimSpace(event)); event == "test" || event == "test-success" {
			return true
		}
	}
	return false
}

// chartPosition is where a chart is described: in its folder, else where it is named.
func chartPosition(src model.Source) finding.Position {
	if src.Path == "" || src.RepoURL != "" {
		return src.Position
	}
	return finding.Position{File: path.Join(src.Path, "Chart.yaml"), Line: 1}
}

// prepare resolves dependencies and values as `helm install` does.
func prepare(c *loadedChart, values map[string]any, req Request, caps *common.Capabilities) (common.Values, error) {
	meta := c.chart.Metadata
	at := finding.Position{File: c.file("Chart.yaml"), Line: 1}
	if meta.Type == "library" {
		return nil, source.Errorf(at, "chart %s is a library and cannot be installed on its own; depend on it instead", meta.Name)
	}
	if meta.KubeVersion != "" && !chartutil.IsCompatibleRange(meta.KubeVersion, caps.KubeVersion.String()) {
		return nil, source.Errorf(req.Source.Position, "chart %s requires Kubernetes %s, the target is %s; set kubeVersion of the environment or --kube-version",
			meta.Name, meta.KubeVersion, caps.KubeVersion.String())
	}
	if err := chartutil.ProcessDependencies(c.chart, values); err != nil {
		return nil, source.Errorf(at, "the dependencies of chart %s cannot be processed: %w", meta.Name, err)
	}
	if err := c.checkDependencies(); err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: req.Release, Namespace: cmp.Or(req.Namespace, "default"), Revision: 1, IsInstall: true}
	top, err := commonutil.ToRenderValuesWithSchemaValidation(c.chart, values, release, caps, true)
	if err != nil {
		return nil, source.Errorf(req.Source.Position, "the values of chart %s cannot be merged: %w", meta.Name, err)
	}
	merged, _ := top["Values"].(common.Values)
	if req.Source.SkipSchema {
		return top, nil
	}
	if err := c.validate(merged, req.Source.Position); err != nil {
		return nil, err
	}
	return top, nil
}

// oldest is the first minor version that is tried for a chart.
const oldest = 20

// acceptable returns the version that a chart is told where nobody said which the
// target has: the default, or else the newest before it that the chart accepts,
// as some charts name an end. Empty is the default.
func acceptable(constraint string) string {
	if constraint == "" || chartutil.IsCompatibleRange(constraint, DefaultKubeVersion) {
		return ""
	}
	parts := strings.Split(DefaultKubeVersion, ".")
	newest, err := strconv.Atoi(parts[1])
	if err != nil {
		return ""
	}
	for minor := newest - 1; minor >= oldest; minor-- {
		if v := fmt.Sprintf("%s.%d.0", parts[0], minor); chartutil.IsCompatibleRange(constraint, v) {
			return v
		}
	}
	return ""
}

func capabilities(opts Options) (*common.Capabilities, error) {
	version := opts.KubeVersion
	if version == "" {
		version = DefaultKubeVersion
	}
	if strings.Count(strings.TrimPrefix(version, "v"), ".") == 1 {
		version += ".0"
	}
	kube, err := common.ParseKubeVersion(version)
	if err != nil {
		return nil, fmt.Errorf("Kubernetes version %q is not a version such as 1.36", opts.KubeVersion)
	}
	all := slices.Concat(BuiltinVersions(), opts.APIVersions)
	slices.Sort(all)
	return &common.Capabilities{
		KubeVersion: *kube,
		APIVersions: slices.Compact(all),
		HelmVersion: common.DefaultCapabilities.HelmVersion,
	}, nil
}

// capabilityUse matches a use of the capabilities that is not just the version
// of Kubernetes or Helm.
var capabilityUse = lazyregexp.New(`Capabilities(\.APIVersions|[^.\w]|\.[^KHA]|$)`)

func readsCapabilities(text []byte) bool { return capabilityUse.Match(text) }

// missingFile reports whether err says that a file does not exist.
func missingFile(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// manifestFile reports whether Helm takes a file for manifests.
func manifestFile(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// dependencyNames lists the dependencies a chart still wants after conditions
// and tags were applied.
func dependencyNames(c *chart.Chart) (missing []string) {
	have := map[string]bool{}
	for _, d := range c.Dependencies() {
		have[d.Name()] = true
	}
	for _, want := range c.Metadata.Dependencies {
		if want != nil && !have[want.Name] {
			missing = append(missing, want.Name)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}
