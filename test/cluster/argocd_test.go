package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/cli/statuscmd"
	"github.com/rollout-ladder/ladder/internal/plane/argocd"
)

// argo starts the real controllers of Argo CD against the site.
func (s *site) argo() {
	s.t.Helper()
	binary := os.Getenv("LADDER_ARGOCD")
	if binary == "" {
		binary = filepath.Join("..", "..", "bin", argocd.BinaryName)
		if _, err := os.Stat(binary); err != nil {
			s.t.Skip("needs the controllers of Argo CD: run \"make argocd\"")
		}
	}
	binary, err := filepath.Abs(binary)
	must(s.t, err)
	access, err := s.plane.RESTConfig()
	must(s.t, err)
	installer, err := argocd.NewInstaller(access)
	must(s.t, err)
	must(s.t, installer.Install(s.t.Context(), binary, status.DefaultNamespace))
	running, err := argocd.Start(s.t.Context(), argocd.Options{
		Executable: binary, Kubeconfig: s.plane.Kubeconfig, Dir: filepath.Join(s.t.TempDir(), "argocd"), Namespace: status.DefaultNamespace,
		Repositories: s.repo,
	})
	must(s.t, err)
	s.t.Cleanup(func() { running.Stop() })
}

func (s *site) git(args ...string) {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", s.repo, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// TestArgoCD drives a handful of Applications of the real Argo CD, in order, and
// follows them.
func TestArgoCD(t *testing.T) {
	const n = 3
	s := newSite(t, n)
	s.argo()
	s.git("init", "-q", "-b", "main")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "one")
	access, err := s.plane.RESTConfig()
	must(t, err)
	client, err := dynamic.NewForConfig(access)
	must(t, err)
	for i := 1; i <= n; i++ {
		_, err := client.Resource(status.Applications()).Namespace(status.DefaultNamespace).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": name(i)},
			"spec": map[string]any{
				"project":     "default",
				"source":      map[string]any{"repoURL": "file://" + s.repo, "path": "sources/" + name(i), "targetRevision": "main"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "ns-" + name(i)},
				"syncPolicy":  map[string]any{"syncOptions": []any{"CreateNamespace=true"}},
			},
		}}, metav1.CreateOptions{})
		must(t, err)
	}
	if r := s.ladder("status", "--engine", "argocd"); r.code != 1 || !strings.Contains(r.stdout, fmt.Sprintf("0 of %d Healthy", n)) {
		t.Errorf("before, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	r := s.ladder(s.rollout("--engine", "argocd")...)
	if r.code != 0 {
		t.Fatalf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	out := s.report(r)
	head, err := exec.Command("git", "-C", s.repo, "rev-parse", "HEAD").Output()
	must(t, err)
	if out.Engine != "argocd" || out.Revision != strings.TrimSpace(string(head)) {
		t.Errorf("engine %s, revision %s", out.Engine, out.Revision)
	}
	for i := 1; i < len(out.Components); i++ {
		if out.Components[i].StartedAt.String() < out.Components[i-1].HealthyAt.String() {
			t.Errorf("%s started before %s was Healthy", out.Components[i].Name, out.Components[i-1].Name)
		}
	}
	r = s.ladder("status", "--engine", "argocd", "--format", "json")
	var doc statuscmd.Applications
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || r.code != 0 || doc.Healthy != n {
		t.Errorf("after, exit code %d, %v: %s%s", r.code, err, r.stdout, r.stderr)
	}
	s.heals(client)
	s.kept()
}

// heals rolls out another commit to automated Applications: with --self-heal healthy
// the first has its automated sync back while the second is not Healthy yet.
func (s *site) heals(client dynamic.Interface) {
	s.t.Helper()
	applications := client.Resource(status.Applications()).Namespace(status.DefaultNamespace)
	for i := 1; i <= 2; i++ {
		_, err := applications.Patch(s.t.Context(), name(i), types.MergePatchType, []byte(`{"spec":{"syncPolicy":{"automated":{"selfHeal":true}}}}`), metav1.PatchOptions{})
		must(s.t, err)
	}
	automated := func(i int) error {
		obj, err := applications.Get(s.t.Context(), name(i), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if heals, _, _ := unstructured.NestedBool(obj.Object, "spec", "syncPolicy", "automated", "selfHeal"); !heals {
			return fmt.Errorf("%s has no automated sync", name(i))
		}
		return nil
	}
	s.component(1, "v2")
	s.write("sources/"+name(2)+"/all.yaml", `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:v2", envFrom: [{secretRef: {name: late}}]}]}
`)
	s.git("commit", "-q", "-a", "-m", "two")
	running := s.start(s.rollout("--engine", "argocd", "--self-heal", "healthy", "--only", name(1), "--only", name(2))...)
	eventually(s.t, func() error {
		obj, err := applications.Get(s.t.Context(), name(2), metav1.GetOptions{})
		if err == nil && obj.GetAnnotations()[status.HeldAnnotation] == "" {
			err = errors.New("the second component is not held")
		}
		return err
	})
	eventually(s.t, func() error {
		d, err := s.apps.Deployments("ns-"+name(2)).Get(s.t.Context(), "web", metav1.GetOptions{})
		if err == nil && len(d.Spec.Template.Spec.Containers[0].EnvFrom) == 0 {
			err = errors.New("the second component is not synced")
		}
		return err
	})
	eventually(s.t, func() error { return automated(1) })
	if automated(2) == nil {
		s.t.Error("the second component is not held")
	}
	_, err := s.core.Secrets("ns-"+name(2)).Create(s.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
	must(s.t, err)
	if r := s.wait(running); r.code != 0 {
		s.t.Errorf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	must(s.t, automated(2))
}
