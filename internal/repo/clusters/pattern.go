package clusters

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
)

// parameter matches one of a template, in both languages.
var parameter = lazyregexp.New(`\{\{-?\s*(?:\.?([A-Za-z_][\w./-]*)|index\s+\.metadata\.(labels|annotations)\s+"([^"]+)")\s*-?\}\}`)

// filled is a template with what is known of a cluster, and marks. ok is false where it
// does more than name parameters of a cluster. single are the marks that hold no slash.
func filled(template string, c Cluster, values map[string]string, single map[string]bool) (text string, ok bool) {
	ok = true
	text = parameter.ReplaceAllStringFunc(template, func(written string) string {
		m := parameter.FindStringSubmatch(written)
		name := m[1]
		if m[2] != "" {
			name = "metadata." + m[2] + "." + m[3]
		}
		value, one, known := lookup(name, c, values, single)
		ok = ok && known
		if one {
			for _, mark := range appset.Marks(value) {
				single[mark] = true
			}
		}
		return value
	})
	return text, ok && !strings.Contains(text, "{{")
}

// lookup is the value of a parameter. single says that it is no more than one folder.
func lookup(name string, c Cluster, values map[string]string, singles map[string]bool) (value string, single, ok bool) {
	of := func(all map[string]string, key string, open bool) (string, bool) {
		if v, ok := all[key]; ok {
			return v, true
		}
		return appset.Mark(name), open
	}
	switch kind, key, _ := strings.Cut(strings.TrimPrefix(name, "metadata."), "."); {
	case name == "name" || name == "nameNormalized":
		return c.Name, true, true
	case strings.HasPrefix(name, "metadata.") && kind == "labels":
		value, ok = of(c.Labels, key, c.OpenLabels)
		return value, true, ok
	case strings.HasPrefix(name, "metadata.") && kind == "annotations":
		value, ok = of(c.Annotations, key, c.OpenAnnotations)
		return value, false, ok
	case kind == "values" && values[key] != "":
		value, ok = filled(values[key], c, nil, singles)
		return value, false, ok
	default:
		// What another generator makes may be anything.
		return appset.Mark(anything + name), false, true
	}
}

// anything begins the marks of parameters that are not of a cluster.
const anything = "any."

// group is what one part of a pattern stands for: marks that follow each other.
type group []string

// pattern is a text with marks to be found in the tree.
type pattern struct {
	re     *regexp.Regexp
	groups []group
	// says reports whether something of the text is known.
	says bool
}

// piece is a part of a text: a literal, or marks.
type piece struct {
	literal string
	marks   group
}

func pieces(text string) []piece {
	var all []piece
	for text != "" {
		names := appset.Marks(text)
		if len(names) == 0 {
			return append(all, piece{literal: text})
		}
		before, after, _ := strings.Cut(text, appset.Mark(names[0]))
		if before != "" {
			all = append(all, piece{literal: before})
		}
		if n := len(all); n > 0 && all[n-1].marks != nil {
			all[n-1].marks = append(all[n-1].marks, names[0])
		} else {
			all = append(all, piece{marks: group{names[0]}})
		}
		text = after
	}
	return all
}

// word matches a letter or digit at the start of a text.
var word = lazyregexp.New(`^[A-Za-z0-9]`)

// compile makes a pattern of a text. A mark before a word is a folder: {{base}}charts is
// a base that ends in a slash.
func compile(text string, single map[string]bool) (pattern, bool) {
	var b strings.Builder
	var p pattern
	all := pieces(text)
	for i, part := range all {
		if part.marks == nil {
			p.says = p.says || word.MatchString(strings.TrimLeft(part.literal, "/.-_"))
			b.WriteString(regexp.QuoteMeta(part.literal))
			continue
		}
		one := slices.ContainsFunc(part.marks, func(m string) bool { return single[m] })
		switch {
		case one && len(part.marks) > 1:
			return p, false
		case one:
			b.WriteString(`([^/]+)`)
		case i+1 < len(all) && word.MatchString(all[i+1].literal) && (i == 0 || strings.HasSuffix(all[i-1].literal, "/")):
			b.WriteString(`((?:[^/]+/)*)`)
		case i+1 < len(all) && !strings.HasPrefix(all[i+1].literal, "/") || i > 0 && !strings.HasSuffix(all[i-1].literal, "/"):
			b.WriteString(`([^/]+)`)
		default:
			b.WriteString(`([^/]+(?:/[^/]+)*)`)
		}
		p.groups = append(p.groups, part.marks)
	}
	re, err := regexp.Compile(`^` + strings.TrimSuffix(b.String(), "/") + `$`)
	p.re = re
	return p, err == nil
}

// found is one way to fill in a pattern: a value for each of its groups.
type found struct {
	place  string
	values []string
}

// find lists the names that match, and what the groups are then.
func (p pattern) find(names []string) []found {
	var all []found
	for _, name := range names {
		if m := p.re.FindStringSubmatch(name); m != nil {
			all = append(all, found{name, m[1:]})
		}
	}
	return all
}
