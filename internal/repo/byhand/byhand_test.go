package byhand

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name, content string
		want          []string // "line address"
	}{
		{"a file", "## Install\n\n```bash\nkubectl apply --server-side -f https://example.org/install.yaml\n```\n", []string{"4 https://example.org/install.yaml"}},
		{"two files of one command", "kubectl create -f https://example.org/a.yaml -f 'https://example.org/b.yaml'\n", []string{"1 https://example.org/a.yaml", "1 https://example.org/b.yaml"}},
		{"a folder of Git", "kubectl apply -k \"github.com/o/r/config/crd?ref=v1\"", []string{"1 github.com/o/r/config/crd?ref=v1"}},
		{"a command on several lines", "set -e\nkubectl --context x \\\n  apply \\\n  -f \"https://example.org/${VERSION}/a.yaml\"\n", []string{"2 https://example.org/${VERSION}/a.yaml"}},
		{"handed over", "curl -sL https://example.org/a.yaml | kubectl apply -f -", []string{"1 https://example.org/a.yaml"}},
		{"in a sentence", "Run `kubectl apply -f https://example.org/a.yaml`.", []string{"1 https://example.org/a.yaml"}},
		{"a client in a variable", "k=1\n${_kubectl} --context x apply -f https://example.org/a.yaml\n$(OC) apply -f https://example.org/b.yaml\n$TOOL apply -f https://example.org/c.yaml", []string{"2 https://example.org/a.yaml", "3 https://example.org/b.yaml"}},
		{"PowerShell is no document", "kubectl `\n  apply -f https://example.org/a.yaml", nil},
		{"another client", "oc apply -f https://example.org/a.yaml", []string{"1 https://example.org/a.yaml"}},
		{"taken away", "kubectl delete -f https://example.org/a.yaml", nil},
		{"looked at", "kubectl get -f https://example.org/a.yaml; echo apply", nil},
		{"a comment", "  # kubectl apply -f https://example.org/a.yaml", nil},
		{"a comment of several lines", "# kubectl apply \\\n#  -f https://example.org/a.yaml", nil},
		{"a file of the repository", "kubectl apply -f bootstrap/", nil},
		{"an address beside it", "see https://example.org/a.yaml\nkubectl apply -f a.yaml", nil},
		{"an end in the middle", "kubectl apply \\", nil},
		{"handed over on the next line", "curl -sL https://example.org/a.yaml |\n  kubectl apply -f -", []string{"1 https://example.org/a.yaml"}},
		{"a table", "| see https://example.org/a.yaml |\n| kubectl apply -f b.yaml |", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, one := range instructions(newText("README.md", []byte(tc.content))) {
				got = append(got, strings.TrimPrefix(one.Position.String(), "README.md:")+" "+one.Address)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestReleases(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"bootstrap/argocd/Chart.yaml": "name: own\ndependencies: [{name: argo-cd, version: 9.0.0, repository: https://argo.example.org}]\n",
		"bootstrap/up.sh": "helm install argocd ./argocd\n" +
			"helm install v oci://v.example.org/v --values v.yaml -f \"$DIR/w.yaml,../x.yaml\"\n" +
			"helm install v oci://v.example.org/v -f none.yaml\nhelm install v oci://v.example.org/v -f ../../outside.yaml --skip-crds\n",
		"bootstrap/wrapped.sh": "helm_apply issuer jetstack/trust-manager cert-manager --version 0.9.0\nhelm_apply other unknown/chart namespace\nhelm_wait jetstack/c\n",
		"bootstrap/mesh.sh":    "istioctl install -f \"${operator}\" -y\nistioctl proxy-status\n",
		"bootstrap/v.yaml":     "a: 1\n", "v.yaml": "a: 2\n", "w.yaml": "b: 1\n", "x.yaml": "c: 1\n",
		"bootstrap/apps.sh": "kustomize build --enable-helm -o ../apps/k/more.yaml ../apps/l |\n  kubectl apply --filename -\n" +
			"kustomize build ../apps/k | kubectl apply -f -\n",
		"apps/k/more.yaml":          "b: 2\n",
		"apps/k/kustomization.yaml": "helmCharts: [{name: k, repo: https://k.example.org, version: 3.0.0, includeCRDs: true, valuesFile: more.yaml, valuesInline: {a: 1}}]\n",
		"apps/l/kustomization.yaml": "resources: [../k]\nhelmCharts: [{name: l, repo: oci://l.example.org, valuesFile: none.yaml}]\n",
		"README.md": "Run `helm repo add jetstack https://charts.jetstack.io`.\n\n" +
			"helm upgrade --install cert-manager \\\n  jetstack/cert-manager -n cert-manager --set crds.enabled=true,a=b --version v1.2.3 # now\n" +
			"# helm install a jetstack/a\nhelm install b other/b\nhelm uninstall c jetstack/c\n" +
			"helm install d d --repo https://d.example.org -f values.yaml\nhelm install e oci://e.example.org/charts/e && helm list\n",
	} {
		writeFile(t, root, name, content)
	}
	var got []string
	for _, r := range Find(context.Background(), &repofs.Tree{Root: root, Repository: root}).Releases {
		text := fmt.Sprintf("%s %s %s %s %v partial=%t", r.Position, r.Repository, r.Chart, r.Version, r.Set, r.Partial)
		if len(r.ValueFiles)+len(r.Values) > 0 {
			text += fmt.Sprintf(" files=%v values=%v", r.ValueFiles, r.Values)
		}
		if r.SkipCRDs {
			text += " skips"
		}
		got = append(got, text)
	}
	want := []string{
		"bootstrap/apps.sh:1 oci://l.example.org l  map[] partial=true skips",
		"bootstrap/apps.sh:1 https://k.example.org k 3.0.0 map[] partial=false files=[apps/k/more.yaml] values=map[a:1]",
		"bootstrap/mesh.sh:1 https://istio-release.storage.googleapis.com/charts base  map[] partial=true",
		"bootstrap/mesh.sh:1 https://istio-release.storage.googleapis.com/charts istiod  map[] partial=true",
		"bootstrap/up.sh:1 https://argo.example.org argo-cd 9.0.0 map[] partial=true",
		"bootstrap/up.sh:2 oci://v.example.org v  map[] partial=false files=[bootstrap/v.yaml w.yaml x.yaml] values=map[]",
		"bootstrap/up.sh:3 oci://v.example.org v  map[] partial=true",
		"bootstrap/up.sh:4 oci://v.example.org v  map[] partial=true skips",
		"bootstrap/wrapped.sh:1 https://charts.jetstack.io trust-manager 0.9.0 map[] partial=false",
		"README.md:3 https://charts.jetstack.io cert-manager v1.2.3 map[a:b crds.enabled:true] partial=false",
		"README.md:8 https://d.example.org d  map[] partial=true",
		"README.md:9 oci://e.example.org/charts e  map[] partial=false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"README.md":                     "kubectl apply -f https://example.org/readme.yaml",
		"Makefile":                      "up:\n\tkubectl apply -f https://example.org/make.yaml",
		"hack/up.sh":                    "kubectl apply -f https://example.org/script.yaml",
		"hack/kind.sh":                  "kind create cluster\nkubectl apply -f https://example.org/trial.yaml",
		"hack/local.sh":                 "kind create cluster\nkubectl apply -f https://example.org/local.yaml\nkubectl apply -n argocd -f root.yaml",
		"run.sh":                        "./hack/cluster.sh\n# hack/kind.sh\nhack/kind.sh.old\n./argocd.sh",
		"hack/cluster.sh":               "kind create cluster\nkubectl apply -f https://example.org/cluster.yaml",
		"trial.sh":                      "./hack/kind.sh\nkubectl get nodes",
		"deploy.yaml":                   "run: kubectl apply -f https://example.org/no.yaml",
		"charts/a/Chart.yaml":           "name: a",
		"charts/a/README.md":            "kubectl apply -f https://example.org/of-a-chart.yaml",
		"charts/a/docs/more/install.md": "kubectl apply -f https://example.org/of-a-chart.yaml",
		"test/testdata/x.sh":            "kubectl apply -f https://example.org/of-a-test.yaml",
	} {
		writeFile(t, root, name, content)
	}
	var got []string
	for _, one := range Find(context.Background(), &repofs.Tree{Root: root, Repository: root}).Instructions {
		got = append(got, one.Position.String()+" "+one.Address)
	}
	want := []string{"Makefile:2 https://example.org/make.yaml", "hack/cluster.sh:2 https://example.org/cluster.yaml", "hack/local.sh:2 https://example.org/local.yaml", "hack/up.sh:1 https://example.org/script.yaml", "README.md:1 https://example.org/readme.yaml"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A command goes on behind a backslash or a pipe, and in a Taskfile before one too.
func TestCommands(t *testing.T) {
	for _, tc := range []struct {
		file, content string
		want          []string // "line text"
	}{
		{"Taskfile.yml", "- build a\n  | apply\n- until build b |\n    apply; do\n- |\n  x\ncmd: |\n  # y\n  z\n", []string{"1 - build a | apply", "3 - until build b | apply; do", "5 - |", "6 x", "7 cmd: |", "9 z"}},
		{"up.sh", "a |\n\tb |\n\tc\n# d |\ne || \\\n f", []string{"1 a | b | c", "5 e ||  f"}},
		{"README.md", "a |\nb\n| c | d |\n| e | f |\n", []string{"1 a | b", "3 | c | d |", "4 | e | f |"}},
	} {
		var got []string
		for _, c := range commands(tc.file, []byte(tc.content)) {
			if c.text != "" {
				got = append(got, fmt.Sprintf("%d %s", c.line, c.text))
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.file, got, tc.want)
		}
	}
}

// Whatever the text, addresses are parts of it, on lines that it has.
func FuzzRead(f *testing.F) {
	f.Add("kubectl apply -f https://example.org/a.yaml")
	f.Add("kubectl \\\n apply -f \\\nhttps://a |\n oc create \\")
	f.Fuzz(func(t *testing.T, text string) {
		for _, one := range instructions(newText("x.sh", []byte(text))) {
			if one.Address == "" || !strings.Contains(text, one.Address) {
				t.Fatalf("address %q", one.Address)
			}
			if one.Position.Line < 1 || one.Position.Line > strings.Count(text, "\n")+1 {
				t.Fatalf("line %d", one.Position.Line)
			}
		}
	})
}

// Of folders the files in them are applied, and of a kustomization what it is made of.
func TestFiles(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"bootstrap/up.sh": strings.Join([]string{
			`kubectl apply -n argocd -f projects/ -f "$ROOT/root.yaml"`,
			"kubectl apply -Rf deep",
			"kubectl apply --filename=deep/a.yaml,root.yaml --server-side=true",
			"oc apply \\",
			"  -k overlays/hub",
			"kustomize build overlays/other | kubectl apply -f -",
			"kubectl create -f root.yaml --dry-run=client",
			"kubectl delete -f root.yaml; cat deep/a.yaml | kubectl apply -f -",
			"kubectl apply -f here.yaml && kubectl apply -f ../root.yaml",
			"kubectl apply -f ../../outside.yaml -f $NAME/x.yaml -f none/ -f overlays/*",
		}, "\n"),
		"README.md":                         "Run `oc apply -k overlays/hub/`, or\n# kubectl apply -f root.yaml",
		"root.yaml":                         "kind: Application",
		"bootstrap/here.yaml":               "kind: Application",
		"projects/one.yaml":                 "kind: AppProject",
		"projects/two.yml":                  "kind: AppProject",
		"projects/notes.txt":                "no manifest",
		"projects/below/three.yaml":         "kind: AppProject",
		"deep/a.yaml":                       "kind: Application",
		"deep/er/b.json":                    "{}",
		"overlays/hub/kustomization.yaml":   "resources: [../base, app.yaml, https://example.org/a.yaml, ../../../outside]",
		"overlays/hub/app.yaml":             "kind: Application",
		"overlays/base/kustomization.yaml":  "resources: [base.yaml, ../hub]",
		"overlays/base/base.yaml":           "kind: Application",
		"overlays/other/kustomization.yaml": "bases: [../base]",
	} {
		writeFile(t, root, name, content)
	}
	told := Find(context.Background(), &repofs.Tree{Root: root, Repository: root})
	of := func(all []Instruction) (got []string) {
		for _, one := range all {
			got = append(got, fmt.Sprintf("%d %s", one.Position.Line, one.Address))
		}
		return got
	}
	want := []string{
		"1 projects/one.yaml", "1 projects/two.yml", "1 root.yaml",
		"2 deep/a.yaml", "2 deep/er/b.json", "3 deep/a.yaml", "3 root.yaml",
		"4 overlays/base/base.yaml", "4 overlays/hub/app.yaml",
		"6 overlays/base/base.yaml", "6 overlays/hub/app.yaml", "8 deep/a.yaml",
		"9 bootstrap/here.yaml", "9 root.yaml",
	}
	if got := of(told.Files); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := of(told.Shown), []string{"1 overlays/base/base.yaml", "1 overlays/hub/app.yaml"}; !slices.Equal(got, want) {
		t.Errorf("documents: got %q, want %q", got, want)
	}
}

// What a command, a document or Terraform creates is known by its kind and name, with what a
// variable fills in left open.
func TestObjects(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"justfile":       "secret ROLE:\n    kubectl create secret generic -n web web-{{ROLE}}-credentials --from-literal=a=b\n",
		"README.md":      "```yaml\napiVersion: v1\nkind: Secret\nmetadata:\n  name: registry\n```\n`oc create sa deployer-bot`\n`kubectl create secret generic elsewhere -n other`\n",
		"main.tf":        "resource \"kubernetes_secret_v1\" \"x\" {\n  metadata {\n    name = \"tunnel\"\n  }\n}\n",
		"deploy.py":      "make(name=\"grafana-admin\")\n",
		"web/web.yaml":   "# first: oauth-client\nname: database\n",
		"hooks/all.yaml": "data:\n  run: |\n    NAME=$(jq -r .name event)\n    kubectl create secret generic keycloak-client-\"${NAME}\"\n    x-\"${NAME}\"\n  other: grafana-viewer\n",
		"docs/notes.md":  "kind: Gateway\nname: shown\n",
	} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree := &repofs.Tree{Root: root, Repository: root}
	told := Find(t.Context(), tree)
	matches := func(kind, name string) bool {
		return slices.ContainsFunc(told.Objects, func(o Object) bool { return o.Matches(kind, "web", name) })
	}
	for _, tc := range []struct {
		kind, name string
		want       bool
	}{
		{"Secret", "web-preview-credentials", true},
		{"Secret", "web-credentials", false},
		{"Secret", "elsewhere", false},
		{"ConfigMap", "web-preview-credentials", false},
		{"Secret", "registry", true},
		{"ServiceAccount", "deployer-bot", true},
		{"Secret", "tunnel", true},
		{"Gateway", "shown", false},
	} {
		if got := matches(tc.kind, tc.name); got != tc.want {
			t.Errorf("%s %s: %v", tc.kind, tc.name, got)
		}
	}
	said := Mentions(t.Context(), tree, map[string]bool{"grafana-admin": true, "oauth-client": true, "database": true, "keycloak-client-web": true, "grafana-viewer": true, "x-web": true})
	if len(said) != 3 || said["keycloak-client-web"] != (finding.Position{File: "hooks/all.yaml", Line: 4}) || said["grafana-admin"].File != "deploy.py" || said["oauth-client"].Line != 1 {
		t.Errorf("mentions: %v", said)
	}
}

// A line of many commands, and many names with variables, are bounded: what is asked of them
// takes no longer for a hostile document.
func TestObjectsAreBounded(t *testing.T) {
	line := strings.Repeat("kubectl create secret generic a ", 25_000)
	if got := len(objects(newText("install.sh", []byte(line)))); got != maxCreated {
		t.Errorf("one line creates %d objects", got)
	}
	var all []Object
	for i := range 2 * maxPatterns {
		all = append(all, Object{Kind: "Secret", Name: fmt.Sprintf("secret-%d-*", i)})
	}
	all = append(all, Object{Kind: "Secret", Name: "plain", Namespace: "web"})
	known := NewObjects(all)
	if len(known.pattern) != maxPatterns || len(known.Like("Secret", "plain")) != 1 || len(known.Like("Secret", "secret-7-x")) != 1 {
		t.Errorf("%d patterns, %v, %v", len(known.pattern), known.Like("Secret", "plain"), known.Like("Secret", "secret-7-x"))
	}
}

func TestHelmfiles(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"kubernetes/bootstrap/crds.yaml":        "releases: []",
		"kubernetes/bootstrap/apps.yaml":        "releases: []",
		"one/twice.yaml":                        "releases: []",
		"two/twice.yaml":                        "releases: []",
		"bootstrap/helmfile.d/00-crds.yaml":     "releases: []",
		".taskfiles/Taskfile.yaml":              "- helmfile template -f bootstrap/crds.yaml -q | kubectl apply -f -\n- helmfile sync --file \"{{ .BOOTSTRAP }}/apps.yaml\" --hide-notes\n- helmfile sync -f twice.yaml\n- helmfile diff -f bootstrap/apps.yaml",
		"scripts/bootstrap.sh":                  "helmfile --file \"${ROOT_DIR}/bootstrap/helmfile.d/00-crds.yaml\" template --quiet > crds\nkubectl apply -f crds",
		"scripts/show.sh":                       "helmfile -f kubernetes/bootstrap/apps.yaml template # helm, without anything that applies it",
		"scripts/outside.sh":                    "helmfile sync -f ../../../etc/passwd.yaml",
		"scripts/some.sh":                       "helmfile -f kubernetes/bootstrap/apps.yaml -l name=argocd sync",
		"scripts/down.sh":                       "helmfile destroy -f kubernetes/bootstrap/apps.yaml # undoes helmfile sync",
		"scripts/say.sh":                        "echo \"now run helmfile sync -f kubernetes/bootstrap/apps.yaml\"",
		"scripts/dev.sh":                        "helmfile -e dev --file kubernetes/bootstrap/apps.yaml apply",
		"scripts/more/of-another-repository.sh": "helmfile sync -f /somewhere/kubernetes/bootstrap/apps.yaml",
	} {
		writeFile(t, root, name, content)
	}
	var got []string
	for _, one := range Find(context.Background(), &repofs.Tree{Root: root, Repository: root}).Helmfiles {
		got = append(got, strings.TrimSpace(one.Position.String()+" "+one.Path+" "+one.Environment))
	}
	want := []string{
		".taskfiles/Taskfile.yaml:1 kubernetes/bootstrap/crds.yaml", ".taskfiles/Taskfile.yaml:2 kubernetes/bootstrap/apps.yaml",
		"scripts/bootstrap.sh:1 bootstrap/helmfile.d/00-crds.yaml", "scripts/dev.sh:1 kubernetes/bootstrap/apps.yaml dev",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func writeFile(t *testing.T, root, name, content string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFilesOfFolders(t *testing.T) {
	files := []string{"apps/a.yaml", "apps/b.yml", "apps/c.json", "apps/deep/d.yaml", "apps/deep/values.yaml", "other/e.yaml"}
	for _, tc := range []struct {
		name, file, content string
		want                []string
	}{
		{"find in a workflow", ".github/workflows/apply.yml", "steps:\n- name: apply\n  run: |\n    cd apps\n    find . -name '*.yaml' -exec kubectl apply -f {} \\;\n", []string{"apps/a.yaml", "apps/deep/d.yaml", "apps/deep/values.yaml"}},
		{"find of two endings", "up.sh", "find apps \\( -name '*.yaml' -o -name '*.yml' \\) -maxdepth 1 -print0 | xargs -0 -n1 kubectl apply -f\n", []string{"apps/a.yaml", "apps/b.yml"}},
		{"find that chooses otherwise", "up.sh", "find apps -name '*.yaml' -not -path '*/deep/*' | xargs kubectl apply -f\n", nil},
		{"find for another command", "up.sh", "find apps -name '*.yaml' | xargs kubeconform\nkubectl apply -f -\n", nil},
		{"a step begins where the repository is", ".github/workflows/apply.yml", "- run: cd apps\n- run: kubectl apply -f e.yaml\n", nil},
		{"a folder before", "README.md", "cd other\nkubectl apply -f e.yaml\n", []string{"other/e.yaml"}},
		{"a folder in the line", "up.sh", "cd apps && kubectl apply -f deep/d.yaml\n", []string{"apps/deep/d.yaml"}},
		{"a loop", "up.sh", "for f in apps/*.yaml; do\n  kubectl apply -f \"$f\"\ndone\n", []string{"apps/a.yaml"}},
		{"a loop over folders", "up.sh", "for f in ./apps/*/d.yaml\ndo\n  kubectl apply -f ${f}\ndone\n", []string{"apps/deep/d.yaml"}},
		{"a loop over names", "up.sh", "for f in a deep/d; do kubectl apply -f apps/${f}.yaml; done\n", []string{"apps/a.yaml", "apps/deep/d.yaml"}},
		{"a variable of two loops", "up.sh", "for f in apps/*.yaml; do kubectl apply -f $f; done\nfor f in other/*.yaml; do cat $f; done\n", nil},
		{"outside", "up.sh", "for f in ../*.yaml; do kubectl apply -f $f; done\ncd ..\nkubectl apply -f e.yaml\n", nil},
		{"a cluster to try out", ".github/workflows/test.yml", "- uses: helm/kind-action@v1\n- run: kubectl apply -f apps/a.yaml # argocd\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			for _, file := range files {
				writeFile(t, root, file, "kind: X\n")
			}
			writeFile(t, root, tc.file, tc.content)
			told := Find(context.Background(), &repofs.Tree{Root: root, Repository: root})
			var got []string
			for _, one := range append(told.Files, told.Shown...) {
				got = append(got, one.Address)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestDistributed(t *testing.T) {
	root := t.TempDir()
	writeFile(t, root, "ansible/k0s.yaml", `apiVersion: k0s.k0sproject.io/v1beta1
kind: ClusterConfig
spec:
  extensions:
    helm:
      repositories: [{name: traefik, url: https://traefik.github.io/charts}]
      charts:
      - {name: edge, chartname: traefik/traefik, namespace: edge, version: 35.0.1, values: "a: 1"}
      - {name: other, chartname: unknown/other, namespace: other}
`)
	writeFile(t, root, "apps/web.yaml", "kind: ConfigMap\n")
	told := Find(context.Background(), &repofs.Tree{Root: root, Repository: root})
	var got []string
	for _, r := range told.Releases {
		got = append(got, fmt.Sprintf("%s %s %s %s/%s %v", r.Position, r.Repository, r.Chart, r.Namespace, r.Name, r.Values))
	}
	for _, n := range told.Namespaces {
		got = append(got, n.Name)
	}
	want := []string{"ansible/k0s.yaml:8 https://traefik.github.io/charts traefik edge/edge map[a:1]", "edge", "other"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Tasks that a Taskfile includes are commands; a path behind a variable that nothing sets is that of the files
// which end as it does.
func TestTasks(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		".taskfiles/cluster/tasks.yml":                "version: \"3\"\nvars:\n  SECRETS_FILE: \"{{ .CLUSTER_DIR }}/flux/vars/secrets.sops.yaml\"\ntasks:\n  bootstrap:\n    cmds:\n      - kubectl apply -f {{.CLUSTER_DIR}}/flux/vars/settings.yaml\n      - sops --decrypt {{ .SECRETS_FILE }} | kubectl apply --server-side --filename -\n      - kubectl create secret generic -n flux-system cluster-secrets --from-literal=a=b\n      - kubectl apply -f {{.CLUSTER_DIR}}/settings.yaml\n",
		"kubernetes/main/flux/vars/settings.yaml":     "kind: ConfigMap\n",
		"kubernetes/main/flux/vars/secrets.sops.yaml": "kind: Secret\n",
		"kubernetes/main/other/settings.yaml":         "kind: ConfigMap\n",
	} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	told := Find(t.Context(), &repofs.Tree{Root: root, Repository: root})
	var files []string
	for _, one := range told.Files {
		files = append(files, one.Address)
	}
	if !slices.Equal(files, []string{"kubernetes/main/flux/vars/settings.yaml", "kubernetes/main/flux/vars/secrets.sops.yaml"}) {
		t.Errorf("files: %v", files)
	}
	if !slices.ContainsFunc(told.Objects, func(o Object) bool { return o.Matches("Secret", "flux-system", "cluster-secrets") }) {
		t.Errorf("objects: %v", told.Objects)
	}
}

// A script of PowerShell goes on behind a backtick, also behind comments in between.
func TestPowerShell(t *testing.T) {
	script := "helm upgrade --install es `\n  external-secrets/external-secrets `\n  --namespace external-secrets `\n  # --set a=b `\n  --create-namespace\nkubectl `\n  apply -f https://example.org/a.yaml\n"
	if all := instructions(newText("scripts/up.ps1", []byte(script))); len(all) != 1 || all[0].Address != "https://example.org/a.yaml" || all[0].Position.Line != 6 {
		t.Errorf("instructions: %v", all)
	}
	if all := namespaces(newText("scripts/up.ps1", []byte(script))); len(all) != 1 || all[0].Name != "external-secrets" || all[0].Position.Line != 1 {
		t.Errorf("namespaces: %v", all)
	}
}

// istioctl creates the namespace of Istio.
func TestMesh(t *testing.T) {
	all := namespaces(newText("README.md", []byte("```shell\nistioctl install -y\nistioctl uninstall --purge\n```\n")))
	if len(all) != 1 || all[0].Name != "istio-system" || all[0].Position.Line != 2 {
		t.Errorf("namespaces: %v", all)
	}
}
