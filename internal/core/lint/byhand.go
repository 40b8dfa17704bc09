package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// maybeThere makes a finding on a CRD, a Namespace or a webhook milder where it may be there
// before everything else: the repository tells people to apply it by hand, or it is a CRD
// of the network, without which no pod runs, of Argo CD neither.
func (in Input) maybeThere(f *finding.Finding) {
	hook := f.Resource.Group == "admissionregistration.k8s.io"
	if !isCRD(f.Resource) && !hook && f.Resource != (finding.Resource{Kind: "Namespace", Name: f.Resource.Name}) {
		return
	}
	if isCRD(f.Resource) && ofNetwork(f.Resource.Name) {
		f.Severity = finding.Info
		f.Message += "; nothing runs without a network, so that it may be there before"
		return
	}
	if in.ByHand == nil {
		return
	}
	told, ok := in.ByHand(f.Resource)
	if !ok {
		return
	}
	f.Severity = finding.Info
	made := "made"
	if isCRD(f.Resource) || hook {
		made = "applied"
	}
	f.Message += fmt.Sprintf("; %s has it %s by hand, so that it may be there before", told.File, made)
	f.Evidence = append(f.Evidence, told)
}

// maybeCreated makes a finding on values of variables of Flux milder where people are told to create
// the Secret or ConfigMap by hand, or to apply the file that has it.
func (in Input) maybeCreated(f *finding.Finding, file string) {
	if in.Flux != nil && in.ByHand != nil && (f.Resource.Kind == "Secret" || f.Resource.Kind == "ConfigMap") {
		if told, ok := in.ByHand(FileByHand(file)); ok {
			f.Severity = finding.Info
			f.Message += fmt.Sprintf("; %s has %s applied by hand, so that it may be there before", told.File, file)
			f.Evidence = append(f.Evidence, told)
			return
		}
	}
	if in.Flux == nil || in.Created == nil || f.Resource.Kind != "Secret" && f.Resource.Kind != "ConfigMap" {
		return
	}
	if told, ok := in.Created(f.Resource); ok && strings.HasSuffix(told.Text, " is created by hand") {
		f.Severity = finding.Info
		f.Message += fmt.Sprintf("; %s has it created by hand, so that it may be there before", told.File)
		f.Evidence = append(f.Evidence, told)
	}
}

// FileByHand stands for a file of the repository among what is applied by hand: no object
// has a name with a space.
func FileByHand(file string) finding.Resource { return finding.Resource{Name: "file " + file} }

// NamedByHand stands for a file of the repository that a command names by itself, not as one of a folder.
func NamedByHand(file string) finding.Resource { return finding.Resource{Name: "named file " + file} }

// maybeNamed makes a finding milder where a command names the file that has what is needed: who sets
// up the cluster applies that before all others.
func (in Input) maybeNamed(f *finding.Finding, file string) {
	in.maybeFile(f, file, NamedByHand(file))
}

func (in Input) maybeFile(f *finding.Finding, file string, asked finding.Resource) {
	if in.ByHand == nil || f.Severity == finding.Info || file == "" {
		return
	}
	if told, ok := in.ByHand(asked); ok {
		f.Severity = finding.Info
		f.Message += fmt.Sprintf("; %s has %s applied by hand, so that it may be there before", told.File, file)
		f.Evidence = append(f.Evidence, told)
	}
}

// FolderByHand stands for a chart of the repository that a command installs.
func FolderByHand(dir string) finding.Resource { return finding.Resource{Name: "folder " + dir} }

// maybeInstalled makes a finding milder where a script installs the chart of the component that has
// what is needed: who sets up the cluster does that before Argo CD applies it again.
func (in Input) maybeInstalled(f *finding.Finding, provider *model.Component) {
	if in.ByHand == nil || f.Severity == finding.Info {
		return
	}
	for _, s := range provider.Sources {
		if s.Kind != model.Chart || s.Path == "" {
			continue
		}
		if told, ok := in.ByHand(FolderByHand(s.Path)); ok {
			f.Severity = finding.Info
			f.Message += fmt.Sprintf("; %s installs %s by hand, so that it may be there before", told.File, s.Path)
			f.Evidence = append(f.Evidence, told)
			return
		}
	}
}

// ChartByHand stands for a release of a chart of a repository among what is installed by hand,
// in a namespace: empty where the command names none.
func ChartByHand(repository, chart, release, namespace string) finding.Resource {
	_, host, found := strings.Cut(strings.TrimSuffix(repository, "/"), "://")
	if !found {
		host = repository
	}
	return finding.Resource{Name: "chart " + host + "/" + chart + " as " + namespace + "/" + release}
}

// maybeRuns makes a finding on a controller or a Service milder where people are told to
// install the chart of its component by hand. CRDs that are applied alone run nothing.
func (o *order) maybeRuns(in Input, provider *model.Component, f *finding.Finding) {
	if in.ByHand == nil {
		return
	}
	var asked []finding.Resource
	for _, s := range provider.Sources {
		if s.Kind == model.Chart && s.Name != "" {
			release := cmp.Or(s.ReleaseName, provider.Name)
			asked = append(asked, ChartByHand(s.RepoURL, s.Name, release, provider.Namespace), ChartByHand(s.RepoURL, s.Name, release, ""))
		}
	}
	for _, crd := range o.brought()[provider] {
		asked = append(asked, crd.Required)
	}
	for _, resource := range asked {
		if told, ok := in.ByHand(resource); ok && strings.HasSuffix(told.Text, " is installed by hand") {
			f.Severity = finding.Info
			f.Message += fmt.Sprintf("; %s has the chart of %s installed by hand, so that it may be there before", told.File, provider.Name)
			f.Evidence = append(f.Evidence, told)
			return
		}
	}
}

// ofNetwork reports whether a CRD comes with what gives pods their network.
func ofNetwork(crd string) bool {
	name, group, _ := strings.Cut(crd, ".")
	// The operator of Tetragon brings these, though their group is that of Cilium.
	if strings.HasPrefix(name, "tracingpolicies") || strings.HasPrefix(name, "podinfo") {
		return false
	}
	return slices.Contains([]string{"cilium.io", "crd.projectcalico.org", "operator.tigera.io", "kubeovn.io"}, group)
}
