package lint

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// namespaces are those of a platform, and who makes them.
type namespaces struct {
	components map[string]*model.Component
	// made are the Namespaces that components render; byOption are the components that have
	// each made by their sync option.
	made     map[string]bool
	byOption map[string][]string
	byHand   func(finding.Resource) (finding.Evidence, bool)
}

func newNamespaces(in Input) namespaces {
	n := namespaces{components: map[string]*model.Component{}, made: map[string]bool{}, byOption: map[string][]string{}, byHand: in.ByHand}
	for i := range in.Components {
		c := &in.Components[i]
		n.components[c.Name] = c
		if c.Enabled && c.HasSyncOption(optionCreateNamespace) {
			n.byOption[c.Namespace] = append(n.byOption[c.Namespace], c.Name)
		}
	}
	for i := range in.Objects {
		if r := in.Objects[i].Resource; r.Kind == "Namespace" && r.Group == "" {
			n.made[r.Name] = true
		}
	}
	return n
}

// isThere reports whether a namespace may be there before the sync of a component: the cluster
// has it, people make it, or something else of the platform does.
func (n namespaces) isThere(name, component string) bool {
	if name == "default" || strings.HasPrefix(name, "kube-") || n.made[name] {
		return true
	}
	if slices.ContainsFunc(n.byOption[name], func(other string) bool {
		return other != component && n.components[other].Project != n.components[component].Project
	}) {
		return true
	}
	if n.byHand == nil {
		return false
	}
	_, ok := n.byHand(finding.Resource{Kind: "Namespace", Name: name})
	return ok
}

// optionCreateNamespace has Argo CD make the namespace of the destination.
const optionCreateNamespace = "CreateNamespace=true"

// created judges the Namespace that CreateNamespace=true has Argo CD make. One that is there is
// no part of the sync, unless the Application says of its metadata. Source: gitops-engine,
// pkg/sync, autoCreateNamespace and permissionValidator; argo-cd, controller, syncNamespace.
func (j *judge) created(all namespaces) {
	c := all.components[j.app.Component]
	if c == nil || !c.HasSyncOption(optionCreateNamespace) || c.Namespace == "" || templated(c.Namespace) || c.Namespace == j.app.Namespace {
		return
	}
	managed := len(c.NamespaceLabels)+len(c.NamespaceAnnotations) > 0
	if j.allowsKind(finding.Resource{Kind: "Namespace", Name: c.Namespace}) || !managed && all.isThere(c.Namespace, c.Name) {
		return
	}
	j.report(refusal{position: c.At("syncOptions"), thing: "the kind Namespace (cluster-wide), which CreateNamespace=true makes",
		fix: "allow the kind in the project, or make the namespace elsewhere and drop CreateNamespace=true"})
}
