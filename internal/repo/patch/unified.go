package patch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"go.yaml.in/yaml/v3"
)

// uncertain stands above a diff with a change that git apply would look for in another place.
const uncertain = "# git apply needs --unidiff-zero: lines that may hold a secret are left out\n"

// hunks writes a unified diff.
type hunks struct {
	lines []string // of the text before
	// shown reports whether one of them, counted from 0, may stand around a change.
	shown func(line int) bool
	text  strings.Builder
	// done is how many lines of the text before the hunks so far have gone over, moved how many
	// more they are afterwards.
	done, moved int
	uncertain   bool
}

// unified writes the change as a unified diff with the lines that may be shown.
func (c Change) unified(shown func(line int) bool) string {
	before := string(c.Before)
	edits := udiff.Lines(before, string(c.After))
	if len(edits) == 0 {
		return ""
	}
	h := &hunks{lines: linesOf(before), shown: shown}
	for len(edits) > 0 {
		edits = h.write(before, edits)
	}
	head := ""
	if h.uncertain {
		head = uncertain
	}
	return fmt.Sprintf("%s--- a/%s\n+++ b/%s\n%s", head, c.File, c.File, h.text.String())
}

// write writes the hunk of the first of some edits, and of those that share lines around them with it.
// It returns the others.
func (h *hunks) write(before string, edits []udiff.Edit) []udiff.Edit {
	start := func(e udiff.Edit) int { return strings.Count(before[:e.Start], "\n") }
	first := start(edits[0])
	at := first - h.around(first-1, -1, min(udiff.DefaultContextLines, first-h.done))
	begin, grown := at, 0
	var body strings.Builder
	next := first
	for joined := true; joined; {
		e, added := edits[0], linesOf(edits[0].New)
		write(&body, " ", h.lines[at:next])
		at = next + len(linesOf(before[e.Start:e.End]))
		write(&body, "-", h.lines[next:at])
		write(&body, "+", added)
		grown, edits = grown+len(added)-(at-next), edits[1:]
		if next = len(h.lines); len(edits) > 0 {
			next = start(edits[0])
		}
		joined = len(edits) > 0 && next-at <= 2*udiff.DefaultContextLines && h.around(at, 1, next-at) == next-at
	}
	behind := h.around(at, 1, min(udiff.DefaultContextLines, next-at))
	write(&body, " ", h.lines[at:at+behind])
	at += behind
	// Nothing behind a change stands for the end of the file, and a hunk of line 1 for its beginning.
	h.uncertain = h.uncertain || behind == 0 && at < len(h.lines) || begin == 1 && at == begin
	fmt.Fprintf(&h.text, "@@ -%s +%s @@\n%s", span(begin, at-begin), span(begin+h.moved, at-begin+grown), body.String())
	h.done, h.moved = at, h.moved+grown
	return edits
}

// around is how many lines from one on may be shown.
func (h *hunks) around(from, step, most int) int {
	n := 0
	for n < most && h.shown(from+n*step) {
		n++
	}
	return n
}

func write(b *strings.Builder, sign string, lines []string) {
	for _, line := range lines {
		b.WriteString(sign + line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// span is a number of lines behind others, as the head of a hunk has it.
func span(others, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", others)
	case 1:
		return strconv.Itoa(others + 1)
	default:
		return fmt.Sprintf("%d,%d", others+1, count)
	}
}

// linesOf are the lines of a text with their ends.
func linesOf(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// plainLines are the lines of a file, counted from 0, that say nothing but a key, or the apiVersion,
// kind, name or namespace of an object. Lines of a text that is a value are none.
func plainLines(text string) map[int]bool {
	plain := map[int]bool{}
	documents, err := parse(text)
	if err != nil {
		return plain
	}
	lines := strings.Split(text, "\n")
	note := func(n *yaml.Node, written string) {
		if n.Line <= len(lines) && strings.TrimSpace(lines[n.Line-1]) == written {
			plain[n.Line-1] = true
		}
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 && (child.Kind == yaml.MappingNode || child.Kind == yaml.SequenceNode) {
				note(n.Content[i-1], n.Content[i-1].Value+":")
			}
			walk(child)
		}
	}
	for _, d := range documents {
		walk(d)
		if len(d.Content) == 0 {
			continue
		}
		for _, path := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}} {
			k, v := (*yaml.Node)(nil), d.Content[0]
			for _, key := range path {
				if v != nil {
					k, v = entry(v, key)
				}
			}
			if v != nil {
				note(k, path[len(path)-1]+": "+v.Value)
			}
		}
	}
	return plain
}
