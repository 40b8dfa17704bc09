package importer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis/roles"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/flux"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// FluxOptions say what is imported.
type FluxOptions struct {
	// Path is the folder that is searched, relative to the root.
	Path string
	// Clusters are those to import; empty for all.
	Clusters []string
	// Target is where the platform will lie.
	Target *Target
}

// FromFlux makes a platform of a repository of Flux. It is not placed yet.
func FromFlux(ctx context.Context, tree *repofs.Tree, o FluxOptions) (*Platform, error) {
	result, err := flux.Load(ctx, tree, flux.Options{
		Path: o.Path, Clusters: o.Clusters, Import: true,
		Renderer: render.New(tree.Root, tree.Repository, render.Options{Offline: true}),
		Objects: func(ctx context.Context, file string, data []byte) ([]manifest.Object, error) {
			return evaluate.Objects(ctx, file, data, render.DefaultTimeout)
		},
		Set: evaluate.ResourceSet,
	})
	if err != nil {
		return nil, err
	}
	f := &fluxes{result: result, p: &Platform{Found: map[string]int{}}, sources: newSources(ctx, tree, o.Target), owners: map[string]map[string]bool{}, taken: map[string]string{}}
	if err := f.convert(); err != nil {
		return nil, err
	}
	f.p.Files = append(f.p.Files, f.sources.files...)
	return f.p, nil
}

// fluxes turns Kustomizations and HelmReleases into components.
type fluxes struct {
	result  *flux.Result
	p       *Platform
	sources *sources
	// owners are the objects that have a name, by kind and name.
	owners map[string]map[string]bool
	// taken are the names of components and the objects that have them.
	taken map[string]string
}

// clusterUnits are the components of one cluster.
type clusterUnits struct {
	cluster *flux.Cluster
	// own are the components of each Kustomization, children its Kustomizations.
	own      [][]string
	children [][]int
	// releases are the components of releases.
	releases []string
}

func (f *fluxes) convert() error {
	for i := range f.result.Clusters {
		c := &f.result.Clusters[i]
		f.p.Environments = append(f.p.Environments, c.Name)
		f.p.Found["clusters"]++
		f.p.Found["Kustomizations"] += len(c.Kustomizations)
		f.p.Found["HelmReleases"] += len(c.Releases)
		for _, k := range c.Kustomizations {
			f.own("k", k.Name, k.Namespace)
		}
		for _, r := range c.Releases {
			f.own("r", r.Name, r.Namespace)
		}
	}
	for _, problem := range f.result.Problems {
		level := Lost
		if problem.Mild {
			level = Told
		}
		f.p.note(Note{Level: level, What: string(problem.Kind), Environment: problem.Cluster, Component: problem.Name, Message: problem.Message, Hint: problem.Hint, Position: problem.Position})
	}
	for i := range f.result.Clusters {
		if err := f.cluster(&f.result.Clusters[i]); err != nil {
			return err
		}
	}
	f.p.validate()
	return nil
}

func (f *fluxes) own(kind, name, namespace string) {
	key := kind + "/" + name
	if f.owners[key] == nil {
		f.owners[key] = map[string]bool{}
	}
	f.owners[key][namespace] = true
}

// name is the component of an object: its name, with its namespace where others
// have it too. A release has the name before the Kustomization around it.
func (f *fluxes) name(kind, namespace, name string) string {
	wanted := name
	if len(f.owners[kind+"/"+name]) > 1 {
		wanted = namespace + "-" + name
	}
	wanted = componentName(wanted)
	if kind == "k" && len(f.owners["r/"+name]) > 0 {
		wanted += "-manifests"
	}
	id := kind + "/" + namespace + "/" + name
	unique := wanted
	for n := 2; f.taken[unique] != "" && f.taken[unique] != id; n++ {
		unique = wanted + "-" + strconv.Itoa(n)
	}
	f.taken[unique] = id
	return unique
}

// cluster makes the components of a cluster, then their edges.
func (f *fluxes) cluster(c *flux.Cluster) error {
	u := &clusterUnits{cluster: c, own: make([][]string, len(c.Kustomizations)), children: make([][]int, len(c.Kustomizations))}
	for i := range c.Kustomizations {
		if parent := c.Kustomizations[i].Parent; parent >= 0 {
			u.children[parent] = append(u.children[parent], i)
		}
	}
	for i := range c.Releases {
		name, err := f.release(u, i)
		if err != nil {
			return err
		}
		u.releases = append(u.releases, name)
		if k := c.Releases[i].Kustomization; k >= 0 {
			u.own[k] = append(u.own[k], name)
		}
	}
	for i := range c.Kustomizations {
		k := &c.Kustomizations[i]
		if len(k.Objects) == 0 && k.Path != "" {
			continue
		}
		name, err := f.kustomization(u, i)
		if err != nil {
			return err
		}
		u.own[i] = append(u.own[i], name)
	}
	return f.edges(u)
}

