package repo

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// templateEndings are those of files that a program fills in and writes elsewhere: Ansible,
// Terraform, gomplate, Ruby, Mustache. Those of charts end otherwise.
var templateEndings = []string{".j2", ".jinja", ".jinja2", ".tftpl", ".tmpl", ".gotmpl", ".erb", ".mustache"}

// ofArgo matches the kind of an Application or an ApplicationSet in such a file.
var ofArgo = lazyregexp.New(`(?m)^\s*-?\s*kind:\s*["']?Application(?:Set)?["']?\s*$`)

// noPlatform is the error of a repository in which nothing is found that is rolled out.
// Where templates of Applications are there, it says which.
func (r *Repository) noPlatform(ctx context.Context, dir string) *InputError {
	found := &InputError{
		Message: fmt.Sprintf("%s holds no platform", dir),
		Hint:    "a platform has environments/<name>/components/**/component.yaml, Argo CD Applications, or Kustomizations and HelmReleases of Flux",
	}
	files, err := r.tree.Find(ctx, ".", func(name string) bool { return slices.Contains(templateEndings, path.Ext(name)) })
	if err != nil {
		return found
	}
	templates := 0
	for _, file := range files {
		text, err := r.tree.Read(file)
		if err != nil {
			continue
		}
		if at := ofArgo.FindIndex(text); at != nil {
			if templates++; templates == 1 {
				found.Position = finding.Position{File: file, Line: 1 + bytes.Count(text[:at[0]], []byte("\n"))}
			}
		}
	}
	if templates > 0 {
		found.Message += fmt.Sprintf(", but %s of Applications, which another program fills in", finding.Count(templates, "template"))
		found.Hint = "run ladder where that program writes them"
	}
	return found
}
