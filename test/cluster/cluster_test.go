package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

// patience bounds every wait; only failures take that long.
const patience = 8 * time.Minute

// site is a cluster and a repository that is rolled out to it.
type site struct {
	t      *testing.T
	binary string
	repo   string
	access string // kubeconfig
	plane  *plane.Plane
	core   *corev1client.CoreV1Client
	apps   *appsv1client.AppsV1Client
	roles  *rbacv1client.RbacV1Client
}

// newSite starts a plane, beside those of other tests, with a repository of n
// components in phases 110, 120, ...; each is a Deployment and a Secret with a
// canary, in a namespace of its own, and requires the one before it.
func newSite(t *testing.T, n int) *site {
	t.Helper()
	t.Parallel()
	s := &site{t: t, binary: planetest.Binary(t), repo: filepath.Join(t.TempDir(), "acme")}
	var err error
	s.plane, err = plane.Start(t.Context(), plane.Options{Executable: s.binary, Timeout: patience})
	must(t, err)
	t.Cleanup(func() { _ = s.plane.Stop(context.Background()) })
	s.access = s.plane.Kubeconfig
	config, err := s.plane.RESTConfig()
	must(t, err)
	s.core, err = corev1client.NewForConfig(config)
	must(t, err)
	s.apps, err = appsv1client.NewForConfig(config)
	must(t, err)
	s.roles, err = rbacv1client.NewForConfig(config)
	must(t, err)
	for i := 1; i <= n; i++ {
		s.component(i, "v1")
	}
	return s
}

// canary is a secret value that must not turn up anywhere.
const canary = "canary-7f3a91"

func name(i int) string { return fmt.Sprintf("c%02d", i) }

// component writes a component.
func (s *site) component(i int, image string) {
	s.t.Helper()
	requires := ""
	if i > 1 {
		requires = "requires: [" + name(i-1) + "]\n"
	}
	s.write("environments/dev/components/"+name(i)+"/component.yaml", fmt.Sprintf(
		"name: %s\nnamespace: ns-%s\nrolloutPhase: \"%d\"\nmanifests: {path: sources/%s}\nsyncOptions: [CreateNamespace=true]\n%s",
		name(i), name(i), 100+10*i, name(i), requires))
	s.write("sources/"+name(i)+"/all.yaml", fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:%s"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {password: %s-%d}
`, image, canary, i))
}

func (s *site) write(path, text string) {
	s.t.Helper()
	path = filepath.Join(s.repo, filepath.FromSlash(path))
	must(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(s.t, os.WriteFile(path, []byte(text), 0o644))
}

// command is ladder with the kubeconfig of the site.
func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.binary, append(args, "--kubeconfig", s.access)...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+s.t.TempDir(), "NO_COLOR=1")
	return cmd
}

// result is a command that has ended.
type result struct {
	stdout, stderr string
	code           int
}

func (s *site) ladder(args ...string) result {
	s.t.Helper()
	r := <-s.start(args...).ended
	if strings.Contains(r.stdout+r.stderr, canary) {
		s.t.Errorf("ladder %v prints a secret", args)
	}
	return r
}

// process is a command that runs.
type process struct {
	cmd   *exec.Cmd
	ended chan result
}

func (s *site) start(args ...string) *process {
	s.t.Helper()
	p := &process{cmd: s.command(args...), ended: make(chan result, 1)}
	var out, errs bytes.Buffer
	p.cmd.Stdout, p.cmd.Stderr = &out, &errs
	must(s.t, p.cmd.Start())
	s.t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() {
		err := p.cmd.Wait()
		r := result{stdout: out.String(), stderr: errs.String()}
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			r.code = failed.ExitCode()
		}
		p.ended <- r
	}()
	return p
}

// wait returns the result of a process.
func (s *site) wait(p *process) result {
	s.t.Helper()
	select {
	case r := <-p.ended:
		return r
	case <-time.After(patience):
		s.t.Fatalf("%v does not end", p.cmd.Args)
		return result{}
	}
}

func (s *site) rollout(args ...string) []string {
	return append([]string{"rollout", s.repo, "--progress", "plain", "--format", "json"}, args...)
}

// eventually waits until check has nothing to complain about.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still after %s: %v", patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
