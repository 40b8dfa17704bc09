package finding

import (
	"path"
	"slices"
)

// Below is the position as seen from a folder that way leads from to the root of the
// platform: what people read opens from where they stand.
func (p Position) Below(way string) Position {
	if p.File != "" {
		p.File = path.Join(way, p.File)
	}
	return p
}

// Below is the finding with its positions as seen from another folder.
func (f Finding) Below(way string) Finding {
	f.Position = f.Position.Below(way)
	f.Evidence = EvidenceBelow(f.Evidence, way)
	f.Also = slices.Clone(f.Also)
	for i := range f.Also {
		f.Also[i] = f.Also[i].Below(way)
	}
	return f
}

// EvidenceBelow is evidence with its positions as seen from another folder.
func EvidenceBelow(all []Evidence, way string) []Evidence {
	out := make([]Evidence, len(all))
	for i, e := range all {
		e.File = Position{File: e.File}.Below(way).File
		out[i] = e
	}
	return out
}
