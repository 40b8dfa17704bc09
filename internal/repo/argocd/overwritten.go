package argocd

import (
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// overwritten tells of the sync waves that are written in Applications and sets, and that
// common annotations of the parent's source or of a kustomization replace by one for all.
// Source: kustomize, commonAnnotations.
func (r *Repository) overwritten(parent document, s source, dir string, made []document) {
	at, wave := r.commonWave(s, dir)
	if wave == "" {
		return
	}
	var lost []finding.Evidence
	var names []string
	for _, d := range made {
		written := d.written.TextAt("metadata", "annotations", waveAnnotation)
		if !d.applies() || written == "" || written == wave || d.value.TextAt("metadata", "annotations", waveAnnotation) != wave {
			continue
		}
		names = append(names, d.name()+" "+written)
		place := document{written: d.written}.at("metadata", "annotations", waveAnnotation)
		lost = append(lost, finding.Evidence{File: place.File, Line: place.Line, Text: d.name() + " has the sync wave " + written + ", and gets " + wave})
	}
	if len(lost) == 0 {
		return
	}
	f := newFinding(RuleMisplaced, finding.Warning, at, parent.name(),
		"common annotations give all that %s applies the sync wave %s, and overwrite the %s written there (%s)", parent.name(), wave, several(len(lost), "sync wave", "sync waves"), few(names))
	f.Evidence = lost[:min(len(lost), maxLost)]
	f.Fix.Summary = "take the sync wave out of commonAnnotations"
	if wave == "0" {
		f.Fix.Summary += "; what has none is in wave 0 anyway"
	}
	r.findings = append(r.findings, f)
}

// maxLost bounds the places that a finding of overwritten waves shows.
const maxLost = 10

// commonWave is the sync wave that common annotations of a source, or else of the
// kustomization of its folder, give to all; "" for none. One that this includes has its own
// for a part.
func (r *Repository) commonWave(s source, dir string) (finding.Position, string) {
	common := []string{"commonAnnotations", waveAnnotation}
	if wave := s.value.TextAt(append([]string{"kustomize"}, common...)...); wave != "" {
		return s.at(append([]string{"kustomize"}, common...)...), wave
	}
	file := kustomizationFile(r.tree, dir)
	data, err := r.tree.Read(file)
	if err != nil {
		return finding.Position{}, ""
	}
	v, err := yamldoc.ParseKustomization(file, data)
	if err != nil {
		return finding.Position{}, "" // kustomize says so
	}
	e, _ := v.At(common[:1]...).Get(waveAnnotation)
	if e.Value == nil {
		return finding.Position{}, ""
	}
	return e.Position, e.Value.Text
}
