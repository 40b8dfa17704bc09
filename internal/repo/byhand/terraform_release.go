package byhand

import (
	"context"
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

var (
	releaseBlock = lazyregexp.New(`(?m)^resource\s+"helm_release"\s+"[^"]*"\s*\{`)
	// literal is an attribute of a release that is written out.
	literal = lazyregexp.New(`(?m)^\s*(repository|chart|version|name|namespace)\s*=\s*"([^"$]+)"\s*$`)
	// pair is a value that is set by its name, in a block or a list.
	pair = lazyregexp.New(`name\s*=\s*"([^"$]+)"\s*,?\s*(?:type\s*=\s*"[^"]*"\s*,?\s*)?value\s*=\s*"?([^"$\s,}]+)"?`)
	// given are the values of a release, and valuesFile a file of them.
	given      = lazyregexp.New(`(?m)^\s*values\s*=\s*\[`)
	valuesFile = lazyregexp.New(`^\s*values\s*=\s*\[\s*file\("\$\{path\.(?:module|root)\}/([^"$]+)"\)\s*,?\s*\]`)
	counted    = lazyregexp.New(`(?m)^\s*count\s*=\s*0\s*$`)
)

// terraformReleases are the charts that Terraform installs, as far as their names are written out: what
// sets up a cluster does so before Argo CD or Flux. Source: the provider helm, helm_release.
func terraformReleases(ctx context.Context, tree *repofs.Tree) []Release {
	found, _ := tree.Find(ctx, ".", func(name string) bool { return path.Ext(name) == ".tf" })
	var all []Release
	for _, file := range found {
		data, err := tree.Read(file)
		if err != nil || repofs.IsUnused(file) {
			continue
		}
		text := string(data)
		for at, body := range blocks(text, releaseBlock) {
			if r, ok := terraformRelease(tree, file, body); ok {
				r.Position = finding.Position{File: file, Line: 1 + strings.Count(text[:at[0]], "\n")}
				all = append(all, r)
			}
		}
	}
	return all
}

func terraformRelease(tree *repofs.Tree, file, body string) (r Release, ok bool) {
	fields := map[string]string{}
	for _, m := range literal.FindAllStringSubmatch(body, -1) {
		if fields[m[1]] == "" {
			fields[m[1]] = m[2]
		}
	}
	r = Release{Repository: fields["repository"], Chart: fields["chart"], Version: fields["version"], Name: fields["name"], Namespace: fields["namespace"], Set: map[string]string{}}
	if strings.HasPrefix(r.Chart, "oci://") {
		r.Repository, r.Chart = path.Dir(r.Chart), path.Base(r.Chart)
	}
	if r.Repository == "" || r.Chart == "" || strings.HasPrefix(r.Chart, ".") || counted.MatchString(body) {
		return r, false
	}
	for _, m := range pair.FindAllStringSubmatch(body, -1) {
		r.Set[m[1]] = m[2]
	}
	if at := given.FindStringIndex(body); at != nil {
		if m := valuesFile.FindStringSubmatch(body[at[0]:]); m != nil && tree.IsFile(path.Join(path.Dir(file), m[1])) {
			r.ValueFiles = append(r.ValueFiles, path.Join(path.Dir(file), m[1]))
		} else {
			r.Partial = true
		}
	}
	if r.Partial {
		// Whether they bring the CRDs is not known: they may.
		for _, name := range []string{"crds.enabled", "installCRDs", "crds.install", "crds.create"} {
			if r.Set[name] == "" {
				r.Set[name] = "true"
			}
		}
	}
	return r, true
}
