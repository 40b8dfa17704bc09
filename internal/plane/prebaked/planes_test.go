package prebaked_test

import (
	"encoding/pem"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/child"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
	"github.com/rollout-ladder/ladder/internal/plane/prebaked"
)

// running is a plane of a test.
type running struct {
	dir    string
	config *rest.Config
	etcd   *clientv3.Client
}

// start starts a plane without a simulated world, plainly or prebaked.
func start(t *testing.T, plain bool) running {
	t.Helper()
	dir := t.TempDir()
	options := child.Options{Dir: dir, Name: "x", Nodes: 1, Plain: plain, World: []string{plane.EmptyWorld}}
	command := exec.Command(planetest.Binary(t), append([]string{"plane", "run"}, options.Arguments()...)...)
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
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = command.Wait()
	})
	message, err := child.ReadMessage(stdout)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, child.LogFile))
		t.Fatalf("%v\n%s", err, log)
	}
	config, err := clientcmd.BuildConfigFromFlags("", message.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + filepath.Join(dir, "etcd.sock")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Close() })
	return running{dir, config, etcd}
}

// patience bounds a wait; only failures take that long.
const patience = 5 * time.Minute

// within waits until something holds, and reports whether it came to.
func within(t *testing.T, holds func() bool) bool {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		if holds() {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline:
			return false
		case <-t.Context().Done():
			return false
		}
	}
}

func keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func kindOf(key string) string { return strings.Fields(key)[0] }

func (r running) version(t *testing.T) string {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(r.config)
	if err != nil {
		t.Fatal(err)
	}
	v, err := client.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	return v.GitVersion
}

// pairs are what etcd holds below a prefix, by key.
func (r running) pairs(t *testing.T, prefix string) []prebaked.Pair {
	t.Helper()
	found, err := r.etcd.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	var pairs []prebaked.Pair
	for _, kv := range found.Kvs {
		pairs = append(pairs, prebaked.Pair{Key: string(kv.Key), Value: kv.Value})
	}
	return pairs
}

// bare are the pairs of the kinds that are held, without UID and times.
func (r running) bare(t *testing.T) []prebaked.Pair {
	t.Helper()
	var all []prebaked.Pair
	for _, prefix := range prebaked.Prefixes() {
		for _, p := range r.pairs(t, prefix) {
			bare, err := p.Bare()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, bare)
		}
	}
	return all
}

// settled tells whether the controllers have added up the roles that are sums of
// others, and judged every group and flow schema.
func (r running) settled(t *testing.T) bool {
	t.Helper()
	for key, object := range r.objects(t) {
		o := unstructured.Unstructured{Object: object.(map[string]any)}
		_, sum := o.Object["aggregationRule"]
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		switch kind := kindOf(key); {
		case sum && len(rules) == 0, (kind == "APIService" || kind == "FlowSchema") && len(conditions) == 0:
			return false
		}
	}
	return true
}

// objects are all objects of all kinds that can be listed, by kind, namespace and
// name, without what differs between any two planes.
func (r running) objects(t *testing.T) map[string]any {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(r.config)
	if err != nil {
		t.Fatal(err)
	}
	dynamicClient, err := dynamic.NewForConfig(r.config)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || resource.Kind == "Event" || resource.Kind == "Lease" {
				continue // both are named by chance
			}
			found, err := dynamicClient.Resource(version.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range found.Items {
				all[o.GetKind()+" "+version.Group+" "+o.GetNamespace()+"/"+o.GetName()] = common(o.Object)
			}
		}
	}
	return all
}

// common is a value without what differs between any two planes: UIDs, revisions
// and times, the port of the API, and the certificates and dates in ConfigMaps.
func common(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, field := range v {
			switch key {
			case "uid", "resourceVersion", "creationTimestamp", "time", "lastTransitionTime", "lastHeartbeatTime", "targetPort":
				continue
			}
			out[key] = common(field)
			if data, ok := field.(map[string]any); ok && key == "data" && v["kind"] == "ConfigMap" {
				out[key] = keys(data)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, common(item))
		}
		return out
	}
	return value
}

// secret is what two planes must not have in common.
type secret struct{ what, text string }

var uid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// found are the certificates, keys and UIDs in a text.
func found(text []byte) (all []secret) {
	for _, id := range uid.FindAll(text, -1) {
		all = append(all, secret{"uid", string(id)})
	}
	for rest := text; ; {
		begin := strings.Index(string(rest), "-----BEGIN ")
		if begin < 0 {
			return all
		}
		block, after := pem.Decode(rest[begin:])
		if block == nil {
			return all
		}
		what := "key"
		if block.Type == "CERTIFICATE" {
			what = "certificate"
		}
		all, rest = append(all, secret{what, string(block.Bytes)}), after
	}
}

// secrets are all of them in the plane's etcd and its credentials, by what they are.
func (r running) secrets(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	add := func(text []byte) {
		for _, s := range found(text) {
			if all[s.what] == nil {
				all[s.what] = map[string]bool{}
			}
			all[s.what][s.text] = true
		}
	}
	for _, p := range r.pairs(t, "") {
		add(p.Value)
	}
	if err := filepath.WalkDir(filepath.Join(r.dir, "pki"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		add(content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
