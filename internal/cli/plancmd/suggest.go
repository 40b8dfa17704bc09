package plancmd

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/patch"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// suggest writes a better placement, with the patch that makes it.
func suggest(b *bytes.Buffer, input plan.Input, loaded *analysis.Result, o *Options) error {
	s, err := plan.Suggest(input)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	diff, patched, err := movesPatch(s.Moves, loaded)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		return report.JSON(b, report.SuggestionDocument(s, diff, patched))
	}
	return report.SuggestionText(b, s, diff, patched, placesOf(loaded, source.Way(o.Path)))
}

// placesOf says where the places of components are written, for people: way leads to the root
// of the platform.
func placesOf(loaded *analysis.Result, way string) map[string]string {
	places := map[string]string{}
	for _, c := range loaded.Platform.Components {
		places[c.Name] = c.Position.Below(way).String()
	}
	for _, a := range loaded.Platform.Argo.Applications {
		switch at := a.Wave.Position.Below(way).String(); {
		case a.Wave.Of == "" || a.Set != "":
		case a.Wave.Template:
			places[a.Component] = at + ", which makes it of " + a.Wave.Of
		default:
			places[a.Component] = at + ", the value " + a.Wave.Of
		}
	}
	return places
}

// movesPatch is the unified diff of moves, and the components it moves: those
// whose place is written in a file that can be changed line by line.
func movesPatch(moves []plan.Move, loaded *analysis.Result) (diff string, patched map[string]bool, err error) {
	byName := map[string]*model.Component{}
	for i := range loaded.Platform.Components {
		c := &loaded.Platform.Components[i]
		byName[c.Name] = c
	}
	var groups [][]finding.Edit
	var names []string
	for _, m := range moves {
		if e, ok := placeEdit(byName[m.Component], m); ok {
			groups, names = append(groups, []finding.Edit{e}), append(names, m.Component)
		}
	}
	tree, err := repofs.Discover(loaded.Platform.Root)
	if err != nil {
		return "", nil, fmt.Errorf("read the files that a suggestion changes: %w", err)
	}
	changes, refused := patch.Combine(tree.Read, groups)
	patched = map[string]bool{}
	for i, name := range names {
		patched[name] = refused[i] == nil
	}
	var all strings.Builder
	for _, c := range changes {
		all.WriteString(c.Diff())
	}
	return all.String(), patched, nil
}

// placeEdit writes a new place where today's is written. ok is false for an
// Application that is generated: its place is that of its ApplicationSet.
func placeEdit(c *model.Component, m plan.Move) (e finding.Edit, ok bool) {
	if m.Phase < 0 {
		return finding.Edit{
			File: c.Position.File, Line: c.Position.Line, Op: finding.Set,
			Path: []string{"metadata", "annotations", "argocd.argoproj.io/sync-wave"}, Value: strconv.Quote(strconv.Itoa(m.Wave)),
		}, c.Set == ""
	}
	at := c.At("rolloutPhase")
	return finding.Edit{File: at.File, Line: at.Line, Op: finding.Set, Path: []string{c.PhaseField()}, Value: strconv.Quote(m.Phase.String())}, c.Set == ""
}
