package byhand

import (
	"bytes"
	"context"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// k0sConfig matches the configuration of a cluster of k0s.
var k0sConfig = lazyregexp.New(`(?m)^apiVersion:\s*["']?k0s(?:ctl)?\.k0sproject\.io/`)

// distributed are the charts, and their namespaces, that k0s installs when it starts, before
// anything else runs. Source: k0s, "Helm Charts"; pkg/helm, InstallChart.
func distributed(ctx context.Context, tree *repofs.Tree) (releases []Release, namespaces []Namespace) {
	found, _ := tree.Find(ctx, ".", isYAML)
	for _, file := range found {
		data, err := tree.Read(file)
		// The search for the word spares most files the pattern: 4 ms of a lint of 200.
		if ctx.Err() != nil || err != nil || repofs.IsFixture(file) || !bytes.Contains(data, []byte("k0sproject.io")) || !k0sConfig.Match(data) {
			continue
		}
		documents, err := yamldoc.Parse(file, data)
		if err != nil {
			continue
		}
		for _, d := range documents {
			for _, keys := range [][]string{{"spec", "extensions", "helm"}, {"spec", "k0s", "config", "spec", "extensions", "helm"}} {
				some, of := extensions(d.At(keys...))
				releases, namespaces = append(releases, some...), append(namespaces, of...)
			}
		}
	}
	return releases, namespaces
}

// extensions are the charts of one section of a configuration.
func extensions(helm *yamldoc.Value) (releases []Release, namespaces []Namespace) {
	if helm == nil {
		return nil, nil
	}
	addresses := map[string]string{}
	for _, r := range helm.At("repositories").Elements() {
		addresses[r.TextAt("name")] = r.TextAt("url")
	}
	for _, c := range helm.At("charts").Elements() {
		at := finding.Position{File: c.Position.File, Line: c.Position.Line}
		if ns := c.TextAt("namespace"); plainName.MatchString(ns) {
			namespaces = append(namespaces, Namespace{Name: ns, Position: at})
		}
		r := Release{Name: c.TextAt("name"), Namespace: c.TextAt("namespace"), Version: c.TextAt("version"), Position: at}
		repository, chart, ok := strings.Cut(c.TextAt("chartname"), "/")
		if r.Repository = addresses[repository]; !ok || r.Repository == "" {
			continue
		}
		r.Chart = chart
		r.Partial = manifest.Unmarshal([]byte(c.TextAt("values")), &r.Values) != nil
		releases = append(releases, r)
	}
	return releases, namespaces
}