// maxPairs is how many pairs of components that wait for each other a cluster may
// have.
const maxPairs = 1_000_000

// component is the component of a name, made where it is new.
func (f *fluxes) component(name string, role roles.Role) *Component {
	c := f.p.component(name)
	if c == nil {
		c = &Component{Name: name, Type: role.Type, Domain: role.Domain, Group: NoGroup, Phase: model.NoPhase, In: map[string]*Descriptor{}}
		f.p.Components = append(f.p.Components, c)
	}
	return c
}

// release makes the component of a HelmRelease.
func (f *fluxes) release(u *clusterUnits, i int) (string, error) {
	r := &u.cluster.Releases[i]
	name := f.name("r", r.Namespace, r.Name)
	role := roles.Named(r.Name, cmp.Or(r.Chart, r.Path))
	if roles.DomainOf(r.Name, r.Chart) == "" {
		role.Domain = cmp.Or(domainOfFolder(r.Namespace), domainOfFolder(folderOf(r.Position.File)), role.Domain)
	}
	c := f.component(name, role)
	d := &Descriptor{
		Namespace: cmp.Or(r.TargetNamespace, r.Namespace), Enabled: !r.Suspend && !u.cluster.Suspended(r.Kustomization),
		Timeout: r.Timeout, Position: r.Position, SyncOptions: []string{"CreateNamespace=true"},
		Comment: []string{fmt.Sprintf("HelmRelease %s/%s of %s.", r.Namespace, r.Name, r.Position.File)},
	}
	c.In[u.cluster.Name] = d
	switch {
	case r.Path != "":
		if _, err := f.sources.place(r.Path, d, r.Position); err != nil {
			f.p.note(Note{Level: Lost, What: "chart", Environment: u.cluster.Name, Component: name, Position: r.Position, Message: "the chart " + r.Path + " cannot be carried over: " + oneLine(err.Error())})
		}
	case r.Chart != "":
		d.Chart = &Chart{RepoURL: r.Repository, Name: r.Chart, Version: r.Version}
	}
	if d.Chart == nil {
		if d.Enabled {
			f.p.note(Note{Level: Lost, What: "chart", Environment: u.cluster.Name, Component: name, Position: r.Position, Message: "its chart is not known, so that it is written as disabled and keeps its place", Hint: "add the chart and rename the file to component.yaml"})
		}
		return name, nil
	}
	d.Chart.SkipCRDs = r.SkipCRDs
	if r.ReleaseName != name {
		d.Chart.ReleaseName = r.ReleaseName
	}
	values := mergedValues(r)
	if len(values) == 0 {
		return name, nil
	}
	folder := u.cluster.Name
	if f.everywhere(r, values) {
		folder = "shared"
	}
	file, err := f.p.layer(folder, name, 1, values)
	d.Chart.ValueFiles = []ValueFile{{Path: file}}
	return name, err
}

// folderOf is the folder of a file, and the one above: apps/observability/loki.
func folderOf(file string) string {
	dir := path.Dir(file)
	return path.Base(path.Dir(dir)) + "/" + path.Base(dir)
}

// domainOfFolder reads the names of folders. A folder apps holds everything in most
// repositories, and tells nothing.
func domainOfFolder(p string) string {
	if domain := roles.DomainOf(p); domain != "apps" {
		return domain
	}
	return ""
}

func mergedValues(r *flux.Release) map[string]any {
	var all map[string]any
	for _, v := range r.Values {
		all = overlay(all, v)
	}
	return all
}

// everywhere reports whether a release has the same values in every cluster, of
// several.
func (f *fluxes) everywhere(r *flux.Release, values map[string]any) bool {
	if len(f.result.Clusters) < 2 {
		return false
	}
	for i := range f.result.Clusters {
		c := &f.result.Clusters[i]
		k := slices.IndexFunc(c.Releases, func(o flux.Release) bool { return o.Name == r.Name && o.Namespace == r.Namespace })
		if k < 0 || !reflect.DeepEqual(mergedValues(&c.Releases[k]), values) {
			return false
		}
	}
	return true
}

// kustomization makes the component of what a Kustomization applies beside
// releases.
func (f *fluxes) kustomization(u *clusterUnits, i int) (string, error) {
	k := &u.cluster.Kustomizations[i]
	name := f.name("k", k.Namespace, k.Name)
	role := roles.Named(k.Name, "")
	if t := typeOfObjects(k.Objects); t != "" {
		role.Type = t
	}
	if roles.DomainOf(k.Name) == "" {
		beside := ""
		if len(u.own[i]) > 0 {
			beside = f.p.component(u.own[i][0]).Domain
		}
		role.Domain = cmp.Or(domainOfFolder(k.Path), beside, role.Domain)
	}
	c := f.component(name, role)
	d := &Descriptor{
		Namespace: namespaceOf(k), Enabled: !u.cluster.Suspended(i), Timeout: k.Timeout, Position: k.Position,
		Comment: []string{fmt.Sprintf("Kustomization %s/%s of %s.", k.Namespace, k.Name, k.Position.File)},
	}
	c.In[u.cluster.Name] = d
	if k.Path == "" {
		return name, nil
	}
	return name, f.source(u.cluster.Name, name, k, d)
}

