package repo

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// templateEndings are those of files that a program fills in and writes elsewhere: Ansible,
// Terraform, gomplate, Ruby, Mustache. Those of charts end otherwise.
var templateEndings = []string{".j2", ".jinja", ".jinja2", ".tftpl", ".tmpl", ".gotmpl", ".erb", ".mustache"}

const jsonnetEnding = ".jsonnet"

// ofArgo matches the kind of an Application or an ApplicationSet in such a file.
var ofArgo = lazyregexp.New(`(?m)^\s*-?\s*kind:\s*["']?Application(?:Set)?["']?,?\s*$`)

// noPlatform is the error of a repository in which nothing is found that is rolled out.
// Where something is there that other programs make a platform of, it says which.
func (r *Repository) noPlatform(ctx context.Context, dir string) *InputError {
	found := &InputError{
		Message: fmt.Sprintf("%s holds no platform", dir),
		Hint:    "a platform has environments/<name>/components/**/component.yaml, Argo CD Applications, or Kustomizations and HelmReleases of Flux",
	}
	templates, states := r.templatesOfApplications(ctx), r.stateFiles(ctx)
	above := r.platformAbove()
	switch {
	case above != "":
		found.Hint = fmt.Sprintf("%s holds one: give it as the PATH", filepath.Join(dir, above))
	case len(templates) > 0:
		found.Position = templates[0]
		found.Message += fmt.Sprintf(", but %s of Applications, which another program fills in", finding.Count(len(templates), "template"))
		found.Hint = "run ladder where that program writes them"
	case len(states) > 0:
		found.Position = states[0]
		found.Message += fmt.Sprintf(", but %s of Helmfile", finding.Count(len(states), "state file"))
		found.Hint = importing(states)
	case r.applications != nil && r.applications.TerraformUnread() != nil:
		unread := r.applications.TerraformUnread()
		found.Position = unread.Position
		found.Message += ", but Terraform for Argo CD, which is not read: " + unread.Message
		found.Hint = "split what is too large, or write the Applications as manifests"
	case r.applications != nil && len(r.applications.Unused()) > 0:
		unused := r.applications.Unused()[0]
		found.Position = unused.Position
		found.Message += ", but Applications " + unused.Where
		found.Hint = "name the folder itself to read what lies in it"
	default:
		if up, err := filepath.Rel(r.tree.Root, r.tree.Repository); err == nil && up != "." {
			found.Hint += fmt.Sprintf("; if it is further up in this Git repository, give its folder as the PATH, as %s", filepath.Join(dir, up))
		}
	}
	return found
}

// platformAbove is the way to the nearest folder above that holds ladder.yaml, where no Git repository
// says what belongs together; empty for none.
func (r *Repository) platformAbove() string {
	if _, err := os.Lstat(filepath.Join(r.tree.Repository, ".git")); err == nil {
		return "" // up to its top, a platform was looked for already
	}
	for way, dir := "..", filepath.Dir(r.tree.Root); dir != filepath.Dir(dir); way, dir = filepath.Join("..", way), filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, ladderfile.Name)); err == nil && info.Mode().IsRegular() {
			return way
		}
	}
	return ""
}

// findOthers tells of what other programs make a platform of, beside one that is read.
func (r *Repository) findOthers(ctx context.Context) {
	r.others = nil
	if states := r.stateFiles(ctx); len(states) > 0 {
		f := notTaken(states, "state file", "of Helmfile", "only what is installed before Argo CD or Flux counts")
		f.Message += "; " + importing(states)
		for i := range states {
			f.Unread[i].Reason += "; " + importing(states[i:i+1])
		}
		r.others = append(r.others, f)
	}
	if r.overlays == nil && r.flux == nil {
		return // descriptors, and what they are generated with
	}
	if templates := r.templatesOfApplications(ctx); len(templates) > 0 {
		r.others = append(r.others, notTaken(templates, template, "of Applications", "another program fills in what is open; run ladder where that program writes"))
	}
	for _, other := range deployers {
		if objects := r.objectsOf(ctx, other.group, other.kind); len(objects) > 0 {
			r.others = append(r.others, notTaken(objects, other.kind, "of "+other.program, "what else is applied is not known"))
		}
	}
}

// deployers are the kinds of the objects that tell programs beside Argo CD and Flux what to apply.
var deployers = []struct{ group, kind, program string }{
	{"apps.open-cluster-management.io", "Subscription", "Open Cluster Management"},
	{"fleet.cattle.io", "GitRepo", "Fleet"},
	{"templates.weave.works", "GitOpsSet", "Weave GitOps"},
}

