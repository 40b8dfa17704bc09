package terraform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/terraform"
)

func TestReadsReleases(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a value of a variable": {
			`values = [yamlencode({ a = var.size, b = [local.own, { c = null }] })]`,
			`{"a":"{{var.size}}","b":["x",{"c":null}]}`,
		},
		"a variable that may have more": {`values = [yamlencode({ a = var.more, b = merge({ c = 1 }, var.more) })]`, `{"a":"{{var.more}}","b":{"c":"{{main.tf-10-61}}","{{more}}":true}}`},
		"a choice":                      {`values = [yamlencode({ a = var.size == 1 ? { b = "1", c = "2" } : { b = "3" } })]`, `{"a":{"b":"{{main.tf-10-30}}","c":"2"}}`},
		"a text":                        {"values = [<<-EOT\n  a: ${var.size}\n  b: 1\nEOT\n]", "a: {{var.size}}\nb: 1\n"},
		"files":                         {`values = [file("${path.module}/a.yaml"), templatefile("../b.tpl", {})]`, `infra/a.yaml b.tpl`},
		"a file outside":                {`values = [file("../../a.yaml")]`, `open`},
		"a file that a variable names":  {`values = [file("${var.size}.yaml")]`, `open`},
		"a local text":                  {`values = [local.text, var.size == 1 ? local.text : "b: 2"]`, `{"a":"x"} {"a":"x"} b: 2`},
		"a local text that is itself":   {`values = [local.loop]`, `open`},
		"values of a variable":          {`values = var.more`, `open`},
		"a text of a variable":          {`values = [var.size]`, `open`},
		"a list that is made":           {`values = [for f in var.more : file(f)]`, `open`},
		"blocks of single values":       {"set {\n  name  = \"a.b\"\n  value = var.size\n}\n", `a.b={{var.size}}`},
		"single values":                 {`set = [{ name = "a.b", value = true }]`, `a.b=true`},
		"single values that are made":   {"dynamic \"set\" {\n  for_each = var.more\n  content {}\n}\n", `open`},
		"no release":                    {`count = 0`, ``},
		"perhaps a release":             {`count = var.size == 1 ? 1 : 0`, ``},
	} {
		main := `
variable "size" { default = 1 }
variable "more" { default = {} }
locals {
  own  = "x"
  text = yamlencode({ a = local.own })
  loop = local.loop
}
resource "helm_release" "tool" {
  ` + test.text + `
  chart = "tool"
}
resource "helm_release" "beside" { chart = "other" }
resource "helm_release" "folder" { chart = "${path.module}/tool" }
`
		all, err := terraform.Releases(terraform.OfChart{Chart: "tool", Folder: terraform.Folder{Files: []terraform.File{{Path: "infra/main.tf", Content: []byte(main)}}}})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 0, false: 1}[name == "no release"]; len(all) != want {
			t.Errorf("%s: %d releases", name, len(all))
			continue
		}
		var parts []string
		for _, r := range all {
			for _, v := range r.Values {
				parts = append(parts, v.Text+v.File)
			}
			for _, p := range r.Set {
				parts = append(parts, fmt.Sprintf("%s=%s", p.Name, p.Value))
			}
			if r.Open {
				parts = append(parts, "open")
			}
		}
		if got := appset.Written(strings.Join(parts, " ")); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// Choices between choices double the texts: more than a few of them may be any.
func TestReleasesOfManyChoices(t *testing.T) {
	var text strings.Builder
	text.WriteString("locals {\n")
	const depth = 60
	for i := range depth {
		fmt.Fprintf(&text, "  a%d = var.x ? local.a%d : local.a%d\n", i, i+1, i+1)
	}
	fmt.Fprintf(&text, "  a%d = \"configs: {}\"\n}\nresource \"helm_release\" \"argocd\" {\n  chart = \"argo-cd\"\n  values = [local.a0]\n}\n", depth)
	got, err := terraform.Releases(terraform.OfChart{Folder: terraform.Folder{Files: []terraform.File{{Path: "main.tf", Content: []byte(text.String())}}}, Chart: "argo-cd"})
	if err != nil || len(got) != 1 || !got[0].Open || len(got[0].Values) > 0 {
		t.Errorf("%+v, %v: want one release whose values may be any", got, err)
	}
}