// namespaceOf is the namespace of most objects of a Kustomization.
func namespaceOf(k *flux.Kustomization) string {
	if ns, ok := k.Options["namespace"].(string); ok {
		return ns
	}
	count := map[string]int{}
	for _, o := range k.Objects {
		if ns := o.GetNamespace(); ns != "" {
			count[ns]++
		}
	}
	best := ""
	for _, ns := range sortedKeys(count) {
		if best == "" || count[ns] > count[best] {
			best = ns
		}
	}
	return cmp.Or(best, "default")
}

// typeOfObjects is what objects are; "" where there are none.
func typeOfObjects(objects []manifest.Object) model.Type {
	kinds := map[string]bool{}
	for _, o := range objects {
		kinds[o.GetKind()] = true
	}
	only := func(allowed ...string) bool {
		for kind := range kinds {
			if !slices.Contains(allowed, kind) {
				return false
			}
		}
		return len(kinds) > 0
	}
	switch {
	case len(kinds) == 0:
		return ""
	case only("Namespace"):
		return model.Namespaces
	case only("Namespace", "CustomResourceDefinition"):
		return model.CRDs
	case kinds["Deployment"] || kinds["StatefulSet"] || kinds["DaemonSet"]:
		return model.Runtime
	case kinds["Job"]:
		return model.Bootstrap
	case only("Secret", "ExternalSecret", "SealedSecret", "SecretStore", "ClusterSecretStore", "Issuer", "ClusterIssuer", "Certificate"):
		return model.Secrets
	default:
		return model.Config
	}
}

// source gives the component of a Kustomization its source: the folder itself, a
// kustomization over it without what is Flux's own, or the objects.
func (f *fluxes) source(env, name string, k *flux.Kustomization, d *Descriptor) error {
	named := k.Options["namePrefix"] != nil || k.Options["nameSuffix"] != nil || k.Options["namespace"] != nil
	switch {
	case !k.Filled && len(k.Removed) == 0 && len(k.Options) == 0:
		if _, err := f.sources.place(k.Path, d, k.Position); err == nil {
			return nil
		}
	case !k.Filled && f.sources.inside && (!named || len(k.Removed) == 0):
		return f.overlay(env, name, k, d)
	}
	return f.objects(env, name, k, d)
}

// overlay writes a kustomization over the folder of another.
func (f *fluxes) overlay(env, name string, k *flux.Kustomization, d *Descriptor) error {
	d.Kustomize = path.Join("sources/kustomize", env, name)
	up := strings.Repeat("../", strings.Count(d.Kustomize, "/")+1)
	to, err := f.sources.reference(k.Path)
	if err != nil {
		return err
	}
	content := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []any{up + to}}
	maps.Copy(content, k.Options)
	if list, ok := content["components"].([]any); ok {
		moved := make([]any, len(list))
		for i, item := range list {
			moved[i] = up + path.Join(to, fmt.Sprint(item))
		}
		content["components"] = moved
	}
	patches, _ := content["patches"].([]any)
	patches = slices.Clone(patches)
	for _, id := range k.Removed {
		metadata := map[string]any{"name": id.Name}
		if id.Namespace != "" {
			metadata["namespace"] = id.Namespace
		}
		text, err := yamlText(map[string]any{"$patch": "delete", "apiVersion": id.APIVersion, "kind": id.Kind, "metadata": metadata})
		if err != nil {
			return fmt.Errorf("write the kustomization of %s: %w", name, err)
		}
		patches = append(patches, map[string]any{"patch": string(text)})
	}
	if len(patches) > 0 {
		content["patches"] = patches
	}
	text, err := yamlText(content)
	if err != nil {
		return fmt.Errorf("write the kustomization of %s: %w", name, err)
	}
	f.p.Files = append(f.p.Files, File{Path: path.Join(d.Kustomize, "kustomization.yaml"), Content: text})
	return nil
}

// objects writes the objects of a Kustomization as plain YAML.
func (f *fluxes) objects(env, name string, k *flux.Kustomization, d *Descriptor) error {
	content, err := stream(name, k.Objects)
	if err != nil {
		return err
	}
	d.Manifests = path.Join("sources/manifests", env, name+".yaml")
	f.p.Files = append(f.p.Files, File{Path: d.Manifests, Content: content})
	f.p.note(Note{Level: Changed, What: "manifests", Environment: env, Component: name, Position: k.Position, Message: fmt.Sprintf("what %s gives is written as plain manifests, with its variables filled in as far as they are known", k.Path)})
	return nil
}