// objectsOf are the objects of a kind in manifests, each at the line of its kind, which stands
// beside that of its group.
func (r *Repository) objectsOf(ctx context.Context, group, kind string) []finding.Position {
	files, err := r.tree.Find(ctx, ".", func(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" })
	if err != nil {
		return nil
	}
	var all []finding.Position
	for _, file := range files {
		text, err := r.tree.Read(file)
		if err != nil || repofs.IsUnused(file) || !bytes.Contains(text, []byte(group)) {
			continue
		}
		lines := strings.Split(string(text), "\n")
		ofGroup := func(i int) bool {
			return i >= 0 && i < len(lines) && strings.HasPrefix(value(lines[i], "apiVersion:"), group+"/")
		}
		for i, line := range lines {
			if value(line, "kind:") == kind && (ofGroup(i-1) || ofGroup(i+1)) {
				all = append(all, finding.Position{File: file, Line: i + 1})
			}
		}
	}
	return all
}

// value is what a line gives a key at its start, without quotes.
func value(line, key string) string {
	text, ok := strings.CutPrefix(line, key)
	if !ok {
		return ""
	}
	return strings.Trim(text, " \t\r\"'")
}

// template is what files are called that another program makes Applications of.
const template = "template"

// notTaken is the finding about files that are not read, each as a part that counts as no Application.
func notTaken(files []finding.Position, noun, of, why string) finding.Finding {
	verb := "is"
	if len(files) > 1 {
		verb = "are"
	}
	f := finding.Finding{
		Rule: argocd.RuleNotRead, Severity: finding.Info, Scope: finding.Rule, Basis: finding.Declared, Position: files[0],
		Message: fmt.Sprintf("%s %s %s not read: %s", finding.Count(len(files), noun), of, verb, why),
	}
	for _, at := range files {
		f.Unread = append(f.Unread, finding.Unread{Position: at, Part: true, Template: noun == template, Reason: "a " + noun + " " + of + " is not read: " + why})
	}
	return f
}

// importing says how state files of Helmfile become a platform.
func importing(states []finding.Position) string {
	const most = 3
	if len(states) == 1 {
		return fmt.Sprintf("ladder import helmfile %s makes a platform of it", states[0].File)
	}
	var names []string
	for _, at := range states[:min(len(states), most)] {
		names = append(names, at.File)
	}
	text := "ladder import helmfile makes a platform of each: " + strings.Join(names, ", ")
	if more := len(states) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// stateFiles are the state files of Helmfile, each at the line of its releases or of what it
// includes.
func (r *Repository) stateFiles(ctx context.Context) []finding.Position {
	var all []finding.Position
	for _, place := range helmfile.Places(ctx, r.tree, ".", math.MaxInt) {
		for _, file := range place.Files {
			text, err := r.tree.Read(file)
			if err != nil {
				continue
			}
			if at := ofHelmfile.FindIndex(text); at != nil {
				all = append(all, finding.Position{File: file, Line: 1 + bytes.Count(text[:at[0]], []byte("\n"))})
			}
		}
	}
	slices.SortFunc(all, finding.Position.Compare)
	return all
}

// ofHelmfile matches the sections of a state file that install something.
var ofHelmfile = lazyregexp.New(`(?m)^(?:releases|helmfiles):`)

// templatesOfApplications are the files of which another program makes Applications: templates that
// are no chart's, and Jsonnet in a folder that no Application names.
func (r *Repository) templatesOfApplications(ctx context.Context) []finding.Position {
	files, err := r.tree.Find(ctx, ".", isTemplateOfOther)
	if err != nil {
		return nil
	}
	var all []finding.Position
	for _, file := range files {
		filledIn := r.tree.IsFile(strings.TrimSuffix(file, path.Ext(file)))
		if repofs.IsUnused(file) || filledIn || r.applications != nil && r.applications.Reads(file) {
			continue
		}
		text, err := r.tree.Read(file)
		if err != nil {
			continue
		}
		if at := ofArgo.FindIndex(text); at != nil {
			all = append(all, finding.Position{File: file, Line: 1 + bytes.Count(text[:at[0]], []byte("\n"))})
		}
	}
	return all
}

func isTemplateOfOther(name string) bool {
	ending := path.Ext(name)
	manifest := slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(strings.TrimSuffix(name, ending)))
	return slices.Contains(templateEndings, ending) || ending == jsonnetEnding || ending == ".tpl" && manifest
}
