package argocd

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/clusters"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/terraform"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// foundClusters are the clusters that the repository tells of, where the ladder file
// names none.
type foundClusters struct {
	// secrets are those of cluster Secrets in manifests.
	secrets []clusters.Cluster
	all     []foundCluster
	// addresses are those that are taken to be this repository's.
	addresses []string
	// terraformed are those of folders of Terraform, as they are written.
	terraformed []clusters.Cluster
	// holding are the folders of Terraform with clusters below which sets lie.
	holding map[string]bool
}

// foundCluster is a cluster with what is taken to be so of it.
type foundCluster struct {
	clusters.Cluster
	why []string
	// switched are the labels that it is taken to have since a set asks for them, and
	// denied those that it has not since another one does.
	switched []string
	denied   map[string]bool
}

// maxTerraform bounds the files of one folder of Terraform, in bytes.
const maxTerraform = 2 << 20

// findClusters finds the clusters of the repository, and fills in what is not known of
// them.
func (r *Repository) findClusters(ctx context.Context) error {
	if len(r.opts.Data.Clusters) > 0 {
		return nil
	}
	found := slices.Clone(r.clusters.secrets)
	terraformed, err := r.terraformClusters(ctx)
	if err != nil {
		return err
	}
	found = append(found, terraformed...)
	r.clusters.terraformed, r.clusters.holding = terraformed, map[string]bool{}
	for _, c := range terraformed {
		if slices.ContainsFunc(r.sets, func(set document) bool { _, ok := below(c.Folder, set.position().File); return ok }) {
			r.clusters.holding[c.Folder] = true
		}
	}
	place := &placing{repository: r}
	known := clusters.Known{Goes: r.namedClusters()}
	add := func(c clusters.Cluster, sets []clusters.Set) {
		solutions := clusters.Solve(c, sets, place, known)
		called := func(one clusters.Solution) bool { return c.With(one.Values).Settled().Name == calledBy(c.Labels) }
		if c.Origin == "" && slices.ContainsFunc(solutions, called) {
			solutions = slices.DeleteFunc(solutions, func(one clusters.Solution) bool { return !called(one) })
		}
		for _, one := range solutions {
			if c.Origin == "" && len(one.Values) == 0 {
				continue
			}
			made := foundCluster{Cluster: c.With(one.Values).Settled().Called(), why: one.Why, denied: map[string]bool{}}
			known.Note(made.Cluster)
			r.clusters.all = append(r.clusters.all, made)
			for _, address := range one.Own {
				url := normaliseURL(address)
				r.own[url], r.tallied[url] = true, true
				if !slices.Contains(r.clusters.addresses, address) {
					r.clusters.addresses = append(r.clusters.addresses, address)
				}
			}
		}
	}
	for _, c := range found {
		add(c, r.setsOf(c))
	}
	for _, s := range r.unmet() {
		add(s.cluster, s.sets)
	}
	if len(r.clusters.all) == 0 {
		r.clusters.all = r.byFolder(place)
	}
	return ctx.Err()
}

// calledBy is the name that labels say a cluster has; empty where none says one.
func calledBy(labels map[string]string) string {
	for _, key := range []string{"name", "cluster", "cluster-name", "cluster_name", "clusterName", "argocd.argoproj.io/cluster-name"} {
		if labels[key] != "" {
			return labels[key]
		}
	}
	return ""
}

// namedClusters are the names of clusters that Applications go to.
func (r *Repository) namedClusters() map[string]bool {
	names := map[string]bool{}
	for _, d := range slices.Concat(r.applications, r.sets) {
		for _, spec := range []*yamldoc.Value{d.value.At("spec"), d.value.At("spec", "template", "spec")} {
			if name := spec.TextAt("destination", "name"); name != "" && name != inCluster && !hasPlaceholder(name) {
				names[name] = true
			}
		}
	}
	return names
}

// terraformFolders are the files of Terraform by their folders, and which folders mention
// what clusters are made of.
func (r *Repository) terraformFolders() (folders map[string][]terraform.File, mentions map[string]bool) {
	folders, mentions = map[string][]terraform.File{}, map[string]bool{}
	sizes := map[string]int{}
	for _, file := range r.all {
		data, ok := r.terraform(file)
		if !ok {
			continue
		}
		dir := path.Dir(file)
		if sizes[dir] += len(data); sizes[dir] > maxTerraform {
			continue
		}
		folders[dir] = append(folders[dir], terraform.File{Path: file, Content: data})
		mentions[dir] = mentions[dir] || bytes.Contains(data, []byte("secret-type")) ||
			bytes.Contains(data, []byte("module")) && bytes.Contains(data, []byte("addons")) && bytes.Contains(data, []byte("metadata"))
	}
	return folders, mentions
}

