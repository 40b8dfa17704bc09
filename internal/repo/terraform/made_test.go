package terraform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/terraform"
)

// made is what some files make, a line each: kinds and names of objects, and releases as
// "chart repository version namespace/name".
func made(t *testing.T, files map[string]string) string {
	t.Helper()
	var all terraform.Repository
	for name, text := range files {
		f := terraform.File{Path: name, Content: []byte(text)}
		if strings.HasSuffix(name, ".tfvars") {
			all.Variables = append(all.Variables, f)
		} else {
			all.Files = append(all.Files, f)
		}
	}
	m, err := terraform.MadeBy(all)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, o := range m.Objects {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", o.Kind, o.Name, o.Namespace)))
	}
	for _, r := range m.Releases {
		lines = append(lines, fmt.Sprintf("%s %s %s %s/%s", r.Chart, r.Repository, r.Version, r.Namespace, r.Name))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestMadeBy(t *testing.T) {
	const namespace = `resource "kubernetes_namespace" "x" {
  %s
  metadata { name = %s }
}
`
	one := func(more, name string) string { return fmt.Sprintf(namespace, more, name) }
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a name":                      {map[string]string{"main.tf": one("", `"web"`)}, "Namespace web"},
		"a name of a local value":     {map[string]string{"main.tf": one("", "local.name") + "locals { name = \"${local.team}-web\" }\n", "b.tf": "locals { team = \"a\" }"}, "Namespace a-web"},
		"a name by default":           {map[string]string{"main.tf": one("", "var.name") + `variable "name" { default = "web" }`}, "Namespace web"},
		"a name that is set":          {map[string]string{"main.tf": one("", "var.name") + `variable "name" { default = "web" }`, "terraform.tfvars": `name = "shop"`}, "Namespace shop"},
		"a name for each environment": {map[string]string{"main.tf": one("", "var.name") + "variable \"name\" {}", "env/dev.tfvars": `name = "dev"`, "env/prod.tfvars": `name = "prod"`}, "Namespace dev\nNamespace prod"},
		"a name that nobody says":     {map[string]string{"main.tf": one("", "var.name") + "variable \"name\" {}"}, ""},
		"a part of a name": {map[string]string{"main.tf": `resource "kubernetes_secret" "x" {
  metadata {
    name      = "web-${random_id.x.hex}"
    namespace = "shop"
  }
}`}, "Secret web-* shop"},
		"one for each":            {map[string]string{"main.tf": one("for_each = toset(var.names)", "each.key") + `variable "names" { default = ["a", "b"] }`}, "Namespace a\nNamespace b"},
		"none":                    {map[string]string{"main.tf": one("count = 0", `"web"`)}, ""},
		"none where nobody wants": {map[string]string{"main.tf": one("count = var.on ? 1 : 0", `"web"`) + `variable "on" { default = true }`, "x.auto.tfvars": "on = false"}, ""},
		"perhaps":                 {map[string]string{"main.tf": one("count = var.on ? 1 : 0", `"web"`) + `variable "on" { default = false }`}, "Namespace web"},
		"a module": {map[string]string{
			"live/main.tf":    "module \"a\" {\n  source = \"../modules/ns\"\n  names = [\"a\", \"b\"]\n}\nmodule \"c\" {\n  source = \"../modules/ns\"\n  names = [var.c]\n}\nvariable \"c\" { default = \"c\" }",
			"modules/ns/x.tf": one("for_each = toset(var.names)", "each.value") + `variable "names" { default = ["unused"] }`,
		}, "Namespace a\nNamespace b\nNamespace c"},
		"modules within each other": {map[string]string{
			"live/main.tf":       "module \"a\" {\n  source = \"../modules/outer\"\n  name = \"shop\"\n}",
			"modules/outer/x.tf": "variable \"name\" {}\nmodule \"b\" {\n  source = \"../inner\"\n  name = \"${var.name}-web\"\n}",
			"modules/inner/x.tf": one("", "var.name") + "variable \"name\" {}",
		}, "Namespace shop-web"},
		"modules in a circle": {map[string]string{
			"a/x.tf": "module \"b\" {\n  source = \"../b\"\n}",
			"b/x.tf": "module \"a\" {\n  source = \"../a\"\n}\n" + one("", `"web"`),
		}, "Namespace web"},
		"a module that nobody wants": {map[string]string{
			"live/main.tf":    "module \"a\" {\n  count  = 0\n  source = \"../modules/ns\"\n}",
			"modules/ns/x.tf": one("", `"web"`),
		}, ""},
		"a release": {map[string]string{"main.tf": `resource "helm_release" "x" {
  name             = "cert-manager"
  repository       = "https://charts.jetstack.io"
  chart            = "cert-manager"
  version          = var.version_of
  namespace        = local.namespace
  create_namespace = true
}
locals { namespace = "cert-manager" }
variable "version_of" { default = "v1.14.0" }
`}, "Namespace cert-manager\ncert-manager https://charts.jetstack.io v1.14.0 cert-manager/cert-manager"},
		"a release of a chart by default": {map[string]string{"main.tf": `resource "helm_release" "x" {
  name       = "eso"
  repository = var.repository
  chart      = var.chart
}
variable "repository" { default = "https://charts.external-secrets.io" }
variable "chart" { default = "external-secrets" }
`}, "external-secrets https://charts.external-secrets.io  /eso"},
		"a release of a chart that nobody says": {map[string]string{"main.tf": "resource \"helm_release\" \"x\" {\n  name = \"x\"\n  chart = var.chart\n}\nvariable \"chart\" {}"}, ""},
		"no Terraform beside some":              {map[string]string{"a/x.tf": "resource {", "b/x.tf": one("", `"web"`)}, "Namespace web"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := made(t, test.files); got != test.want {
				t.Errorf("made\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
