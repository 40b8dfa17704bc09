package generate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/project"
	"github.com/rollout-ladder/ladder/internal/argocd/generate/settings"
	"github.com/rollout-ladder/ladder/internal/argocd/generate/smokejob"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// projects writes the AppProjects. They are there before what names them.
func (b *builder) projects() error {
	a := b.platform.ArgoCD
	in := project.Input{Namespace: a.Namespace, Orphaned: a.OrphanedResources, Labels: b.labelsOfAll()}
	kinds := smokejob.NewKinds(b.in.Objects)
	for _, name := range b.sorted() {
		app, err := b.inProject(b.components[name], kinds)
		if err != nil {
			return err
		}
		in.Applications = append(in.Applications, app)
	}
	for _, r := range a.Roles {
		in.Roles = append(in.Roles, project.Role{Name: r.Name, Description: r.Description, Groups: r.Groups, Projects: b.projectNames(r.Projects), Policies: r.Policies})
	}
	for _, w := range a.SyncWindows {
		in.SyncWindows = append(in.SyncWindows, project.SyncWindow{Projects: b.projectNames(w.Projects), Window: project.Window{
			Kind: w.Kind, Schedule: w.Schedule, Duration: w.Duration, Applications: w.Applications, Namespaces: w.Namespaces,
			Clusters: w.Clusters, ManualSync: w.ManualSync, TimeZone: w.TimeZone, Description: w.Description,
		}})
	}
	result, err := project.Build(in)
	if err != nil {
		return b.refuse(a.Position, "", "%s", err)
	}
	for i := range result.Projects {
		m := &result.Projects[i].Metadata
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[waveAnnotation] = strconv.Itoa(b.firstWave() - 1)
	}
	for _, m := range result.Missing {
		b.warn(a.Position, "the AppProject %s may allow too little%s: %s", m.Project, of(m.Application), m.Reason)
	}
	if len(result.Projects) == 0 {
		return nil
	}
	if folder := a.Files.Projects; folder != "" {
		for _, p := range result.Projects {
			one := project.Result{Projects: []project.AppProject{p}, Missing: result.Missing}
			if err := b.projectFile(path.Join(folder, p.Metadata.Name+".yaml"), one); err != nil {
				return err
			}
		}
		return nil
	}
	return b.projectFile(projectsFile, result)
}

func (b *builder) projectFile(file string, projects project.Result) error {
	text, err := projects.YAML()
	if err != nil {
		return err
	}
	b.write(file, text)
	b.list(file)
	return nil
}

func of(name string) string {
	if name == "" {
		return ""
	}
	return " for " + name
}

// firstWave is the least sync wave among the children of the root.
func (b *builder) firstWave() int {
	first := 0
	if b.layout == plan.AppOfApps {
		for _, s := range b.stages {
			first = min(first, s.wave)
		}
	}
	return first
}

// inProject says what the Application of a component asks of its project.
func (b *builder) inProject(c *model.Component, kinds *smokejob.Kinds) (project.Application, error) {
	app := b.apps[c.Name]
	objects := slices.Clone(b.in.Objects[c.Name])
	if len(c.Smoke) > 0 {
		job, err := b.smoke(c, kinds)
		if err != nil {
			return project.Application{}, err
		}
		objects = append(objects, smokejob.Rendered(job)...)
	}
	tests, err := b.helmTestObjects(c)
	if err != nil {
		return project.Application{}, err
	}
	objects = append(objects, smokejob.Rendered(tests)...)
	out := project.Application{
		Name: c.Name, Project: app.Spec.Project, Objects: project.Objects(objects, kinds.Scopes()), Unrendered: b.in.Unrendered[c.Name],
		Destination: project.Destination{
			Server: app.Spec.Destination.Server, Name: app.Spec.Destination.Name, Namespace: app.Spec.Destination.Namespace,
		},
		CreateNamespace: slices.Contains(app.Spec.SyncPolicy.SyncOptions, optionCreate+"=true"),
	}
	for _, s := range app.allSources() {
		if !slices.Contains(out.Sources, s.RepoURL) {
			out.Sources = append(out.Sources, s.RepoURL)
		}
	}
	return out, nil
}

// allSources are those of an Application, one or several.
func (a Application) allSources() []Source {
	if a.Spec.Source != nil {
		return []Source{*a.Spec.Source}
	}
	return a.Spec.Sources
}

