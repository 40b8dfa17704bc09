package snapshot

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// The modes of files. Source: git-fast-import(1), "filemodify".
const (
	modeFile    = "100644"
	modeProgram = "100755"
	modeLink    = "120000"
)

// committer signs every snapshot at the same time, so that the same files make
// the same commit.
const committer = "Ladder <ladder@localhost> 946684800 +0000"

// entry is a file of the commit.
type entry struct{ path, mode string }

// stream writes a stream for git fast-import. Source: git-fast-import(1).
type stream struct {
	w       io.Writer
	entries []entry
	err     error
}

// printf keeps the first error.
func (s *stream) printf(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

// add writes the content of a file.
func (s *stream) add(e entry, content []byte) {
	s.entries = append(s.entries, e)
	s.printf("blob\nmark :%d\n", len(s.entries))
	s.data(content)
}

func (s *stream) data(content []byte) {
	s.printf("data %d\n", len(content))
	if s.err == nil {
		_, s.err = s.w.Write(content)
	}
	s.printf("\n")
}

// commit writes the one commit of all files, to a branch and under further names.
func (s *stream) commit(branch string, names []string) error {
	s.printf("commit refs/heads/%s\ncommitter %s\n", branch, committer)
	s.data([]byte("Snapshot of the work tree\n"))
	for i, e := range s.entries {
		s.printf("M %s :%d %s\n", e.mode, i+1, quote(e.path))
	}
	taken := []string{branch}
	for _, name := range names {
		// A branch and a folder of branches cannot have the same name.
		if !slices.ContainsFunc(taken, func(t string) bool { return t == name || within(t, name) || within(name, t) }) {
			taken = append(taken, name)
			s.printf("reset refs/heads/%s\nfrom refs/heads/%s\n\n", name, branch)
		}
	}
	s.printf("done\n")
	return s.err
}

func within(name, folder string) bool { return strings.HasPrefix(name, folder+"/") }

// quote writes a path in C's style.
func quote(p string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(p) + `"`
}
