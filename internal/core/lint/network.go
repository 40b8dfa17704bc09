package lint

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// networkCharts give pods their network, networkPods are the DaemonSets of them. Source: the
// charts of Cilium, Calico, Kube-OVN, Antrea and Flannel.
var (
	networkCharts = []string{"cilium", "tigera-operator", "calico", "kube-ovn", "antrea", "flannel"}
	networkPods   = []string{"cilium", "calico-node", "kube-ovn-cni", "antrea-agent", "kube-flannel-ds"}
)

// findNetworks finds the components that give pods their network: no pod of Argo CD runs without.
func (o *order) findNetworks(in Input) map[*model.Component]bool {
	all := map[*model.Component]bool{}
	named := map[string]bool{}
	for i := range in.Objects {
		object := &in.Objects[i]
		if object.Resource.Kind == "DaemonSet" && slices.Contains(networkPods, object.Resource.Name) {
			named[object.Component] = true
		}
	}
	for _, c := range o.enabled {
		if named[c.Name] || slices.ContainsFunc(c.Sources, func(s model.Source) bool { return slices.Contains(networkCharts, s.Name) }) {
			all[c] = true
		}
	}
	return all
}

// maybeNetwork makes a finding on a class milder that comes with what gives pods their network:
// that may be there before everything else.
func (o *order) maybeNetwork(provider *model.Component, f *finding.Finding) {
	if o.networks()[provider] {
		f.Severity = finding.Info
		f.Message += "; nothing runs without the network of " + provider.Name + ", so that it may be there before"
	}
}