// terraformClusters are those that the folders of Terraform register.
func (r *Repository) terraformClusters(ctx context.Context) ([]clusters.Cluster, error) {
	folders, mentions := r.terraformFolders()
	var all []clusters.Cluster
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		if !mentions[dir] {
			continue
		}
		for _, run := range r.terraformRuns(ctx, dir, folders) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			found, err := evaluate.Terraform(ctx, terraform.Folder{Files: folders[dir], Variables: run})
			if err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				r.notRead(finding.Position{File: folders[dir][0].Path, Line: 1}, "", "the Terraform in %s is not evaluated: %v", dir, err)
				break
			}
			for _, c := range found {
				origin := "Terraform"
				if len(run) > 0 {
					origin = run[len(run)-1].Path
				}
				one := clusters.Cluster{Cluster: c.Cluster, Defaults: c.Defaults, Origin: origin, Folder: dir}
				if !slices.ContainsFunc(all, func(o clusters.Cluster) bool { return sameCluster(o, one) }) {
					all = append(all, one)
				}
			}
		}
	}
	return all, nil
}

// terraform reads a file that somebody applies with Terraform.
func (r *Repository) terraform(file string) ([]byte, bool) {
	if path.Ext(file) != ".tf" || repofs.IsUnused(file) || strings.Contains(file, ".terraform/") {
		return nil, false
	}
	data, err := r.tree.Read(file)
	return data, err == nil
}

// isTemplate reports whether a file that Terraform reads may be a manifest by its name:
// others are scripts and keys.
func isTemplate(file string) bool {
	return slices.Contains([]string{".tpl", ".tftpl", ".tmpl"}, path.Ext(file))
}

// noteTerraform notes what a file of Terraform reads.
func (r *Repository) noteTerraform(file string) {
	data, ok := r.terraform(file)
	if !ok || len(data) > maxTerraform {
		return
	}
	for _, named := range terraform.Named(terraform.File{Path: file, Content: data}) {
		if r.terraformed[named] == "" {
			r.terraformed[named] = path.Dir(file)
		}
	}
}

// sameCluster reports whether two runs make the same cluster.
func sameCluster(a, b clusters.Cluster) bool {
	a, b = a.Settled(), b.Settled()
	return a.Position == b.Position && a.Name == b.Name && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations)
}

// terraformRuns are the files of variables of each run of a folder.
func (r *Repository) terraformRuns(ctx context.Context, dir string, folders map[string][]terraform.File) [][]terraform.File {
	var variables []terraform.File
	for _, file := range r.under(dir) {
		if path.Ext(file) != ".tfvars" {
			continue
		}
		if data, err := r.tree.Read(file); err == nil && len(data) <= maxTerraform {
			variables = append(variables, terraform.File{Path: file, Content: data})
		}
	}
	return terraform.Runs(dir, variables, r.units(ctx), func(folder string) bool { return len(folders[folder]) > 0 })
}

// units are those of Terragrunt; it says nothing that cannot be read.
func (r *Repository) units(ctx context.Context) []terraform.Unit {
	if !r.unitsRead {
		r.unitsRead = true
		var files []terraform.File
		size := 0
		for _, file := range r.all {
			if !terraform.IsTerragrunt(file) || repofs.IsUnused(file) {
				continue
			}
			if data, err := r.tree.Read(file); err == nil && size+len(data) <= maxTerraform {
				size += len(data)
				files = append(files, terraform.File{Path: file, Content: data})
			}
		}
		if len(files) > 0 {
			r.terragrunt, _ = evaluate.Units(ctx, files)
		}
	}
	return r.terragrunt
}

// assumptions tells what is taken to be so of the clusters that Applications were
// generated for in an environment.
func (r *Repository) assumptions(e Environment, apps []document) []finding.Finding {
	used := map[int]bool{}
	for _, app := range apps {
		if app.generated != nil && app.generated.cluster > 0 && e.takes(app) {
			used[app.generated.cluster] = true
		}
	}
	var all []finding.Finding
	for _, n := range slices.Sorted(maps.Keys(used)) {
		c := r.clusters.all[n-1]
		for _, why := range c.assumptions() {
			f := newFinding(RuleAssumed, finding.Info, c.Position, "", "%s", why)
			f.Fix.Summary = "say in ladder.yaml which clusters there are: generators.clusters; ladder init writes down what is assumed"
			all = append(all, f)
		}
	}
	return all
}

// assumptions says what is taken to be so of a cluster, each by itself.
func (c foundCluster) assumptions() []string {
	var all []string
	tell := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	name := appset.Written(c.Name)
	switch {
	case c.Origin == "":
		tell("a cluster %s is taken to be there, which ApplicationSets select", name)
	case c.Assumed() != "":
		tell("the cluster %s is taken to be as %s says", name, c.Origin)
	}
	for _, why := range c.why {
		tell("of the cluster %s: %s", name, why)
	}
	if len(c.switched) > 0 {
		tell("the cluster %s is taken to have the labels %s, which ApplicationSets select", name, few(c.switched))
	}
	return all
}

