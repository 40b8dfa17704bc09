package terraform_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/terraform"
)

func read(t *testing.T, main string, variables ...string) []terraform.Cluster {
	t.Helper()
	f := terraform.Folder{Files: []terraform.File{{Path: "infra/main.tf", Content: []byte(main)}}}
	for _, v := range variables {
		f.Variables = append(f.Variables, terraform.File{Path: "infra/x.tfvars", Content: []byte(v)})
	}
	all, err := terraform.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// want is a map with its marks as they are written in templates.
func want(t *testing.T, what string, have map[string]string, pairs ...string) {
	t.Helper()
	expected := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		expected[pairs[i]] = pairs[i+1]
	}
	shown := map[string]string{}
	for k, v := range have {
		shown[k] = appset.Written(v)
	}
	if !maps.Equal(shown, expected) {
		t.Errorf("%s: have %v, want %v", what, shown, expected)
	}
}

func TestReadsTheClusterOfTheModule(t *testing.T) {
	all := read(t, `
variable "name" {
  type = string
}
variable "basepath" { default = "gitops/" }
variable "token" {
  default   = "hunter2"
  sensitive = true
}
variable "addons" {
  default = { enable_velero = true }
}
locals {
  metadata = merge(module.addons.gitops_metadata, {
    addons_repo_basepath = var.basepath
    aws_vpc_id           = module.vpc.vpc_id
    token                = var.token
    folder               = "${var.basepath}charts"
    size                 = var.basepath == "gitops/" ? "small" : "large"
    zone                 = module.vpc.zone == "a" ? "one" : "two"
  })
  addons = {
    enable_velero   = try(var.addons.enable_velero, false)
    enable_keda     = try(var.addons.enable_keda, false)
    enable_upper    = upper("x${var.name}")
    cluster_role    = "control-plane"
  }
}
module "bridge" {
  source  = "gitops-bridge-dev/gitops-bridge/helm"
  cluster = { cluster_name = var.name, environment = "production", metadata = local.metadata, addons = local.addons }
}
`)
	if len(all) != 1 {
		t.Fatalf("%d clusters", len(all))
	}
	c := all[0]
	if appset.Written(c.Name) != "{{var.name}}" || c.Server != "https://kubernetes.default.svc" || c.Position.Line != 29 {
		t.Errorf("the cluster is %q at %q, line %d", c.Name, c.Server, c.Position.Line)
	}
	// A text that is not passed on as it is has no name but its place.
	want(t, "labels", c.Labels, "cluster_name", "{{var.name}}", "environment", "production", "enable_argocd", "true",
		"argocd.argoproj.io/secret-type", "cluster", "enable_velero", "{{var.addons.enable_velero}}", "enable_keda", "false",
		"enable_upper", "{{main.tf-25-23}}", "cluster_role", "control-plane")
	want(t, "annotations", c.Annotations, "cluster_name", "{{var.name}}", "environment", "production",
		"addons_repo_basepath", "{{var.basepath}}", "aws_vpc_id", "{{module.vpc.vpc_id}}", "token", "{{var.token}}",
		"folder", "{{var.basepath}}charts", "size", "small", "zone", "{{main.tf-20-28}}")
	want(t, "defaults", c.Defaults, "var.basepath", "gitops/", "var.addons.enable_velero", "true")
	if c.OpenLabels || !c.OpenAnnotations {
		t.Errorf("open: labels %v, annotations %v", c.OpenLabels, c.OpenAnnotations)
	}
}

func TestReadsTheOnlyValueThatAVariableMayHave(t *testing.T) {
	all := read(t, `
variable "environment" {
  type = string
  validation {
    condition     = contains(["dev"], var.environment)
    error_message = "dev only"
  }
}
variable "tier" {
  validation { condition = contains(["gold", "tin"], var.tier) }
}
resource "kubernetes_secret_v1" "cluster" {
  metadata {
    name   = "x"
    labels = { "argocd.argoproj.io/secret-type" = "cluster", environment = var.environment, tier = var.tier }
  }
  data = { name = "x", server = "https://x.example.org" }
}
`)
	if len(all) != 1 {
		t.Fatalf("%d clusters", len(all))
	}
	want(t, "defaults", all[0].Defaults, "var.environment", "dev")
}

func TestReadsWhatFilesOfVariablesSet(t *testing.T) {
	all := read(t, `
variable "spokes" {
  default = {}
}
resource "kubernetes_secret_v1" "spoke" {
  for_each = var.spokes
  metadata {
    name   = "spoke-${each.key}"
    labels = { "argocd.argoproj.io/secret-type" = "cluster", tier = each.value.tier }
    annotations = { region = each.value.region }
  }
  data = {
    name   = each.key
    server = "https://${each.key}.example.org"
    config = jsonencode({ bearerToken = var.token })
  }
}
resource "kubernetes_secret" "other" {
  metadata {
    name   = "registry"
    labels = { app = "x" }
  }
}
resource "kubernetes_secret" "none" {
  count = 0
  metadata {
    labels = { "argocd.argoproj.io/secret-type" = "cluster" }
  }
}
`, `spokes = {
  east = { tier = "gold", region = "eu" }
  west = { tier = "tin", region = "us" }
}`)
	if len(all) != 2 {
		t.Fatalf("%d clusters", len(all))
	}
	if all[0].Name != "east" || all[0].Server != "https://east.example.org" || all[1].Name != "west" {
		t.Errorf("the clusters are %s at %s and %s", all[0].Name, all[0].Server, all[1].Name)
	}
	want(t, "labels", all[1].Labels, "argocd.argoproj.io/secret-type", "cluster", "tier", "tin")
	want(t, "annotations", all[0].Annotations, "region", "eu")
}

func TestHostileTerraformEnds(t *testing.T) {
	module := "\nmodule \"b\" {\n  cluster = { addons = local.a, metadata = {} }\n}\n"
	for name, text := range map[string]string{
		"a circle":    "locals {\n  a = local.b\n  b = local.a\n}" + module,
		"a file":      "locals {\n  a = { x = file(\"/etc/passwd\"), y = templatefile(\"z\", {}) }\n}" + module,
		"deep locals": "locals {\n  a = " + strings.Repeat("(", 500) + "1" + strings.Repeat(")", 500) + "\n}" + module,
	} {
		for _, c := range read(t, text) {
			for k, v := range c.Labels {
				if strings.Contains(v, "root:") {
					t.Errorf("%s: the label %s is %q", name, k, v)
				}
			}
		}
	}
}

// A file that is no Terraform is told by its place, and nothing of it is quoted.
func TestNoTerraform(t *testing.T) {
	for name, text := range map[string]string{
		"a block without end": "locals {\n  password = \"canary\"\n",
		"braces":              "module \"b\" {{{",
		"a template":          "locals {\n  {% if canary %}\n}\n",
	} {
		_, err := terraform.Read(terraform.Folder{Files: []terraform.File{{Path: "infra/main.tf", Content: []byte(text)}}})
		if err == nil || !strings.HasPrefix(err.Error(), "infra/main.tf:") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
