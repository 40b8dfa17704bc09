package argocd

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/clusters"
)

// ofEach matches a path that has a folder for each cluster in each folder of another
// generator: "{{path}}/{{name}}".
var ofEach = lazyregexp.New(`^\{\{\s*\.?path(?:\.path)?\s*\}\}/\{\{\s*\.?name(?:Normalized)?\s*\}\}$`)

// minCalled is in how many folders one name has to stand, for the names to be those of
// clusters.
const minCalled = 2

// byFolder are the clusters that the folders of sets are called after, where nothing tells
// of clusters and no folder is called as Argo CD's own is: that one has another name then.
func (r *Repository) byFolder(place *placing) []foundCluster {
	names := map[string]bool{}
	var first document
	for _, set := range r.sets {
		all, own := r.called(set, place)
		if own {
			return nil
		}
		for _, name := range all {
			if names[name] = true; first.value == nil {
				first = set
			}
		}
	}
	var found []foundCluster
	for name := range names {
		c := clusters.Cluster{Cluster: appset.Cluster{Name: name, Server: "https://" + name, Labels: map[string]string{}, Annotations: map[string]string{}, Position: first.at("spec", "generators")}}
		found = append(found, foundCluster{Cluster: c, why: []string{fmt.Sprintf("the ApplicationSet %s takes a folder of each cluster, and several are called %s", first.name(), name)}, denied: map[string]bool{}})
	}
	slices.SortFunc(found, func(a, b foundCluster) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// called are the names of what the folders of a set have below them. own is set
// where one is that of the cluster that Argo CD runs in.
func (r *Repository) called(set document, place *placing) (names []string, own bool) {
	generators, template := set.value.At("spec", "generators"), set.value.At("spec", "template")
	if generators == nil || template == nil || len(clusterGenerators(generators)) == 0 {
		return nil, false
	}
	takes := slices.ContainsFunc(document{value: template, written: template}.sources(), func(s source) bool {
		return ofEach.MatchString(s.path()) && (hasPlaceholder(s.repoURL()) || place.May(s.repoURL()))
	})
	if !takes {
		return nil, false
	}
	count, bases := map[string]int{}, map[string]map[string]bool{}
	several := false
	for _, g := range generators.Items {
		list := g.At("matrix", "generators")
		if list == nil {
			continue
		}
		for _, child := range list.Items {
			directories := child.At("git", "directories")
			if directories == nil || !place.May(child.TextAt("git", "repoURL")) {
				continue
			}
			for _, folder := range place.Folders() {
				parent, name := path.Split(folder)
				parent = strings.TrimSuffix(parent, "/")
				in := false
				for _, item := range directories.Items {
					if matches, err := path.Match(item.TextAt("path"), parent); err == nil && matches {
						in = !boolAt(item, "exclude")
					}
				}
				if !in || !place.Fits(folder, clusters.Source{}) {
					continue
				}
				if bases[parent] == nil {
					bases[parent] = r.basesBelow(parent)
				}
				if !bases[parent][name] {
					count[name]++
				}
			}
		}
	}
	for name, n := range count {
		own = own || name == inCluster
		several = several || n >= minCalled
		names = append(names, name)
	}
	if !several {
		return nil, own
	}
	slices.Sort(names)
	return names, own
}

// sibling matches a folder beside the one of a kustomization.
var sibling = lazyregexp.New(`\.\./([\w.-]+)(?:[/"'\s,\]]|$)`)

// basesBelow are the folders below one that kustomizations beside them are built on, and that
// are built on none themselves.
func (r *Repository) basesBelow(parent string) map[string]bool {
	used, builds := map[string]bool{}, map[string]bool{}
	for _, file := range r.under(parent) {
		rel, _ := below(parent, file)
		dir, base := path.Split(rel)
		if strings.Count(rel, "/") != 1 || base != "kustomization.yaml" && base != "kustomization.yml" {
			continue
		}
		data, err := r.tree.Read(file)
		if err != nil {
			continue
		}
		for _, m := range sibling.FindAllStringSubmatch(string(data), -1) {
			used[m[1]], builds[strings.TrimSuffix(dir, "/")] = true, true
		}
	}
	for name := range builds {
		delete(used, name)
	}
	return used
}
