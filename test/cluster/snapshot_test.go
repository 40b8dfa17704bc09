package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
)

// TestSnapshot writes down what a cluster knows, twice the same and without secrets, and
// reads a repository by it.
func TestSnapshot(t *testing.T) {
	s := newSite(t, 0)
	file := filepath.Join(s.repo, "argocd-snapshot.yaml")
	must(t, os.MkdirAll(s.repo, 0o755))
	if r := s.ladder("snapshot"); r.code != 2 || !strings.Contains(r.stderr, "namespace argocd has no ConfigMap argocd-cm") {
		t.Errorf("without Argo CD, exit code %d: %s", r.code, r.stderr)
	}
	s.knows()
	r := s.ladder("snapshot", "--output", file, "--verbose")
	if r.code != 0 || !strings.Contains(r.stderr, "ConfigMap argocd-cm: dex.config") {
		t.Fatalf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	written, err := os.ReadFile(file)
	must(t, err)
	if again := s.ladder("snapshot"); again.stdout != string(written) {
		t.Errorf("the second is another:\n%s", again.stdout)
	}
	if strings.Contains(string(written), canary) {
		t.Errorf("a secret is in the snapshot:\n%s", written)
	}
	for _, want := range []string{"name: east-prod", "server: https://east.example.org", "folder: east", "kustomize.buildOptions: --enable-helm", "name: by-hand", "kind: ApplicationSet", "kind: AppProject"} {
		if !strings.Contains(string(written), want) {
			t.Errorf("%q is not in the snapshot:\n%s", want, written)
		}
	}

	s.write("ladder.yaml", "repository: {snapshot: argocd-snapshot.yaml}\n")
	s.write("set.yaml", `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: web, namespace: argocd}
spec:
  generators: [{clusters: {selector: {matchLabels: {tier: gold}}}}]
  template:
    metadata: {name: "web-{{name}}"}
    spec:
      project: default
      source: {repoURL: https://git.example.org/platform.git, path: "clusters/{{metadata.annotations.folder}}"}
      destination: {server: "{{server}}", namespace: web}
`)
	s.write("clusters/east/web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
	command := s.command("inventory", s.repo, "--offline", "--format", "json")
	command.Args = command.Args[:len(command.Args)-2] // it talks to no cluster
	bySnapshot, err := command.Output()
	if err != nil || !strings.Contains(string(bySnapshot), "web-east-prod") {
		t.Errorf("%v: %s", err, bySnapshot)
	}

	// Asked itself, the cluster says what its snapshot says.
	must(t, os.Remove(filepath.Join(s.repo, "ladder.yaml")))
	must(t, os.Remove(file))
	kubeconfig, err := clientcmd.LoadFromFile(s.access)
	must(t, err)
	ask := func(context string) result {
		command := s.command("inventory", s.repo, "--format", "json", "--context", context)
		command.Args, command.Env = command.Args[:len(command.Args)-2], append(command.Env, "KUBECONFIG="+s.access)
		var out, problems strings.Builder
		command.Stdout, command.Stderr = &out, &problems
		_ = command.Run() // the code says it
		return result{out.String(), problems.String(), command.ProcessState.ExitCode()}
	}
	if r := ask(kubeconfig.CurrentContext); r.code != 0 || r.stdout != string(bySnapshot) || strings.Contains(r.stderr, canary) {
		t.Errorf("with --context, exit code %d: %s%s\nwith the snapshot: %s", r.code, r.stdout, r.stderr, bySnapshot)
	}
	if r := ask("elsewhere"); r.code != 2 || !strings.Contains(r.stderr, `context "elsewhere" does not exist`) {
		t.Errorf("with a context that is not there, exit code %d: %s", r.code, r.stderr)
	}
}

// knows gives the cluster what Argo CD would know, with secrets wherever people have
// them.
func (s *site) knows() {
	s.t.Helper()
	access, err := s.plane.RESTConfig()
	must(s.t, err)
	client, err := dynamic.NewForConfig(access)
	must(s.t, err)
	ctx := s.t.Context()
	_, err = s.core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: status.DefaultNamespace}}, metav1.CreateOptions{})
	must(s.t, err)
	applied := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": fmt.Sprintf(`{"data":{"a":%q}}`, canary), "folder": "east"}
	_, err = s.core.ConfigMaps(status.DefaultNamespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm", Annotations: applied},
		Data:       map[string]string{"dex.config": "bindPW: " + canary, "kustomize.buildOptions": "--enable-helm"},
	}, metav1.CreateOptions{})
	must(s.t, err)
	_, err = s.core.Secrets(status.DefaultNamespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster-1", Annotations: applied, Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster", "tier": "gold"}},
		StringData: map[string]string{"name": "east-prod", "server": "https://east.example.org", "config": fmt.Sprintf(`{"bearerToken":%q}`, canary)},
	}, metav1.CreateOptions{})
	must(s.t, err)
	_, err = s.core.Secrets(status.DefaultNamespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "repository-1", Labels: map[string]string{"argocd.argoproj.io/secret-type": "repository"}},
		StringData: map[string]string{"password": canary},
	}, metav1.CreateOptions{})
	must(s.t, err)
	source := map[string]any{
		"repoURL": "https://bot:" + canary + "@git.example.org/platform.git", "path": "web",
		"helm": map[string]any{"parameters": []any{map[string]any{"name": "db.password", "value": canary}}},
	}
	for kind, spec := range map[string]map[string]any{
		"AppProject":     {"roles": []any{map[string]any{"name": "ci", "jwtTokens": []any{map[string]any{"id": canary}}}}},
		"ApplicationSet": {"template": map[string]any{"spec": map[string]any{"source": source}}},
		"Application":    {"project": "default", "source": source},
	} {
		resource := s.serves(client, kind)
		eventually(s.t, func() error { // the kind is served soon
			_, err := client.Resource(resource).Namespace(status.DefaultNamespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": resource.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": "by-hand"}, "spec": spec,
			}}, metav1.CreateOptions{})
			return err
		})
	}
}

// serves makes a kind of Argo CD, of which anything may be written.
func (s *site) serves(client dynamic.Interface, kind string) schema.GroupVersionResource {
	s.t.Helper()
	plural := strings.ToLower(kind) + "s"
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err := crds.Create(s.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + ".argoproj.io"},
		"spec": map[string]any{
			"group": "argoproj.io", "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind)},
			"versions": []any{map[string]any{
				"name": "v1alpha1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}, metav1.CreateOptions{})
	must(s.t, err)
	return schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: plural}
}
