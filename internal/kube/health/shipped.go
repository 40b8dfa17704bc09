package health

import (
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/v3/resource_customizations"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Shipped knows which kinds Argo CD assesses without being told to. A sync waits
// for the health of these; objects of any other kind count as Healthy at once.
type Shipped struct{ scripts *scripts }

// NewShipped reads the list of scripts that Argo CD ships.
func NewShipped() *Shipped {
	s := &scripts{exact: map[string]*shipped{}}
	s.read(resource_customizations.Embedded, ".")
	slices.SortFunc(s.wildcards, func(a, b wildcard) int { return strings.Compare(a.pattern, b.pattern) })
	return &Shipped{s}
}

// Script reports whether Argo CD ships a health script for a kind.
func (s *Shipped) Script(gk schema.GroupKind) bool { return s.scripts.lookup(gk) != nil }

// Code reports whether Argo CD assesses a kind in its own code; workload says
// that its objects run pods. An Application is not among them: its health needs a
// script in argocd-cm. Source: gitops-engine, pkg/health, GetHealthCheckFunc.
func (*Shipped) Code(gk schema.GroupKind) (assessed, workload bool) {
	switch gk.Group + "/" + gk.Kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/ReplicaSet", "apps/DaemonSet", "/Pod", "batch/Job":
		return true, true
	case "extensions/Ingress", "networking.k8s.io/Ingress", "/Service", "/PersistentVolumeClaim", "argoproj.io/Workflow",
		"apiregistration.k8s.io/APIService", "autoscaling/HorizontalPodAutoscaler":
		return true, false
	}
	return false, false
}
