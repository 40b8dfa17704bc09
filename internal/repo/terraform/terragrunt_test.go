package terraform

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A unit is called by its folder and has what it includes, what it reads, and marks for what is
// not known; one with a module elsewhere is none.
func TestUnits(t *testing.T) {
	file := func(path, content string) File { return File{Path: path, Content: []byte(content)} }
	units, err := Units([]File{
		file("terragrunt.hcl", "inputs = {\n  name = \"root\"\n  owner = \"us\"\n}\n"),
		file("live/region.hcl", "locals {\n  region = \"eu\"\n}\n"),
		file("live/a/terragrunt.hcl", `
include "root" {
  path = find_in_parent_folders()
}
locals {
  vars = read_terragrunt_config(find_in_parent_folders("region.hcl"))
  name = "a-${local.vars.locals.region}"
}
terraform {
  source = "../../modules//one"
}
dependency "b" {
  config_path = "../b"
}
inputs = {
  name = local.name
  size = 2
  list = ["x", "y"]
  from = { b = dependency.b.outputs.id }
}
`),
		file("live/b/terragrunt.hcl", "terraform {\n  source = \"${get_repo_root()}/modules/two\"\n}\ninputs = {\n  on = true\n}\n"),
		file("live/c/terragrunt.hcl", "terraform {\n  source = \"git::https://example.org/modules.git//three?ref=v1\"\n}\n"),
		file("live/d/terragrunt.hcl", "terraform {\n  source = \"../../../../outside\"\n}\n"),
		file("live/e/terragrunt.hcl", "inputs = {\n"),
		file("live/f/terragrunt.hcl", "locals {\n  x = read_terragrunt_config(\"terragrunt.hcl\")\n}\ninclude \"self\" {\n  path = \"terragrunt.hcl\"\n}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range units {
		got = append(got, u.Folder+" by "+u.Variables.Path)
		values := valuesOf([]File{u.Variables})
		for _, name := range []string{"name", "owner", "size"} {
			if s, ok := asText(values[name]); ok {
				got = append(got, "  "+name+" = "+s)
			}
		}
	}
	want := []string{"modules/one by live/a/terragrunt.hcl", "  name = a-eu", "  owner = us", "  size = 2", "modules/two by live/b/terragrunt.hcl", "live/f by live/f/terragrunt.hcl", ". by terragrunt.hcl", "  name = root", "  owner = us"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