// settings writes what Argo CD is told, and templates of repository Secrets, which
// nothing applies.
func (b *builder) settings() error {
	a := b.platform.ArgoCD
	in := settings.Input{
		Namespace: a.Namespace, ProgressiveSyncs: b.rolling(), Nested: b.layout != plan.Single, Labels: b.labelsOfAll(),
	}
	waited := map[string]bool{}
	for _, e := range b.in.Plan.Edges {
		waited[e.To] = true
	}
	for i, s := range b.stages {
		for _, name := range s.components {
			c := b.components[name]
			in.Components = append(in.Components, settings.Component{
				// A later stage waits for all of an earlier one.
				Name: name, Waited: waited[name] || i < len(b.stages)-1, Objects: b.in.Objects[name], Health: c.Health,
			})
		}
	}
	for _, e := range a.ResourceExclusions {
		in.Exclusions = append(in.Exclusions, settings.Exclusion{APIGroups: e.APIGroups, Kinds: e.Kinds, Clusters: e.Clusters})
	}
	result, err := settings.Build(b.ctx, in)
	if err != nil {
		return b.refuse(a.Position, "", "%s", err)
	}
	for _, n := range result.Notes {
		if n.Lost {
			b.warn(n.Position, "%s of %s: %s", n.Kind, some(n.Components), n.Message)
		}
	}
	for _, f := range []struct {
		file string
		cm   settings.ConfigMap
	}{{"argocd-cm.yaml", result.Settings}, {"argocd-cmd-params-cm.yaml", result.Parameters}} {
		if len(f.cm.Data) == 0 {
			continue
		}
		if f.cm.Metadata.Annotations == nil {
			f.cm.Metadata.Annotations = map[string]string{}
		}
		f.cm.Metadata.Annotations[waveAnnotation] = strconv.Itoa(b.firstWave() - 1)
		file := path.Join(cmp.Or(a.Files.Settings, settingsDir), f.file)
		if err := b.add(file, f.cm); err != nil {
			return err
		}
		b.list(file)
	}
	return b.add(path.Join(cmp.Or(a.Files.Repositories, a.Files.Settings, settingsDir), "repository.yaml"), settings.Repositories(a.Namespace, b.repositories()))
}

// repositories are those that Argo CD reads.
func (b *builder) repositories() []settings.Repository {
	all := []settings.Repository{{URL: b.repoURL}}
	for _, name := range b.sorted() {
		for _, s := range b.components[name].Sources {
			r := settings.Repository{URL: strings.TrimPrefix(s.RepoURL, ociScheme), Helm: s.Kind == model.Chart, OCI: strings.HasPrefix(s.RepoURL, ociScheme)}
			if s.RepoURL != "" && !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

// smokes writes the Jobs of the checks that descriptors declare.
func (b *builder) smokes() error {
	kinds := smokejob.NewKinds(b.in.Objects)
	for _, name := range b.sorted() {
		c := b.components[name]
		if err := b.helmTests(c); err != nil {
			return err
		}
		if len(c.Smoke) == 0 {
			continue
		}
		objects, err := b.smoke(c, kinds)
		if err != nil {
			return err
		}
		text, err := smokejob.YAML(objects)
		if err != nil {
			return err
		}
		b.write(path.Join(smokesDir, name, "smoke.yaml"), text)
	}
	return nil
}

func (b *builder) smoke(c *model.Component, kinds *smokejob.Kinds) (objects []*unstructured.Unstructured, err error) {
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = b.platform.Ladder.Timeout
	}
	fingerprint, err := b.fingerprint(c)
	if err != nil {
		return nil, err
	}
	image := b.platform.ArgoCD.SmokeImage
	if image == "" {
		image = b.in.Image
	}
	if image == "" {
		return nil, b.refuse(b.platform.ArgoCD.At("smoke"), "name one in argocd.smoke.image of ladder.yaml, or with --smoke-image; make image makes one (docs/smoke.md)",
			"the smoke %s has no image to run: this build of Ladder is no release, of which one is published", c.Name)
	}
	if err := CheckImage(image); err != nil {
		return nil, b.refuse(b.platform.ArgoCD.At("smoke.image"), "write a tag of its own, or a digest", "%s", err)
	}
	objects, err = smokejob.Objects(smokejob.Input{
		Name: c.Name, Namespace: c.Namespace, Image: image, Checks: c.Smoke, Timeout: timeout,
		Labels: map[string]string{labelManagedBy: managedBy}, Kinds: kinds, Fingerprint: fingerprint,
	})
	if err != nil {
		return nil, b.refuse(c.At("smoke"), "", "%s", err)
	}
	return objects, nil
}

// fingerprintLength is that of the digests that are written.
const fingerprintLength = 16

// fingerprint changes with what a smoke validates; without that nothing would run
// it again.
func (b *builder) fingerprint(c *model.Component) (string, error) {
	sum := sha256.New()
	some := false
	for _, v := range c.Validates {
		for _, o := range b.in.Objects[v.Text] {
			text, err := json.Marshal(manifest.WithoutSecrets(o.Object))
			if err != nil {
				return "", fmt.Errorf("read %s of %s: %w", o.Resource(), v.Text, err)
			}
			sum.Write(text)
			some = true
		}
	}
	if !some {
		return "", nil
	}
	return hex.EncodeToString(sum.Sum(nil))[:fingerprintLength], nil
}
