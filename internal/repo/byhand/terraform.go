package byhand

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/terraform"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// maxTerraform bounds the Terraform of a repository that is read, in bytes.
const maxTerraform = 8 << 20

// terraformed is what Terraform makes: a cluster that it sets up has that before Argo CD or
// Flux. Terraform that cannot be read says nothing.
func (told *Told) terraformed(ctx context.Context, tree *repofs.Tree) {
	all, unread := ofTerraform(ctx, tree)
	told.Unread = unread
	if len(all.Files) == 0 {
		return
	}
	told.Instructions = append(told.Instructions, gateways(all)...)
	made, err := evaluate.Made(ctx, all)
	if err != nil {
		told.Unread = err
		return
	}
	told.Manifests, told.Charts, told.Broken = made.Manifests, made.Releases, made.Broken
	for _, one := range made.Objects {
		if one.Kind != "Namespace" {
			told.Objects = append(told.Objects, Object(one))
		} else if !strings.Contains(one.Name, "*") {
			told.Namespaces = append(told.Namespaces, Namespace{Name: one.Name, Position: one.Position})
		}
	}
	for _, one := range made.Releases {
		if r, ok := terraformRelease(tree, one); ok && !repofs.IsUnused(one.Position.File) {
			told.Releases = append(told.Releases, r)
		}
	}
}

// standardGateways are the CRDs that clusters of GKE have which are told to, and those of Autopilot by default.
// Source: Google Cloud, GKE networking, "Deploy Gateways".
const standardGateways = "https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.2.0/standard-install.yaml"

var gateway = lazyregexp.New(`(?m)^\s*(?:enable_autopilot\s*=\s*true|channel\s*=\s*"CHANNEL_STANDARD"|gateway_api_channel\s*=\s*"CHANNEL_STANDARD")`)

// gateways are the kinds of the Gateway API that clusters of GKE come with.
func gateways(all terraform.Repository) []Instruction {
	for _, f := range all.Files {
		if bytes.Contains(f.Content, []byte("google_container_cluster")) || bytes.Contains(f.Content, []byte("terraform-google-modules/kubernetes-engine")) {
			if at := gateway.FindIndex(f.Content); at != nil {
				line := 1 + bytes.Count(f.Content[:at[1]], []byte("\n"))
				return []Instruction{{Address: standardGateways, Shown: "the Gateway API of GKE", Comes: true, Position: finding.Position{File: f.Path, Line: line}}}
			}
		}
	}
	return nil
}

// ofTerraform are the files of Terraform of a tree, none where nothing in them makes anything. unread
// says of the first one that is left out why.
func ofTerraform(ctx context.Context, tree *repofs.Tree) (all terraform.Repository, unread error) {
	found, _ := tree.Find(ctx, ".", func(name string) bool {
		return path.Ext(name) == ".tf" || path.Ext(name) == ".tfvars" || terraform.IsTerragrunt(name)
	})
	size, makes := 0, false
	for _, file := range found {
		if repofs.IsFixture(file) || strings.Contains(file, ".terraform/") {
			continue
		}
		data, err := tree.Read(file)
		if err == nil && size+len(data) > maxTerraform {
			err = fmt.Errorf("with %s the Terraform of the repository is larger than %d MiB", file, maxTerraform>>20)
		}
		if err != nil {
			unread = cmp.Or(unread, err)
			continue
		}
		size += len(data)
		one := terraform.File{Path: file, Content: data}
		switch path.Ext(file) {
		case ".tfvars":
			all.Variables = append(all.Variables, one)
			continue
		case ".hcl":
			all.Terragrunt = append(all.Terragrunt, one)
			continue
		}
		all.Files = append(all.Files, one)
		makes = makes || terraform.Makes(one)
	}
	if !makes {
		return terraform.Repository{}, unread
	}
	return all, unread
}

// crdSwitches are the values by which charts bring their CRDs.
var crdSwitches = []string{"crds.enabled", "installCRDs", "crds.install", "crds.create"}

// terraformRelease is a release of a chart in a repository of charts.
func terraformRelease(tree *repofs.Tree, one terraform.Release) (r Release, ok bool) {
	r = Release{
		Repository: one.Repository, Chart: one.Chart, Version: one.Version, Name: one.Name, Namespace: one.Namespace,
		Set: map[string]string{}, Partial: one.Open, Position: one.Position,
	}
	if strings.HasPrefix(r.Chart, "oci://") {
		r.Repository, r.Chart = path.Dir(r.Chart), path.Base(r.Chart)
	}
	if r.Repository == "" {
		return r, false
	}
	for _, p := range one.Set {
		if appset.IsMarked(p.Value) {
			r.Partial = true
			continue
		}
		r.Set[p.Name] = p.Value
	}
	for _, v := range one.Values {
		switch {
		case v.File != "" && isWhole(tree, v.File):
			r.ValueFiles = append(r.ValueFiles, v.File)
		case v.File == "" && len(one.Values) == 1 && !appset.IsMarked(v.Text):
			document, err := yamldoc.ParseOne(v.Position.File, []byte(v.Text))
			if err != nil {
				r.Partial = true
				continue
			}
			r.Values, _ = document.Any().(map[string]any)
		default:
			r.Partial = true
		}
	}
	if r.Partial {
		// Whether they bring the CRDs is not known: they may.
		for _, name := range crdSwitches {
			if r.Set[name] == "" {
				r.Set[name] = "true"
			}
		}
	}
	return r, true
}

// isWhole reports whether a file is there and holds nothing that Terraform fills in.
func isWhole(tree *repofs.Tree, file string) bool {
	data, err := tree.Read(file)
	return err == nil && !bytes.Contains(data, []byte("${")) && !bytes.Contains(data, []byte("%{"))
}
