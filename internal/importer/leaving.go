package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
)

// StateFile is a state file of Helmfile, and what of it an import makes superfluous.
type StateFile struct {
	File     string            `json:"file"`
	Releases []LeavingRelease  `json:"releases"`
	Delete   bool              `json:"delete"` // nothing is left in it
	Named    *finding.Position `json:"named,omitempty"`

	parent string
	// kept says that the file has more in it than the releases that were read.
	kept bool
}

// LeavingRelease is a release that leaves its state file, or stays.
type LeavingRelease struct {
	Release   string           `json:"release"`
	Component string           `json:"component"`
	Position  finding.Position `json:"position"`
	// Stays is why it cannot be removed; empty where it can.
	Stays string `json:"stays,omitempty"`
	// NeededAt is where the releases that stay need it.
	NeededAt []finding.Position `json:"neededAt,omitempty"`

	needs []need
}

// need is an entry of needs: the component that it names.
type need struct {
	component string
	at        finding.Position
}

// stateFiles are the state files with their releases, each once whatever environments
// have it.
func (h *helmfiles) stateFiles() []StateFile {
	files := map[string]*StateFile{}
	order := slices.Clone(h.result.Groups)
	slices.SortStableFunc(order, func(a, b helmfile.Group) int { return cmp.Compare(a.Rank, b.Rank) })
	var names []string
	for _, g := range order {
		f := files[g.Position.File]
		if f == nil {
			f = &StateFile{File: g.Position.File, Releases: []LeavingRelease{}, parent: g.Parent}
			if g.Parent != "" {
				f.Named = &g.Named
			}
			files[f.File], names = f, append(names, f.File)
		}
		// Two files that name one may not go together.
		f.kept = f.kept || g.Base || g.Withheld || f.parent != g.Parent
	}
	stays := ""
	if unread := h.result.Unread; len(unread) > 0 {
		stays = fmt.Sprintf("%s %s not read", environmentsOf(unread), wasWere(len(unread)))
	}
	type key struct {
		file, component string
		at              finding.Position
	}
	known := map[key]int{}
	for _, env := range h.result.Environments {
		for i := range env.Releases {
			r := &env.Releases[i]
			one := LeavingRelease{Release: r.Name, Component: h.names[env.Name][i], Position: r.Position, Stays: stays}
			f := files[h.result.Groups[r.Group].Position.File]
			k := key{f.File, one.Component, one.Position}
			at, ok := known[k]
			if !ok {
				at, f.Releases = len(f.Releases), append(f.Releases, one)
				known[k] = at
			}
			for _, n := range r.Needs {
				if n.Release >= 0 {
					f.Releases[at].needs = append(f.Releases[at].needs, need{h.names[env.Name][n.Release], n.Position})
				}
			}
		}
	}
	all := make([]StateFile, len(names))
	for i, name := range names {
		all[i] = *files[name]
	}
	return all
}

func environmentsOf(names []string) string {
	if len(names) == 1 {
		return "the environment " + names[0]
	}
	return "the environments " + strings.Join(names, ", ")
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// leaving says of every release whether it can be removed from its state file, and of
// every file whether nothing is left in it then. What is not carried over stays: a
// person decides about it first.
func (p *Platform) leaving() []StateFile {
	lost, ofFile := map[string]int{}, map[string]bool{}
	for _, n := range p.Notes {
		switch {
		case n.Level != Lost:
		case n.Component != "":
			lost[n.Component]++
		default:
			ofFile[n.Position.File] = true
		}
	}
	all := slices.Clone(p.StateFiles)
	neededAt := map[string][]finding.Position{}
	for i := range all {
		all[i].Releases = slices.Clone(all[i].Releases)
		for j := range all[i].Releases {
			r := &all[i].Releases[j]
			// Notes on reading name the release, later ones the component.
			n := lost[r.Component]
			if r.Release != r.Component {
				n += lost[r.Release]
			}
			if r.Stays == "" && n > 0 {
				r.Stays = fmt.Sprintf("%d not carried over", n)
			}
			if r.Stays == "" {
				continue
			}
			for _, n := range r.needs {
				neededAt[n.component] = append(neededAt[n.component], n.at)
			}
		}
	}
	for i := range all {
		f := &all[i]
		f.Delete = !f.kept && !ofFile[f.File]
		for j := range f.Releases {
			r := &f.Releases[j]
			if r.Stays != "" {
				f.Delete = false
				continue
			}
			r.NeededAt = neededAt[r.Component]
			slices.SortFunc(r.NeededAt, finding.Position.Compare)
			r.NeededAt = slices.Compact(r.NeededAt)
		}
	}
	// A file stays with what it includes.
	index := map[string]*StateFile{}
	for i := range all {
		index[all[i].File] = &all[i]
	}
	for i := range all {
		for f := &all[i]; !f.Delete; {
			parent := index[f.parent]
			if parent == nil || !parent.Delete {
				break
			}
			parent.Delete, f = false, parent
		}
	}
	return all
}

// writeLeaving tells what can leave Helmfile, file by file.
func writeLeaving(b *strings.Builder, all []StateFile) {
	releases, leaving, files := 0, 0, 0
	goes := func(f StateFile) (n int) {
		for _, r := range f.Releases {
			if r.Stays == "" {
				n++
			}
		}
		return n
	}
	for _, f := range all {
		releases, leaving = releases+len(f.Releases), leaving+goes(f)
		if f.Delete {
			files++
		}
	}
	if releases == 0 {
		return
	}
	fmt.Fprintf(b, "\nLeaving Helmfile: %d of %s, %d of %s\n", leaving, finding.Count(releases, "release"), files, finding.Count(len(all), "state file"))
	b.WriteString("  Remove a release when its component is Healthy; the import changes no state file.\n")
	for _, f := range all {
		if len(f.Releases) == 0 && !f.Delete {
			continue
		}
		if len(f.Releases) == 0 {
			fmt.Fprintf(b, "  %s: nothing but files that go", f.File)
		} else {
			fmt.Fprintf(b, "  %s: %d of %s", f.File, goes(f), finding.Count(len(f.Releases), "release"))
		}
		if f.Delete {
			b.WriteString("; then delete it")
			if f.Named != nil {
				fmt.Fprintf(b, " (%s names it)", f.Named)
			}
		}
		b.WriteByte('\n')
		for _, r := range f.Releases {
			fmt.Fprintf(b, "    %s: %s", r.Position, report.Plain(r.Release))
			if r.Component != r.Release {
				fmt.Fprintf(b, " (%s)", report.Plain(r.Component))
			}
			if r.Stays != "" {
				fmt.Fprintf(b, " stays: %s", report.Plain(r.Stays))
			}
			for i, at := range r.NeededAt {
				if i == 0 {
					b.WriteString(", still in needs at ")
				} else {
					b.WriteString(", ")
				}
				b.WriteString(at.String())
			}
			b.WriteByte('\n')
		}
	}
}
