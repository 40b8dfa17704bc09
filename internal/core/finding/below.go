package finding

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Below is the position as seen from a folder that way leads from to the root of the
// platform: what people read opens from where they stand.
func (p Position) Below(way string) Position {
	if p.File != "" {
		p.File = path.Join(way, p.File)
	}
	return p
}

// Below is the finding with its positions as seen from another folder, those of its
// evidence that the message names among them.
func (f Finding) Below(way string) Finding {
	f.Position = f.Position.Below(way)
	f.Message = f.below(f.Message, way)
	f.Evidence = EvidenceBelow(f.Evidence, way)
	f.Also = slices.Clone(f.Also)
	for i := range f.Also {
		f.Also[i] = f.Also[i].Below(way)
	}
	return f
}

// below replaces the positions of the evidence in a text, where they are all of a word:
// "a.yaml:1" is no part of "b/a.yaml:1", nor of "a.yaml:12".
func (f Finding) below(text, way string) string {
	moved := map[string]string{}
	for _, e := range f.Evidence {
		if at := (Position{File: e.File, Line: e.Line}); e.File != "" && e.Line > 0 {
			moved[at.String()] = at.Below(way).String()
		}
	}
	if len(moved) == 0 {
		return text
	}
	var b strings.Builder
	for text != "" {
		end := strings.IndexAny(text, " (),;")
		word := text
		if end >= 0 {
			word = text[:end]
		}
		b.WriteString(cmp.Or(moved[word], word))
		if text = text[len(word):]; text != "" {
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String()
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