// Assumed says why a cluster may be another one; empty for one that is written.
func (c foundCluster) Assumed() string {
	if strings.HasPrefix(c.Origin, "the ") && len(c.why)+len(c.switched) == 0 && len(c.Unknown()) == 0 {
		return ""
	}
	if c.Origin == "" {
		return "selected"
	}
	return c.Origin
}

// given are the clusters as the generators of a set see them.
func (r *Repository) given(set document) []appset.Cluster {
	all := make([]appset.Cluster, len(r.clusters.all))
	for i, c := range r.clusters.all {
		all[i] = c.Cluster.Cluster
		all[i].Assumed, all[i].Elsewhere = c.Assumed(), !r.sees(set, c.Folder)
	}
	return all
}

// beside reports whether a folder lies in that of another which is the only one there with
// sets, as spokes/ beside hub/ do.
func (r *Repository) beside(holding, folder string) bool {
	parent := path.Dir(holding)
	if _, ok := below(parent, folder); !ok {
		return false
	}
	for other := range r.clusters.holding {
		if _, ok := below(parent, other); ok && other != holding {
			return false
		}
	}
	return true
}

// named are the clusters by which destinations may name one.
func (r *Repository) named() []appset.Cluster {
	if len(r.clusters.all) > 0 {
		return r.given(document{})
	}
	return r.opts.Data.Clusters
}

// sees reports whether a set is of the installation of Argo CD that knows the clusters of
// a folder of Terraform. Where several such folders hold sets, each is an installation of
// its own: it knows its clusters, and those of the folders beside it that hold no sets. A
// set elsewhere is of the installation whose sets take its folder.
func (r *Repository) sees(set document, folder string) bool {
	if folder == "" || len(r.clusters.holding) < 2 || set.value == nil {
		return true
	}
	file := set.written.Position.File
	knows := func(holding string) bool {
		return folder == holding || !r.clusters.holding[folder] && r.beside(holding, folder)
	}
	for holding := range r.clusters.holding {
		if _, ok := below(holding, file); ok {
			return knows(holding)
		}
	}
	for holding := range r.clusters.holding {
		if knows(holding) && r.takes(holding, file) {
			return true
		}
	}
	return false
}

// takes reports whether a set in a folder of Terraform takes a folder around a file, with
// what the clusters of that folder fill in.
func (r *Repository) takes(holding, file string) bool {
	for _, set := range r.sets {
		if _, ok := below(holding, set.position().File); !ok {
			continue
		}
		for _, s := range (document{value: set.value.At("spec", "template"), written: set.written}).sources() {
			for _, c := range r.clusters.terraformed {
				if c.Folder != holding || s.path() == "" {
					continue
				}
				p := parameter.ReplaceAllStringFunc(s.path(), func(mark string) string {
					name, _ := strings.CutPrefix(parameter.FindStringSubmatch(mark)[1], "metadata.annotations.")
					return c.Annotations[name]
				})
				if _, ok := below(path.Clean(p), file); ok && !hasPlaceholder(p) && !isRootPath(p) {
					return true
				}
			}
		}
	}
	return false
}

// switchOn gives clusters the labels that a set selects and that none of them has: those
// clusters that may have them.
func (r *Repository) switchOn(set document) {
	if len(r.clusters.all) == 0 {
		return
	}
	for _, g := range clusterGenerators(set.value.At("spec", "generators")) {
		selector := appset.ParseSelector(g)
		if len(selector) == 0 || hasPlaceholder(fmt.Sprint(selector)) {
			continue
		}
		needs := make([][]clusters.Named, len(r.clusters.all))
		able := make([]bool, len(r.clusters.all))
		met := false
		for i, c := range r.clusters.all {
			if !r.sees(set, c.Folder) {
				continue
			}
			needs[i], able[i] = c.Meet(selector, c.denied)
			met = met || able[i] && len(needs[i]) == 0
		}
		for i := range r.clusters.all {
			c := &r.clusters.all[i]
			if !able[i] || met && len(needs[i]) > 0 {
				continue
			}
			c.Labels = maps.Clone(c.Labels)
			for _, n := range needs[i] {
				c.Labels[n.Key] = n.Value
				c.switched = append(c.switched, n.Key+"="+n.Value)
			}
			for _, q := range selector {
				if _, there := c.Labels[q.Key]; !there {
					c.denied[q.Key] = true
				}
			}
		}
	}
}

// clusterGenerators are those among generators that say for which clusters there is
// something: of a merge the first.
func clusterGenerators(generators *yamldoc.Value) []*yamldoc.Value {
	if generators == nil {
		return nil
	}
	var all []*yamldoc.Value
	for _, g := range generators.Items {
		if v := g.At("clusters"); v != nil {
			all = append(all, v)
		}
		all = append(all, clusterGenerators(g.At("matrix", "generators"))...)
		if list := g.At("merge", "generators"); list != nil && len(list.Items) > 0 {
			all = append(all, clusterGenerators(&yamldoc.Value{Kind: yamldoc.List, Items: list.Items[:1]})...)
		}
	}
	return all
}
