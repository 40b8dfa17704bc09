package clusters

import (
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// What makes a cluster of a Secret. Source: Argo CD, "Declarative Setup", clusters.
const (
	typeLabel   = "argocd.argoproj.io/secret-type"
	typeCluster = "cluster"
)

// Cluster is one with what is not known of it.
type Cluster struct {
	appset.Cluster
	// Defaults are what marks are unless somebody sets something else.
	Defaults map[string]string
	// Origin says where it is from: "Terraform", "the Secret x"; empty for one of
	// which only a selector tells.
	Origin string
	// Folder is the folder of Terraform that registers it; empty for others.
	Folder string
}

// Named are the labels of the cluster that were added since a selector asks for them.
type Named struct{ Key, Value string }

// Mentioned finds cluster Secrets before a file is parsed.
var Mentioned = lazyregexp.New(`argocd\.argoproj\.io/secret-type["']?\s*:\s*["']?cluster\b`)

// open matches what another tool fills in, or a person: in the last form, a host of capital
// letters.
var open = lazyregexp.New(`\{\{|\$\{[A-Za-z_]|<[A-Z][A-Z0-9_]+>|<path:|\$\(|^(?:https?://)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?::\d+)?$`)

// FromObject reads the cluster of a Secret, or of what makes one: an ExternalSecret or a
// SealedSecret. Of its data it reads the name and the address.
func FromObject(v *yamldoc.Value) (Cluster, bool) {
	kind, name := v.TextAt("kind"), v.TextAt("metadata", "name")
	made := v
	switch kind {
	case "Secret":
	case "ExternalSecret":
		made = v.At("spec", "target", "template")
	case "SealedSecret":
		made = v.At("spec", "template")
	default:
		return Cluster{}, false
	}
	if made == nil || made.TextAt("metadata", "labels", typeLabel) != typeCluster || name == "" {
		return Cluster{}, false
	}
	c := Cluster{Origin: "the " + kind + " " + name, Defaults: map[string]string{}}
	c.Position = v.Position
	c.Labels = texts(made.At("metadata", "labels"), name+".labels.")
	c.Annotations = texts(made.At("metadata", "annotations"), name+".annotations.")
	known := func(key, otherwise string) string {
		for _, section := range []string{"stringData", "data"} {
			// The data of a Secret is encoded; that of a template is not.
			if text := made.TextAt(section, key); text != "" && (section == "stringData" || kind == "ExternalSecret") && !open.MatchString(text) {
				return text
			}
		}
		return otherwise
	}
	c.Defaults[name+".name"] = name
	c.Name = known("name", appset.Mark(name+".name"))
	c.Server = known("server", appset.Mark(name+".server"))
	c.Project = known("project", "")
	return c, true
}

// texts reads labels or annotations; what another tool fills in is a mark.
func texts(v *yamldoc.Value, prefix string) map[string]string {
	all := map[string]string{}
	if v == nil {
		return all
	}
	for _, e := range v.Entries {
		switch {
		case e.Value.Kind != yamldoc.Scalar:
		case open.MatchString(e.Value.Text):
			all[e.Key] = appset.Mark(prefix + e.Key)
		default:
			all[e.Key] = e.Value.Text
		}
	}
	return all
}

// With is the cluster with values for marks.
func (c Cluster) With(values map[string]string) Cluster {
	fill := func(text string) string {
		return appset.Fill(text, func(name string) (string, bool) { v, ok := values[name]; return v, ok })
	}
	filled := func(all map[string]string) map[string]string {
		out := make(map[string]string, len(all))
		for k, v := range all {
			out[k] = fill(v)
		}
		return out
	}
	c.Name, c.Server = fill(c.Name), fill(c.Server)
	c.Labels, c.Annotations = filled(c.Labels), filled(c.Annotations)
	// What a cluster may have beside what is known is called as it is in a template.
	for name, v := range values {
		for prefix, all := range map[string]map[string]string{"metadata.labels.": c.Labels, "metadata.annotations.": c.Annotations} {
			if key, ok := strings.CutPrefix(name, prefix); ok && all[key] == "" {
				all[key] = v
			}
		}
	}
	return c
}

// Settled is the cluster with the defaults of what is left.
func (c Cluster) Settled() Cluster { return c.With(c.Defaults) }

// The cluster that Argo CD runs in.
const (
	inClusterName   = "in-cluster"
	inClusterServer = "https://kubernetes.default.svc"
)

// Called is the cluster with a name and an address, where none is known: what a label
// calls it, and what it is called.
func (c Cluster) Called() Cluster {
	if names := appset.Marks(c.Name); len(names) == 1 {
		for _, key := range []string{"cluster_name", "clusterName", "environment", "env"} {
			if v := c.Labels[key]; v != "" && !appset.IsMarked(v) {
				c = c.With(map[string]string{names[0]: v})
				break
			}
		}
	}
	switch {
	case !appset.IsMarked(c.Server) || appset.IsMarked(c.Name):
	case c.Name == inClusterName:
		c.Server = inClusterServer
	default:
		c.Server = "https://" + c.Name
	}
	return c
}

// Known are the clusters that are known already.
type Known struct {
	// Goes are the names of those that Applications go to, Taken those that clusters
	// have.
	Goes, Taken map[string]bool
	// Labels are those that all of them have, with the same value.
	Labels map[string]string
}

// Note adds a cluster.
func (k *Known) Note(c Cluster) {
	if k.Taken == nil {
		k.Taken, k.Labels = map[string]bool{}, maps.Clone(c.Labels)
	}
	k.Taken[c.Name] = true
	maps.DeleteFunc(k.Labels, func(key, v string) bool { return c.Labels[key] != v })
}

// Unknown lists the marks of the cluster, sorted.
func (c Cluster) Unknown() []string {
	all := append(appset.Marks(c.Name), appset.Marks(c.Server)...)
	for _, texts := range []map[string]string{c.Labels, c.Annotations} {
		for _, v := range texts {
			all = append(all, appset.Marks(v)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Meet finds what labels the cluster would need for a selector; ok is false where it can
// not have them. No label that is known changes. denied are labels that other selectors
// need not to be there.
func (c Cluster) Meet(s appset.Selector, denied map[string]bool) (needs []Named, ok bool) {
	labels := maps.Clone(c.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[typeLabel] = typeCluster
	for _, r := range s {
		value, there := labels[r.Key]
		switch {
		case there && !appset.IsMarked(value):
			if !r.Matches(labels) {
				return nil, false
			}
		case r.Operator == "NotIn" || r.Operator == "DoesNotExist":
			if there {
				return nil, false
			}
		case denied[r.Key]:
			return nil, false
		case r.Operator == "Exists":
			if !there {
				needs = append(needs, Named{r.Key, "true"})
				labels[r.Key] = "true"
			}
		case r.Operator == "In":
			wanted := r.Values[0]
			if slices.Contains(r.Values, "true") {
				wanted = "true"
			}
			// A Secret, or Terraform, that lists labels may be given more switches; what
			// it is otherwise it says.
			if !there && !c.OpenLabels && wanted != "true" {
				return nil, false
			}
			needs = append(needs, Named{r.Key, wanted})
			labels[r.Key] = wanted
		default:
			return nil, false
		}
	}
	return needs, true
}

// Selected is a cluster of which only a selector tells; ok is false where no labels meet
// it.
func Selected(s appset.Selector, at finding.Position) (c Cluster, ok bool) {
	c.Labels, c.Annotations = map[string]string{}, map[string]string{}
	c.OpenLabels, c.OpenAnnotations = true, true
	c.Name, c.Server, c.Position = appset.Mark("name"), appset.Mark("server"), at
	needs, ok := c.Meet(s, nil)
	for _, n := range needs {
		c.Labels[n.Key] = n.Value
	}
	return c, ok
}
