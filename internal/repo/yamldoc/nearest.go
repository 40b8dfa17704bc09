package yamldoc

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// Nearest returns the candidate that a misspelt word most likely means, or ""
// when none is near: at most a third of the word may differ.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", len(word)/3+1
	for _, c := range candidates {
		if d := Distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// Meant asks whether a word that is not known means one that is: the nearest, of which two
// letters may differ in one, or else one of those that hold it as a part of their own. It
// returns "" where none is near.
func Meant(word string, known []string) string {
	var near []string
	least := len(word)/3 + 1
	if len(word) == 2 {
		least = 2
	}
	for _, k := range known {
		switch d := Distance(strings.ToLower(word), strings.ToLower(k)); {
		case d < least:
			near, least = []string{k}, d
		case d == least && len(near) > 0 && !slices.Contains(near, k):
			near = append(near, k)
		}
	}
	if len(near) == 0 && word != "" {
		near = slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !isPart(k, word) })
	}
	if near = near[:min(len(near), maxMeant)]; len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// isPart reports whether a word is a part of a name, or the beginning of one that tells
// enough: "web" is in apps-web and not in webhook, "keycl" in platform-keycloak.
func isPart(name, word string) bool {
	between := func(at int) bool { return at < 0 || at >= len(name) || !isWordRune(rune(name[at])) }
	for from := 0; ; {
		i := strings.Index(name[from:], word)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(word)
		if between(begin-1) && (len(word) > 3 || between(end)) {
			return true
		}
		from = begin + 1
	}
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// Unknown is the error that nothing has a name, with the names that there are.
func Unknown(what, name string, known []string) *repofs.InputError {
	hint := strings.TrimSpace(Meant(name, known) + fmt.Sprintf(" the %ss are %s", what, strings.Join(known, ", ")))
	return &repofs.InputError{Message: fmt.Sprintf("there is no %s %q", what, name), Hint: hint}
}

// maxMeant bounds how many names are proposed.
const maxMeant = 3

// Distance is the Damerau-Levenshtein distance in its restricted form: the
// number of letters to insert, delete, replace or swap with their neighbour to make one word the
// other. Source: optimal string alignment.
func Distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[(i+2)%3], rows[i%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}
