package repo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/flux"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// findEnvironments lists the environments of a platform of descriptors: the
// folders of environments/ that hold components/, and those of the ladder file.
// A ladder file that names overlays, and no folder of descriptors anywhere, is
// that of a repository of Applications: then there are none.
func (r *Repository) findEnvironments() ([]string, error) {
	names, err := r.tree.List(environmentsFolder)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range names {
		folder := path.Join(environmentsFolder, name)
		if _, err := r.tree.Resolve(folder, finding.Position{}); err != nil {
			return nil, err
		}
		if !r.tree.IsDir(folder) {
			continue
		}
		components := path.Join(environmentsFolder, name, componentsFolder)
		if _, err := r.tree.Resolve(components, finding.Position{}); err != nil {
			return nil, err
		}
		if r.tree.IsDir(components) {
			found = append(found, name)
		}
	}
	descriptors := len(found) > 0
	for _, folders := range r.file.Folders {
		descriptors = descriptors || len(folders.Components) > 0
	}
	if !descriptors {
		return nil, nil
	}
	for name := range r.file.Folders {
		found = append(found, name)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// findApplications reads the repository as Argo CD does. The overlays that the
// ladder file names are the environments; without any they are found.
func (r *Repository) findApplications(ctx context.Context) error {
	err := r.scan(ctx, r.skipGenerated())
	if err != nil {
		return err
	}
	var all []argocd.Environment
	for name, folders := range r.file.Folders {
		if folders.Overlay == "" || len(r.opts.Roots) > 0 {
			continue
		}
		if _, err := r.tree.Resolve(folders.Overlay, folders.Position); err != nil {
			return err
		}
		if !r.tree.IsDir(folders.Overlay) {
			return &InputError{Position: folders.Position, Message: fmt.Sprintf("there is no folder %s", folders.Overlay), Hint: "path names the folder of an overlay"}
		}
		all = append(all, argocd.Environment{Name: name, Overlay: path.Clean(folders.Overlay)})
	}
	if len(all) == 0 {
		if all, err = r.applications.Environments(ctx); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		// What was generated is all there is.
		if err = r.scan(ctx, nil); err != nil {
			return err
		}
		if all, err = r.applications.Environments(ctx); err != nil {
			return err
		}
	}
	if unreadable := r.applications.Unreadable(); len(all) == 0 && unreadable != nil {
		return unreadable
	}
	if !r.file.LayoutSet {
		r.file.Ladder.Layout = plan.AppOfApps
	}
	if len(all) == 1 && len(r.opts.Roots) > 0 {
		all[0].Name = cmp.Or(r.environmentOfRoots(), all[0].Name)
	}
	r.overlays = map[string]argocd.Environment{}
	for _, e := range all {
		r.overlays[e.Name] = e
		r.environments = append(r.environments, e.Name)
	}
	slices.Sort(r.environments)
	if len(all) == 0 || len(r.opts.Roots) > 0 {
		return nil
	}
	if err := r.addClusters(ctx); err != nil || r.flux != nil {
		return err
	}
	r.findBesides(ctx)
	return ctx.Err()
}

// environmentOfRoots is the environment of descriptors in whose folders all roots lie that
// somebody names, such as environments/dev/argocd/root.yaml or argocd/dev; empty for none.
func (r *Repository) environmentOfRoots() string {
	names, err := r.findEnvironments()
	if err != nil {
		return "" // what is wrong with descriptors matters where they are read
	}
	found := ""
	for i, root := range r.opts.Roots {
		of := ""
		for _, folder := range strings.Split(path.Clean(root), "/") {
			if slices.Contains(names, folder) {
				if of != "" && of != folder {
					return ""
				}
				of = folder
			}
		}
		if of == "" || i > 0 && of != found {
			return ""
		}
		found = of
	}
	return found
}

// rootsOfFlux reports whether the roots that somebody names hold objects of Flux and none of
// Argo CD.
func (r *Repository) rootsOfFlux(ctx context.Context) bool {
	ofFlux := false
	for _, root := range r.opts.Roots {
		files, err := r.tree.Find(ctx, root, func(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" })
		if err != nil {
			return false
		}
		for _, file := range files {
			data, err := r.tree.Read(file)
			outside := model.IsKustomizationFile(path.Base(file)) && bytes.Contains(data, []byte("../"))
			if err != nil || outside || bytes.Contains(data, []byte("argoproj.io/v1alpha1")) {
				return false
			}
			ofFlux = ofFlux || bytes.Contains(data, []byte(".toolkit.fluxcd.io/v"))
		}
	}
	return ofFlux
}

// findBesides tells of what is written for Flux in a repository that is read as Argo CD
// reads it. What is put away is nobody's platform, so that nothing lacks it.
func (r *Repository) findBesides(ctx context.Context) {
	all, err := flux.Written(ctx, r.tree)
	if err != nil {
		return // what is wrong with files of others is no concern here
	}
	var used, away []flux.Left
	for _, l := range all {
		if r.applications.PutAway(ctx, l.Position.File, l.Name) {
			away = append(away, l)
		} else {
			used = append(used, l)
		}
	}
	r.besides = nil
	if len(used) > 0 {
		f := flux.NotRead(used, "the repository is read as Argo CD reads it; --root FOLDER reads what Flux syncs from a folder")
		for i := range f.Unread {
			f.Unread[i].Other = true
		}
		r.besides = append(r.besides, f)
	}
	if len(away) > 0 {
		f := flux.NotRead(away, "put away")
		f.Unread = nil
		r.besides = append(r.besides, f)
	}
}

// findClusters reads the repository as Flux does: its clusters are the environments.
// --root names the folders that are synced.
func (r *Repository) findClusters(ctx context.Context) error {
	result, err := r.clusters(ctx, flux.Options{Roots: r.opts.Roots})
	if err != nil || result == nil {
		return err
	}
	if !r.file.LayoutSet {
		r.file.Ladder.Layout = plan.DependsOn
	}
	r.flux, r.overlays = result, nil
	for _, c := range result.Clusters {
		r.environments = append(r.environments, c.Name)
	}
	slices.Sort(r.environments)
	return nil
}

// addClusters adds the clusters of Flux that are certain to a repository that is read as
// Argo CD does: each tool applies its own part of it.
func (r *Repository) addClusters(ctx context.Context) error {
	result, err := r.clusters(ctx, flux.Options{Started: true, Taken: r.environments})
	if len(InputErrors(err)) > 0 {
		return nil // then what is written for Flux is told as not read
	}
	if err != nil || result == nil {
		return err
	}
	r.flux = result
	r.withoutPassedOver(ctx, result)
	for _, c := range result.Clusters {
		r.environments = append(r.environments, c.Name)
	}
	slices.Sort(r.environments)
	return nil
}

// withoutPassedOver leaves the environments of Argo CD out that lie in what Flux applies, and
// that it leaves out, and those of examples: nobody applies them.
func (r *Repository) withoutPassedOver(ctx context.Context, result *flux.Result) {
	var applied []string
	for _, c := range result.Clusters {
		for i := range c.Kustomizations {
			if k := &c.Kustomizations[i]; k.Path != "" {
				applied = append(applied, k.Path)
			}
		}
	}
	r.environments = slices.DeleteFunc(r.environments, func(name string) bool {
		e := r.overlays[name]
		at, why := finding.Position{Line: 1}, ""
		if examples := r.applications.OnlyExamples(ctx, e); len(examples) > 0 {
			at.File, why = examples[0], "it is an example, and Flux syncs what is none"
		} else if r.applications.PassedOver(ctx, e, applied) {
			at.File, why = e.ByHand()[0].Folder, "Flux applies the folder that it lies in, whose kustomization leaves it out"
		} else {
			return false
		}
		f := finding.Finding{
			Rule: argocd.RuleNotRead, Severity: finding.Info, Scope: finding.Rule, Basis: finding.Declared, Position: at,
			Message: fmt.Sprintf("what %s has for Argo CD is not read: %s", at.File, why),
		}
		r.besides = append(r.besides, f)
		delete(r.overlays, name)
		return true
	})
}

// clusters reads the repository as Flux does; nil where there is nothing of Flux's.
func (r *Repository) clusters(ctx context.Context, o flux.Options) (*flux.Result, error) {
	if r.opts.Renderer == nil {
		return nil, nil
	}
	o.Path, o.Renderer = ".", r.opts.Renderer(r.tree.Root, r.tree.Repository)
	o.Objects = func(ctx context.Context, file string, data []byte) ([]manifest.Object, error) {
		return evaluate.Objects(ctx, file, data, readingTime)
	}
	o.Set = evaluate.ResourceSet
	result, err := flux.Load(ctx, r.tree, o)
	if errors.Is(err, flux.ErrNothing) {
		return nil, nil
	}
	return result, err
}

// readingTime is how much CPU time it may take to parse a file.
const readingTime = 20 * time.Second

// skipGenerated leaves out what was generated of other files of the repository,
// unless somebody names it: it would be there twice.
func (r *Repository) skipGenerated() func(content []byte) bool {
	if len(r.opts.Roots) > 0 || len(r.file.Repository.Roots) > 0 {
		return nil
	}
	for _, folders := range r.file.Folders {
		content, err := r.tree.Read(path.Join(folders.Overlay, "kustomization.yaml"))
		if folders.Overlay != "" && err == nil && ladderfile.IsGenerated(content) {
			return nil
		}
	}
	return ladderfile.IsGenerated
}

func (r *Repository) selectEnvironment(name string) (string, error) {
	list := strings.Join(r.environments, ", ")
	switch {
	case name != "" && slices.Contains(r.environments, name):
		return name, nil
	case name == "all":
		return "", &InputError{Message: "this goes through one environment at a time, not all", Hint: "name one with --environment: " + list}
	case name != "":
		return "", yamldoc.Unknown("environment", name, r.environments)
	case len(r.environments) == 1:
		return r.environments[0], nil
	case slices.Contains(r.environments, defaultEnvironment):
		return defaultEnvironment, nil
	default:
		return "", &InputError{Message: "the platform has several environments", Hint: "name one with --environment: " + list}
	}
}
