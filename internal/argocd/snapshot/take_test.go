package snapshot

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

var update = flag.Bool("update", false, "write testdata anew")

// cluster is a cluster with the objects of a file.
func cluster(t *testing.T, file string) *fake.FakeDynamicClient {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var objects []runtime.Object
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	kinds := map[schema.GroupVersionResource]string{
		{Version: "v1", Resource: "configmaps"}: "ConfigMapList", {Version: "v1", Resource: "secrets"}: "SecretList",
		{Group: "apps", Version: "v1", Resource: "deployments"}: "DeploymentList", {Group: "apps", Version: "v1", Resource: "statefulsets"}: "StatefulSetList",
	}
	for resource, kind := range map[string]string{"appprojects": "AppProject", "applicationsets": "ApplicationSet", "applications": "Application"} {
		kinds[schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: resource}] = kind + "List"
	}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
}

// TestNoSecretGetsIn: what the file has is what testdata says, and nothing secret.
func TestNoSecretGetsIn(t *testing.T) {
	taken, err := take(t.Context(), cluster(t, "cluster.yaml"), "argocd")
	if err != nil {
		t.Fatal(err)
	}
	got, err := taken.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "aHVudGVyMg", "eyJiZWFyZXJUb2tlbiI6Imh1bnRlcjIifQ"} {
		if strings.Contains(string(got)+strings.Join(taken.LeftOut, "\n"), secret) {
			t.Errorf("%s is in the snapshot", secret)
		}
	}
	if !ladderfile.IsSnapshot(got) {
		t.Error("the file is not known to be a snapshot")
	}
	got = append(got, "# left out:\n# "+strings.Join(taken.LeftOut, "\n# ")+"\n"...)
	golden := filepath.Join("testdata", "snapshot.golden.yaml")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestReadsOnly: nothing but get and list is asked.
func TestReadsOnly(t *testing.T) {
	client := cluster(t, "cluster.yaml")
	if _, err := take(t.Context(), client, "argocd"); err != nil {
		t.Fatal(err)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() != "get" && action.GetVerb() != "list" {
			t.Errorf("%s %s", action.GetVerb(), action.GetResource().Resource)
		}
	}
}

func TestNoArgoCD(t *testing.T) {
	_, err := take(t.Context(), cluster(t, "cluster.yaml"), "elsewhere")
	if want := "namespace elsewhere has no ConfigMap argocd-cm, so Argo CD is not installed there"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestOneNamespace: who may list one namespace only gets its objects, and is told.
func TestOneNamespace(t *testing.T) {
	client := cluster(t, "cluster.yaml")
	client.PrependReactor("list", "*", func(action kubetesting.Action) (bool, runtime.Object, error) {
		if action.GetNamespace() != "" {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", nil)
	})
	taken, err := take(t.Context(), client, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	if len(taken.Unread) != 2 || !strings.Contains(taken.Unread[0], "applicationsets of namespaces other than argocd") {
		t.Errorf("%v", taken.Unread)
	}
	for _, o := range taken.Objects {
		if o.GetNamespace() != "argocd" {
			t.Errorf("%s is of another namespace", o.GetName())
		}
	}
}

// TestEndlessLists: a server that always has more ends the snapshot.
func TestEndlessLists(t *testing.T) {
	client := cluster(t, "cluster.yaml")
	client.PrependReactor("list", "applications", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.UnstructuredList{Object: map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationList", "metadata": map[string]any{"continue": "more"},
		}}, nil
	})
	if _, err := take(t.Context(), client, "argocd"); err == nil || !strings.Contains(err.Error(), "list applications.argoproj.io: the server has more") {
		t.Errorf("%v", err)
	}
}
