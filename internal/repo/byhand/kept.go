package byhand

import (
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

var (
	// fetches is a command that fetches an address, output the file that it writes.
	fetches = lazyregexp.New(`\b(?:curl|wget)\s`)
	output  = lazyregexp.New(`(?:\s-[A-Za-z]*[oO]\s*|\s--output[\s=]\s*|\s--output-document[\s=]\s*|>\s*)["']?([^\s"'|;&>]+\.(?:ya?ml|json))`)
)

// note keeps what the commands of a file fetch or render into files, by how these end: a
// command that applies such a file applies that.
func (x *applying) note(t text, repositories map[string]string) {
	for _, c := range t.commands {
		to := output.FindStringSubmatch(c.text)
		if to == nil {
			continue
		}
		at := t.at(c)
		var has made
		if has.releases = templated(x.tree, c.text, at, repositories); has.releases == nil && fetches.MatchString(c.text) {
			for _, found := range c.addresses() {
				has.addresses, has.shown = append(has.addresses, found[0]), append(has.shown, found[1])
			}
		}
		if len(has.releases)+len(has.addresses) == 0 {
			continue
		}
		key := ending(to[1])
		have := x.kept[key]
		have.addresses, have.shown = append(have.addresses, has.addresses...), append(have.shown, has.shown...)
		have.releases = append(have.releases, has.releases...)
		x.kept[key] = have
	}
}

// ending is the name of a file with that of its folder, where this is no variable: the
// folder above may be called otherwise by each command.
func ending(written string) string {
	dir, base := path.Split(path.Clean(written))
	if folder := path.Base(dir); dir != "" && folder != "." && folder != "/" && !strings.ContainsAny(folder, "${}") {
		return folder + "/" + base
	}
	return base
}

// addKept adds what was kept in a file.
func (all *applied) addKept(kept made, at finding.Position) {
	for i, one := range kept.addresses {
		all.addresses = append(all.addresses, Instruction{Address: one, Shown: kept.shown[i], Position: at})
	}
	for _, one := range slices.Clone(kept.releases) {
		one.Position = at
		all.releases = append(all.releases, one)
	}
}
