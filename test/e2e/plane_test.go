package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/child"
)

// patience bounds every wait; only failures take that long.
const patience = 5 * time.Minute

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
		time.Sleep(20 * time.Millisecond)
	}
}

// startPlane starts a plane that ends with the test.
func startPlane(t *testing.T) (*plane.Plane, *kubernetes.Clientset) {
	t.Helper()
	p, err := plane.Start(t.Context(), plane.Options{Executable: ladderBinary(t), Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Logf("ready after %s", p.ReadyAfter)
	return p, clientOf(t, p)
}

func clientOf(t *testing.T, p *plane.Plane) *kubernetes.Clientset {
	t.Helper()
	config, err := p.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func dynamicOf(t *testing.T, p *plane.Plane) *dynamic.DynamicClient {
	t.Helper()
	config, err := p.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// processLives is false for zombies: an orphan's end is for init to see, which
// in a container may not care.
func processLives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		_, rest, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(rest, "Z")
	}
	return syscall.Kill(pid, 0) == nil
}

func gone(pid int, dir string) error {
	if processLives(pid) {
		return fmt.Errorf("process %d lives", pid)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is still there (%w)", dir, err)
	}
	return nil
}

func TestPlaneIsACluster(t *testing.T) {
	t.Parallel()
	p, client := startPlane(t)
	ctx := t.Context()

	t.Run("it is ready", func(t *testing.T) {
		body, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err != nil || string(body) != "ok" {
			t.Errorf("/readyz: %q, %v", body, err)
		}
		if p.ReadyAfter <= 0 {
			t.Errorf("the time to ready is %s", p.ReadyAfter)
		}
	})

	t.Run("it knows its version", func(t *testing.T) {
		v, err := client.Discovery().ServerVersion()
		if err != nil {
			t.Fatal(err)
		}
		got := []string{v.Major, v.Minor, v.GitVersion}
		if diff := cmp.Diff([]string{"1", "36", "v1.36.3"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})

	t.Run("its nodes are ready", func(t *testing.T) {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(nodes.Items) != child.DefaultNodes {
			t.Errorf("%d nodes, want %d", len(nodes.Items), child.DefaultNodes)
		}
		for _, n := range nodes.Items {
			for _, c := range n.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
					t.Errorf("%s is not ready: %s", n.Name, c.Message)
				}
			}
		}
	})

	t.Run("only the loopback address is served", func(t *testing.T) {
		if !strings.HasPrefix(p.Server, "https://127.0.0.1:") {
			t.Errorf("served at %s", p.Server)
		}
	})

	t.Run("strangers are kept out", func(t *testing.T) {
		info, err := os.Stat(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o700 {
			t.Errorf("the folder's mode is %o", info.Mode().Perm())
		}
		config, err := p.RESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		config.CertData, config.KeyData = nil, nil
		anonymous, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := anonymous.CoreV1().Secrets("").List(ctx, metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
			t.Errorf("without a certificate, listing Secrets answers %v", err)
		}
	})

	t.Run("a missing namespace is refused", func(t *testing.T) {
		_, err := client.CoreV1().ConfigMaps("nowhere").Create(ctx, configMap("x"), metav1.CreateOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("pods of a Deployment are scheduled", func(t *testing.T) { deploymentIsScheduled(t, client) })
	t.Run("a namespace is deleted with its content", func(t *testing.T) { namespaceIsDeleted(t, client) })
	t.Run("a quota is enforced", func(t *testing.T) { quotaIsEnforced(t, client) })
	t.Run("a prepared volume is bound", func(t *testing.T) { volumeIsBound(t, client) })
	t.Run("a volume of the machine stays", func(t *testing.T) { volumeOfTheMachineStays(t, client) })
	t.Run("a claim waits for its provisioner", func(t *testing.T) { claimWaits(t, client) })
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func newNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func deploymentIsScheduled(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	newNamespace(t, client, "workloads")
	replicas := int32(3)
	labels := map[string]string{"app": "web"}
	_, err := client.AppsV1().Deployments("workloads").Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.com/web:1"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		pods, err := client.CoreV1().Pods("workloads").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil {
			return err
		}
		scheduled := 0
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != "" {
				scheduled++
			}
		}
		if scheduled != int(replicas) {
			return fmt.Errorf("%d of %d pods are scheduled", scheduled, replicas)
		}
		return nil
	})
}

func namespaceIsDeleted(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	newNamespace(t, client, "short-lived")
	if _, err := client.CoreV1().ConfigMaps("short-lived").Create(ctx, configMap("x"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().Namespaces().Delete(ctx, "short-lived", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := client.CoreV1().Namespaces().Get(ctx, "short-lived", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the namespace still answers (%w)", err)
	})
}

func quotaIsEnforced(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	newNamespace(t, client, "limited")
	hard := corev1.ResourceList{"count/secrets": resource.MustParse("1")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "one-secret"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	if _, err := client.CoreV1().ResourceQuotas("limited").Create(ctx, quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The API server learns of the quota a moment after its creation, and the
	// controller counts a moment later; from then on nothing more may come in.
	made := 0
	eventually(t, func() error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("secret-%d", made)}}
		_, err := client.CoreV1().Secrets("limited").Create(ctx, secret, metav1.CreateOptions{})
		if err == nil {
			made++
		}
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: one-secret") {
			return fmt.Errorf("%d Secrets came in, the last with: %w", made, err)
		}
		return nil
	})
	if made == 0 {
		t.Error("the quota let nothing in")
	}
}

// TestPlaneEndsWithItsStandardInput is the orderly end.
func TestPlaneEndsWithItsStandardInput(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "plane")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(ladderBinary(t), append([]string{"plane", "run"}, child.Options{Dir: dir, Name: "x", Nodes: 1, Remove: true}.Arguments()...)...)
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill() }()
	if _, err := child.ReadMessage(stdout); err != nil {
		t.Fatal(err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("the plane ended with %v", err)
	}
	if err := gone(command.Process.Pid, dir); err != nil {
		t.Error(err)
	}
}

// TestPlaneParent is not a test: it is the parent that TestPlaneSurvivesNoParent
// runs and kills.
func TestPlaneParent(t *testing.T) {
	t.Parallel()
	if os.Getenv("LADDER_E2E_PARENT") == "" {
		t.Skip("only run by TestPlaneSurvivesNoParent")
	}
	p, err := plane.Start(t.Context(), plane.Options{Executable: ladderBinary(t), Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nplane %d %s\n", p.PID, p.Dir)
	select {} // until it is killed
}

// TestPlaneSurvivesNoParent kills the parent in a way it cannot react to.
func TestPlaneSurvivesNoParent(t *testing.T) {
	t.Parallel()
	parent := exec.Command(os.Args[0], "-test.run=^TestPlaneParent$", "-test.timeout=10m")
	parent.Env = append(os.Environ(), "LADDER_E2E_PARENT=1", "LADDER_BINARY="+ladderBinary(t))
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = parent.Process.Kill() }()
	var pid int
	var dir string
	said := bufio.NewScanner(stdout)
	for dir == "" && said.Scan() {
		if fields := strings.Fields(said.Text()); len(fields) == 3 && fields[0] == "plane" {
			if pid, err = strconv.Atoi(fields[1]); err != nil {
				t.Fatal(err)
			}
			dir = fields[2]
		}
	}
	if dir == "" {
		t.Fatal("the parent started no plane")
	}
	if !processLives(pid) {
		t.Fatal("the plane does not live")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	eventually(t, func() error { return gone(pid, dir) })
}

// TestPlaneStop stops a plane that answers, and one that was killed before.
func TestPlaneStop(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*plane.Plane) error{
		"in order": func(*plane.Plane) error { return nil },
		"killed":   func(p *plane.Plane) error { return syscall.Kill(p.PID, syscall.SIGKILL) },
		"hanging":  func(p *plane.Plane) error { return syscall.Kill(p.PID, syscall.SIGSTOP) },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plane.Start(t.Context(), plane.Options{Executable: ladderBinary(t), Timeout: patience})
			if err != nil {
				t.Fatal(err)
			}
			if err := before(p); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if err := p.Stop(ctx); err != nil {
				t.Error(err)
			}
			if err := gone(p.PID, p.Dir); err != nil {
				t.Error(err)
			}
			if err := p.Stop(ctx); err != nil {
				t.Errorf("stopping again: %v", err)
			}
		})
	}
}

func TestPlaneThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	p, _ := startPlane(t)
	port, err := strconv.Atoi(p.Server[strings.LastIndex(p.Server, ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "second")
	_, err = plane.Start(t.Context(), plane.Options{Executable: ladderBinary(t), Dir: dir, Port: port, Timeout: patience})
	var failure *plane.StartError
	if !errors.As(err, &failure) || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a plane on a port in use: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it left %s behind (%v)", dir, err)
	}
}
