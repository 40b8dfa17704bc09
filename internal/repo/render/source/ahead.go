package source

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
)

// The bounds of what is told ahead: more is asked for.
const (
	aheadBytes   = 4 << 20
	aheadFiles   = 500
	aheadFolders = 100
)

// Ahead holds answers to questions that will be asked. A question costs two switches
// between processes, 50 to 100 us, and a chart of a dozen files has twenty of them. A
// lint of examples/ameide without a cache takes 1.2 x the CPU time without it.
type Ahead struct {
	view    View
	heads   []aheadPart
	parts   []byte
	files   int
	folders int
}

// aheadPart names a part of what is told ahead.
type aheadPart struct {
	Operation string `json:"o"`
	Name      string `json:"n"`
}

// NewAhead starts with nothing.
func NewAhead(v View) *Ahead { return &Ahead{view: v} }

func (a *Ahead) add(operation, name string) []byte {
	name = path.Clean(name)
	data, err := one(a.view, operation, name)
	if len(a.parts)+len(data) > aheadBytes {
		return data
	}
	a.heads = append(a.heads, aheadPart{operation, name})
	a.parts = appendPart(a.parts, data, err)
	return data
}

// File tells the content of a file.
func (a *Ahead) File(name string) {
	if a.files < aheadFiles {
		a.files++
		a.add(opRead, name)
	}
}

// Folder tells what a path is, what is in it where it is a folder, and the content of
// its files that are wanted; with deep those of its folders too.
func (a *Ahead) Folder(name string, deep bool, wanted func(rel string) bool) {
	a.add(opResolve, name)
	if Kind(a.add(opStat, name)) == Folder {
		a.folder(name, "", deep, wanted)
	}
}

func (a *Ahead) folder(name, rel string, deep bool, wanted func(string) bool) {
	if a.folders++; a.folders > aheadFolders {
		return
	}
	var names []string
	if json.Unmarshal(a.add(opList, path.Join(name, rel)), &names) != nil {
		return
	}
	for _, n := range names {
		below := path.Join(rel, n)
		switch {
		case !strings.HasSuffix(n, "/"):
			if wanted(below) {
				a.File(path.Join(name, below))
			}
		case deep && !strings.HasPrefix(n, "."):
			a.folder(name, below, deep, wanted)
		}
	}
}

// Encode returns what is told: a line of JSON, then the parts.
func (a *Ahead) Encode() []byte {
	heads, _ := json.Marshal(a.heads) // texts only
	return append(append(heads, '\n'), a.parts...)
}

// Learn takes what Encode returned: it need not be asked for.
func (a *Asked) Learn(told []byte) {
	line, parts, _ := bytes.Cut(told, []byte("\n"))
	var heads []aheadPart
	if json.Unmarshal(line, &heads) != nil {
		return
	}
	for _, h := range heads {
		p, rest, ok := cutPart(parts)
		if !ok {
			return
		}
		if a.known[h.Operation] == nil {
			a.known[h.Operation] = map[string]part{}
		}
		a.known[h.Operation][h.Name] = p
		parts = rest
	}
}
