package byhand

import (
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

var (
	// comment matches a line of YAML with a comment.
	comment = lazyregexp.New(`^(?:.*?\s)?#+[ \t]*(.*)$`)
	// opens matches a line of YAML behind which a text of several lines begins.
	opens = lazyregexp.New(`(?:^|[\s:-])[|>][+-]?\d?[+-]?$`)
)

// comments are the comments of YAML, each on its line; the others are empty. What looks
// like one in a text of several lines, such as a script or a patch, is part of that.
func comments(content []byte) []byte {
	lines := strings.Split(string(content), "\n")
	inside := -1 // the indentation of what has the text
	for i, line := range lines {
		line = strings.TrimRight(line, " \t\r")
		indentation := len(line) - len(strings.TrimLeft(line, " "))
		lines[i] = ""
		if line == "" || inside >= 0 && indentation > inside {
			continue
		}
		inside = -1
		if m := comment.FindStringSubmatch(line); m != nil {
			lines[i] = m[1]
			line = strings.TrimRight(strings.TrimSuffix(line, m[1]), "# \t")
		}
		if opens.MatchString(line) {
			inside = indentation
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

var (
	// itself is a command of a comment that names no file: it is about its own.
	itself = lazyregexp.New("\\b(?:kubectl|oc)\\s+(?:apply|create)\\s+-f(?:[\\s.,;:)`]*$|\\s+(?:after|before|once|the|this|to|when)\\b)")
	// ofArgo is a manifest of Argo CD that may be a root.
	ofArgo = lazyregexp.New(`(?m)^kind:\s*["']?(?:Application|ApplicationSet)\b`)
)

// ofItself is the file of a manifest whose comment has people apply it: by its name, or without one.
func ofItself(tree *repofs.Tree, t text, applied []Instruction) []Instruction {
	own := slices.DeleteFunc(slices.Clone(applied), func(one Instruction) bool { return one.Address != t.file || one.Through != t.file })
	for i, line := range strings.Split(string(t.content), "\n") {
		if len(own) == 0 && itself.MatchString(line) {
			own = append(own, Instruction{Address: t.file, Through: t.file, Position: finding.Position{File: t.file, Line: i + 1}})
		}
	}
	if len(own) > 0 {
		if data, err := tree.Read(t.file); err != nil || !ofArgo.Match(data) {
			return nil
		}
	}
	return own
}

// apart are the files that a kustomization tells of, but for its own folder: how that is
// applied says not whether it is.
func apart(kustomization string, all []Instruction) []Instruction {
	return slices.DeleteFunc(all, func(one Instruction) bool { return one.Through == path.Dir(kustomization) })
}

// named are the files that commands name themselves, not by a folder.
func named(all []Instruction) []Instruction {
	return slices.DeleteFunc(slices.Clone(all), func(one Instruction) bool { return one.Address != one.Through })
}
