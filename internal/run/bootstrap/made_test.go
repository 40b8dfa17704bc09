package bootstrap_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

// maker stands in for k3d and kind, which need Docker: its clusters are planes,
// whose context has the name that the tool would give it. A cluster that was
// stopped is a file without a plane.
const maker = `#!/bin/sh
set -e
tool=$(basename "$0")
made="$MADE/$tool-$CLUSTER"
echo "$tool $*" >> "$MADE/log"
raise() {
	"$LADDER" --quiet plane up "$tool-$CLUSTER" > "$made.path"
	"$LADDER" plane kubeconfig "$tool-$CLUSTER" > "$made.part"
	mv "$made.part" "$MADE/kubeconfig"
	touch "$made"
}
case "$tool $*" in
"k3d cluster list --output json")
	running=0
	"$LADDER" plane list | grep -q "^$tool-$CLUSTER" && running=1
	if [ -e "$made" ]; then echo "[{\"name\":\"$CLUSTER\",\"serversRunning\":$running}]"; else echo "[]"; fi ;;
"kind get clusters")
	echo other
	if [ -e "$made" ]; then echo "$CLUSTER"; fi ;;
"k3d cluster create $CLUSTER"* | "k3d cluster start $CLUSTER" | "kind create cluster --name $CLUSTER")
	raise ;;
"k3d cluster delete $CLUSTER" | "kind delete cluster --name $CLUSTER")
	"$LADDER" plane down "$tool-$CLUSTER"
	rm "$MADE/kubeconfig" "$made" ;;
*)
	echo "unknown command: $*" >&2
	exit 2 ;;
esac
`

// elsewhere is a kubeconfig whose current context is somebody else's cluster.
const elsewhere = `apiVersion: v1
kind: Config
current-context: production
contexts: [{name: production, context: {cluster: production, user: admin}}]
clusters: [{name: production, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: admin, user: {}}]
`

// TestClusterMade has the command make its cluster, brings the platform up on it,
// finds it again, starts it where it was stopped, and makes it anew.
func TestClusterMade(t *testing.T) {
	if testing.Short() {
		t.Skip("starts control planes")
	}
	t.Parallel()
	for _, tool := range []string{"k3d", "kind"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			m := newMade(t, tool)
			b := m.bootstrap()
			m.expect(b, report.ObjectCreated)
			m.checkObjects()
			first := m.identity()

			m.expect(m.bootstrap(), report.ObjectUnchanged)
			if m.identity() != first {
				t.Error("the second run made the cluster again")
			}
			if tool == "k3d" { // kind knows no stopped clusters
				m.down()
				m.expect(m.bootstrap(), report.ObjectChanged)
				m.checkObjects()
				first = m.identity()
			}
			m.expect(m.bootstrap("--reset-cluster"), report.ObjectDeleted, report.ObjectCreated)
			m.checkObjects()
			if m.identity() == first {
				t.Error("the cluster is still the one from before")
			}
			m.checkCanaries()
		})
	}
}

// made is a world whose cluster a tool makes.
type made struct {
	*world
	tool        string
	config      string // relative to the platform
	folder      string
	flags       []string
	environment []string
}

// newMade is a world with the platform of testdata and a tool that makes the
// cluster dev.
func newMade(t *testing.T, tool string) *made {
	t.Helper()
	m := newMaker(t, tool, "dev")
	m.config, m.flags = "bootstrap/dev.yaml", []string{"--no-cache"}
	copyPlatform(t, m.dir)
	m.edit(m.config, "timeout: 4m", "timeout: 4m\ncluster:\n  create: {tool: "+tool+", name: dev}")
	return m
}

// newMaker is a world without a platform, and with a tool that makes a cluster.
func newMaker(t *testing.T, tool, cluster string) *made {
	t.Helper()
	dir := t.TempDir()
	m := &made{world: &world{t: t, dir: filepath.Join(dir, "platform"), applications: ofTestdata()}, tool: tool, folder: filepath.Join(dir, "made")}
	write(t, filepath.Join(m.folder, "elsewhere"), elsewhere)
	program := filepath.Join(dir, "bin", tool)
	write(t, program, maker)
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	m.environment = append(os.Environ(),
		"PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "LADDER="+planetest.Binary(t), "MADE="+m.folder, "CLUSTER="+cluster, "XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"KUBECONFIG="+filepath.Join(m.folder, "elsewhere")+":"+m.kubeconfig(),
		"BOOT_TOKEN="+canaryToken, "BOOT_USER="+canaryUser, "BOOT_SEAL="+canarySeal)
	t.Cleanup(m.down)
	return m
}

// kubeconfig is where the tool writes how to reach its cluster.
func (m *made) kubeconfig() string { return filepath.Join(m.folder, "kubeconfig") }

// down ends the plane behind the tool's back.
func (m *made) down() {
	cmd := exec.Command(planetest.Binary(m.t), "plane", "down", "--all")
	cmd.Env = m.environment
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Errorf("%v\n%s", err, out)
	}
}

// bootstrap runs the command, with Argo CD's part played on the cluster as soon
// as there is one.
func (m *made) bootstrap(args ...string) report.Bootstrap {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), planetest.Binary(m.t), append([]string{
		"bootstrap", "--config", filepath.Join(m.dir, m.config), "--format", "json",
	}, append(m.flags, args...)...)...)
	cmd.Env = m.environment
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var played []byte
	var player *controller
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			var b report.Bootstrap
			if err != nil || json.Unmarshal(stdout.Bytes(), &b) != nil || player == nil {
				m.t.Fatalf("%v\n%s\n%s", err, stdout.Bytes(), stderr.Bytes())
			}
			player.stop()
			m.said.Write(stdout.Bytes())
			m.said.Write(stderr.Bytes())
			return b
		case <-tick.C:
			// A cluster that is made anew has a kubeconfig of its own.
			text, err := os.ReadFile(m.kubeconfig())
			if err != nil || bytes.Equal(text, played) {
				continue
			}
			played = text
			if player != nil {
				player.stop()
			}
			m.connect(text)
			player = m.startController()
		}
	}
}

func (m *made) connect(kubeconfig []byte) {
	m.t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		m.t.Fatal(err)
	}
	m.rest = config
	if m.client, err = dynamic.NewForConfig(config); err != nil {
		m.t.Fatal(err)
	}
}

// identity tells one cluster from another.
func (m *made) identity() string {
	m.t.Helper()
	return string(m.get(core("namespaces"), metav1.NamespaceNone, metav1.NamespaceSystem).GetUID())
}

// expect wants the platform up, and the cluster to have been treated so.
func (m *made) expect(b report.Bootstrap, actions ...string) {
	m.t.Helper()
	if b.Result != report.BootstrapSucceeded {
		m.t.Fatalf("result %s: %v", b.Result, b.Stages)
	}
	name := "cluster " + m.tool + "-dev"
	var got []string
	for _, o := range stage(b, "cluster").Objects {
		if o.Object == name {
			got = append(got, o.Action)
		}
	}
	if len(got) != len(actions) {
		m.t.Fatalf("%s: %v, want %v", name, got, actions)
	}
	for i, action := range actions {
		if got[i] != action {
			m.t.Errorf("%s: %v, want %v", name, got, actions)
		}
	}
}
