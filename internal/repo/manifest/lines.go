package manifest

import (
	"bytes"
	"path"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Lines finds the lines of fields in the files that objects come from. Files are
// read and parsed when a line of theirs is first asked for. It is safe for
// concurrent use.
type Lines struct {
	read  func(file string) ([]byte, error)
	mu    sync.Mutex
	files map[string]*lineFile
}

type lineFile struct {
	mu      sync.Mutex
	read    bool
	data    []byte
	plain   bool // YAML, not a template
	parsed  bool
	locator *Locator
	text    [][]byte
}

// NewLines reads files by read, whose paths are those of positions. Where it
// fails, fields have the line of their object.
func NewLines(read func(file string) ([]byte, error)) *Lines {
	return &Lines{read: read, files: map[string]*lineFile{}}
}

// Field returns the position of a field of the object, or of the part of an
// object, at a position: the field
// itself, else the nearest part around it that is written there, else the
// object. In a template of Helm's that is the line that writes the field, as far
// as only one line can.
func (l *Lines) Field(at finding.Position, field string) finding.Position {
	if field == "" || at.Line <= 0 || at.File == "" {
		return at
	}
	l.mu.Lock()
	file, ok := l.files[at.File]
	if !ok {
		file = &lineFile{}
		l.files[at.File] = file
	}
	l.mu.Unlock()
	file.mu.Lock()
	defer file.mu.Unlock()
	if !file.read {
		file.read = true
		if data, err := l.read(at.File); err == nil {
			file.data = data
			// A template's text is no YAML, not even where it parses as such. Values are,
			// whatever they hold for others to fill in.
			template := strings.Contains("/"+at.File, "/templates/") && bytes.Contains(data, []byte("{{"))
			file.plain = !template && isYAML(at.File)
		}
	}
	if line := file.line(at.Line, field); line > 0 {
		at.Line = line
	}
	return at
}

// Evidence returns evidence with the lines of its fields. Lines that are those of
// a field already must not be given again.
func (l *Lines) Evidence(all []finding.Evidence) []finding.Evidence {
	out := make([]finding.Evidence, len(all))
	for i, e := range all {
		out[i] = e
		out[i].Line = l.Field(finding.Position{File: e.File, Line: e.Line}, e.Field).Line
	}
	return out
}

func isYAML(file string) bool {
	switch path.Ext(file) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func (f *lineFile) line(document int, field string) int {
	if len(f.data) == 0 || len(f.data) > MaxDocument {
		return 0
	}
	if f.plain {
		if !f.parsed {
			f.parsed = true
			if CheckAliases(f.data) == nil {
				f.locator = NewLocator(f.data)
			}
		}
		if f.locator == nil {
			return 0
		}
		if line := f.locator.Line(document, field); line > 0 {
			return line
		}
		// The position is inside a document: values in an Application.
	}
	if f.text == nil {
		f.text = bytes.Split(f.data, []byte("\n"))
	}
	return searchTemplate(f.text, document, splitPath(field))
}

// searchTemplate follows the keys of a path through the lines of a template, from
// the line where its document begins. It stops before the first part that no
// line, or more than one, could write.
func searchTemplate(text [][]byte, document int, path []string) int {
	if document > len(text) {
		return 0
	}
	first, end := document-1, len(text)
	for i := first + 1; i < len(text); i++ {
		if isMarker(text[i], "---") {
			end = i
			break
		}
	}
	line, indent := document, -1
	for _, part := range path {
		if part == "" || part[0] >= '0' && part[0] <= '9' {
			continue // an entry of a list: its keys tell more
		}
		found, at, least := 0, 0, 0
		for i := first; i < end; i++ {
			depth, key := keyOf(text[i])
			if key == "" {
				continue
			}
			if i > first && depth <= indent && indent >= 0 {
				break // the mapping ends
			}
			switch {
			case key != part || depth <= indent:
			case found == 0 || depth < least: // the outermost is the field of the mapping
				found, at, least = 1, i, depth
			case depth == least:
				found++
			}
		}
		if found != 1 {
			return line
		}
		line, indent, first = at+1, least, at
	}
	return line
}

// keyOf returns the key that a line writes and how far it is indented; the dash
// of a list entry counts as indentation.
func keyOf(line []byte) (indent int, key string) {
	rest := strings.TrimRight(string(line), " \t\r")
	for {
		trimmed := strings.TrimLeft(rest, " ")
		indent += len(rest) - len(trimmed)
		rest = trimmed
		if !strings.HasPrefix(rest, "- ") {
			break
		}
		indent, rest = indent+1, rest[1:]
	}
	if rest == "" || rest[0] == '#' || strings.HasPrefix(rest, "{{") {
		return indent, ""
	}
	key, value, ok := strings.Cut(rest, ":")
	if !ok || value != "" && value[0] != ' ' {
		return indent, ""
	}
	return indent, strings.Trim(key, `"' `)
}
