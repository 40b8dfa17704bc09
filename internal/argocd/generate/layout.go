package generate

import (
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/project"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// The labels of everything that is generated.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "ladder"
	// parentWave puts the parent of tiers before its children, as the first thing
	// that somebody syncs.
	parentWave = -1
)

// labelsOfAll are those of the objects that order others.
func (b *builder) labelsOfAll() map[string]string {
	return map[string]string{labelManagedBy: managedBy, b.label.Environment: b.platform.Environment}
}

// single writes one ApplicationSet.
func (b *builder) single() error {
	set, err := b.set(b.setName(""), b.stages)
	if err != nil {
		return err
	}
	set.Metadata.Annotations[waveAnnotation] = "0"
	file, _ := b.setIn("")
	if err := b.add(file, set); err != nil {
		return err
	}
	b.list(file)
	return b.root(nil)
}

// tiers writes one ApplicationSet for each tier, under an Application each, which
// the root applies in sync waves from 0.
func (b *builder) tiers() error {
	for i, tier := range b.sets() {
		set, err := b.set(b.setName(tier), b.of(tier))
		if err != nil {
			return err
		}
		set.Metadata.Labels[b.label.Tier] = tier
		in, directory := b.setIn(tier)
		if err := b.add(in, set); err != nil {
			return err
		}
		app := b.parent(b.setName(tier), path.Join(b.folder, path.Dir(in)))
		app.Spec.Source.Directory = directory
		app.Metadata.Labels[b.label.Tier] = tier
		app.Metadata.Annotations = map[string]string{waveAnnotation: strconv.Itoa(i)}
		file := b.applicationFile(tier)
		if err := b.add(file, app); err != nil {
			return err
		}
		b.parents = append(b.parents, app)
		b.list(file)
	}
	return b.root(map[string]string{waveAnnotation: strconv.Itoa(parentWave)})
}

// appOfApps writes the Applications.
func (b *builder) appOfApps() error {
	for _, name := range b.sorted() {
		file := b.applicationFile(name)
		if err := b.add(file, b.apps[name]); err != nil {
			return err
		}
		b.list(file)
	}
	return b.root(nil)
}

// root writes the Application that a person applies, behind the project of all
// parents, without which it could not be synced. It takes the kustomization of the
// folder, which leaves root.yaml itself out.
func (b *builder) root(annotations map[string]string) error {
	app := b.parent(b.rootName(), b.folder)
	app.Metadata.Annotations = annotations
	b.parents = append(b.parents, app)
	own, err := b.rootProject()
	if err != nil {
		return err
	}
	return b.add(RootFile, own, app)
}

// rootProject is the AppProject of the parents, which allows what they apply: Argo
// CD's own objects and settings, where it runs.
func (b *builder) rootProject() (project.AppProject, error) {
	in := project.Input{Namespace: b.platform.ArgoCD.Namespace, Labels: b.labelsOfAll()}
	for _, p := range b.parents {
		in.Applications = append(in.Applications, project.Application{
			Name: p.Metadata.Name, Project: p.Spec.Project, Sources: []string{p.Spec.Source.RepoURL},
			Destination: project.Destination{Server: p.Spec.Destination.Server, Namespace: p.Spec.Destination.Namespace},
			Objects:     b.ofArgo(),
		})
	}
	result, err := project.Build(in)
	if err != nil {
		return project.AppProject{}, b.refuse(b.platform.ArgoCD.Position, "", "%s", err)
	}
	own := result.Projects[0]
	own.Spec.Description = "What the Applications that bring the platform " + b.rootName() + " need, and nothing else."
	return own, nil
}

// ofArgo are the kinds that the parents of a layout apply. They do not follow from
// what there is at the moment: nobody but a person applies root.yaml again.
func (b *builder) ofArgo() []project.Object {
	kinds := []project.Object{{Kind: "ConfigMap"}, {Group: argoGroup, Kind: "AppProject"}}
	if b.layout != plan.Single {
		kinds = append(kinds, project.Object{Group: argoGroup, Kind: kindApplication})
	}
	if b.rolling() {
		kinds = append(kinds, project.Object{Group: argoGroup, Kind: kindSet})
	}
	return kinds
}

// parent is an Application that applies others of a folder.
func (b *builder) parent(name, folder string) Application {
	source := b.own(folder)
	var automated *Automated
	if a := b.platform.ArgoCD; a.Automated {
		automated = &Automated{Prune: a.Prune, SelfHeal: a.SelfHeal}
	}
	retry, err := b.parentRetry()
	if err != nil {
		retry = nil // told for the components
	}
	return Application{
		APIVersion: apiVersion, Kind: kindApplication,
		Metadata: Metadata{
			Name: name, Namespace: b.platform.ArgoCD.Namespace, Labels: b.labelsOfAll(), Finalizers: []string{resourcesFinalizer},
		},
		Spec: ApplicationSpec{
			Project: b.rootProjectName(), Source: &source,
			// Argo CD's own objects are where it runs, whatever cluster the components
			// go to.
			Destination: Destination{Server: inCluster, Namespace: b.platform.ArgoCD.Namespace},
			SyncPolicy:  &SyncPolicy{Automated: automated, Retry: retry},
		},
	}
}

// parentRetry is that of Applications that apply others. Argo CD does not repeat a
// sync that has failed for good at a revision: what it had not come to would never
// be there. It counts the failures of all waves together, so that the pauses must
// not grow for ever.
func (b *builder) parentRetry() (*Retry, error) {
	r, err := b.ladderRetry()
	if err != nil {
		return nil, err
	}
	r.Limit, r.Refresh = unlimited, true
	if most := b.platform.Ladder.Retry.MaxDuration; most <= 0 || most > longestPause {
		r.Backoff.MaxDuration = finding.Duration(longestPause)
	}
	return r, nil
}

const (
	// longestPause is the longest one between two attempts of a parent.
	longestPause = time.Minute
	// inCluster is the cluster that Argo CD runs in.
	inCluster = "https://kubernetes.default.svc"
	// unlimited is the limit of retries without end. Source: Argo CD user guide,
	// "Automated Sync Policy".
	unlimited = -1
)

// common writes what every layout has, and the kustomization of it all.
func (b *builder) common() error {
	b.adoption()
	if err := b.projects(); err != nil {
		return err
	}
	if err := b.settings(); err != nil {
		return err
	}
	if err := b.smokes(); err != nil {
		return err
	}
	slices.Sort(b.resources)
	if err := b.add(kustomizationFile, Kustomization{
		APIVersion: "kustomize.config.k8s.io/v1beta1", Kind: "Kustomization", Resources: b.resources,
	}); err != nil {
		return err
	}
	return b.unique()
}

// rolling reports whether RollingSync orders the components.
func (b *builder) rolling() bool { return b.layout != plan.AppOfApps }
