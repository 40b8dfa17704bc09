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
	names, known := l.encryptedIn[o.Origin.File]
	if !known {
		names = l.encryptedSecrets(o.Origin.File)
		if l.encryptedIn == nil {
			l.encryptedIn = map[string]map[string]bool{}
		}
		l.encryptedIn[o.Origin.File] = names
	}
	return names[o.GetName()]
}

// encryptedSecrets are the names of the Secrets in a file that SOPS has encrypted.
func (l *loader) encryptedSecrets(file string) map[string]bool {
	data, err := l.tree.Read(file)
	if err != nil || !bytes.Contains(data, []byte("ENC[")) {
		return nil
	}
	documents, err := yamldoc.Parse(file, data)
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for _, d := range documents {
		if d.TextAt("kind") == "Secret" && d.At("sops", "mac") != nil {
			names[d.TextAt("metadata", "name")] = true
		}
	}
	return names
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
