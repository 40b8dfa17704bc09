package flux

import (
	"bytes"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// isEncrypted reports whether an object is a Secret that SOPS has encrypted in its file. Where a source
// ignores files it may be one of them.
func (l *loader) isEncrypted(o manifest.Object) bool {
	if o.GetKind() != "Secret" || o.GroupVersionKind().Group != "" || l.ignores {
		return false
	}
	data, err := l.tree.Read(o.Origin.File)
	if err != nil || !bytes.Contains(data, []byte("ENC[")) {
		return false
	}
	documents, err := yamldoc.Parse(o.Origin.File, data)
	if err != nil {
		return false
	}
	for _, d := range documents {
		if d.TextAt("kind") == "Secret" && d.TextAt("metadata", "name") == o.GetName() && d.At("sops", "mac") != nil {
			return true
		}
	}
	return false
}

// undecrypted tells of Kustomizations that apply an encrypted Secret and do not decrypt: Flux refuses
// all that they apply. One that a patch may complete which was not read says nothing. Source:
// kustomize-controller, KustomizationReconciler.apply.
func (p *platform) undecrypted() {
	for i := range p.cluster.Kustomizations {
		k := &p.cluster.Kustomizations[i]
		if k.Encrypted.File == "" || k.Made || k.Parent >= 0 && p.cluster.Kustomizations[k.Parent].Unpatched || p.cluster.Suspended(i) {
			continue
		}
		f := p.finding(ruleInvalid, finding.Error, k.Position, p.setup.Units[i].Component,
			"Kustomization %s applies a Secret that SOPS has encrypted, and has no spec.decryption: Flux refuses it, and applies nothing of %s", k.Name, k.Name)
		f.Evidence = []finding.Evidence{{Text: "the Secret is encrypted", File: k.Encrypted.File, Line: k.Encrypted.Line}}
		f.Fix.Summary = "add spec.decryption: {provider: sops} to the Kustomization, with the Secret of its key"
	}
}
