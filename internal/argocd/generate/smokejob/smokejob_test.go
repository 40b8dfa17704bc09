package smokejob_test

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/smokejob"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// checks are one of each kind.
func checks() []model.Check {
	return []model.Check{
		{Kind: model.CheckCondition, Group: "gateway.networking.k8s.io", ObjectKind: "Gateway", Namespace: "ameide", Name: "ameide", Conditions: map[string]string{"Programmed": "True"}, Timeout: 30 * time.Second},
		{Kind: model.CheckCondition, Group: "gateway.networking.k8s.io", ObjectKind: "GatewayClass", Namespace: "ameide", Name: "envoy", Conditions: map[string]string{"Accepted": "True"}},
		{Kind: model.CheckSecret, ObjectKind: "Secret", Namespace: "ameide", Name: "db", Keys: []string{"user", "password"}},
		{Kind: model.CheckCertificate, ObjectKind: "Secret", Namespace: "ameide", Name: "envoy", IssuedBy: []string{"envoy-ca", "pki/root"}, Subject: "envoy"},
		{Kind: model.CheckJob, Group: "batch", ObjectKind: "Job", Namespace: "vault", Name: "bootstrap"},
		{Kind: model.CheckEndpoint, ObjectKind: "Service", Namespace: "vault", Name: "vault"},
		{Kind: model.CheckHTTP, Namespace: "ameide", URL: "http://www/", Status: 200},
		{Kind: model.CheckTCP, Namespace: "ameide", Address: "db:5432"},
		{Kind: model.CheckCEL, Group: "apps", ObjectKind: "DaemonSet", Namespace: "ameide", Name: "logs", Expression: "object.status.numberReady > 0"},
		{Kind: model.CheckCEL, Group: "postgresql.cnpg.io", ObjectKind: "Cluster", Namespace: "ameide", Expression: "objects.all(o, has(o.status))"},
		{Kind: model.CheckCEL, ObjectKind: "Namespace", Namespace: "ameide", Expression: "size(objects) > 3"},
	}
}

func kinds() *smokejob.Kinds {
	crd := func(group, kind, plural, scope string) manifest.Object {
		return manifest.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
			"spec": map[string]any{"group": group, "scope": scope, "names": map[string]any{"kind": kind, "plural": plural}},
		}}}
	}
	return smokejob.NewKinds(map[string][]manifest.Object{"crds": {
		crd("gateway.networking.k8s.io", "GatewayClass", "gatewayclasses", "Cluster"), crd("odd.example.com", "Ox", "oxen", "Cluster"),
	}})
}

func input() smokejob.Input {
	return smokejob.Input{
		Name: "smoke", Namespace: "ameide", Image: "registry.example.com/ladder@sha256:1234", Checks: checks(), Timeout: 5 * time.Minute,
		Labels: map[string]string{"rollout-phase": "399"}, Kinds: kinds(), Fingerprint: "abc",
	}
}

func objects(t *testing.T, in smokejob.Input) []*unstructured.Unstructured {
	t.Helper()
	out, err := smokejob.Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// one reads the object of a kind in a namespace.
func one[T any](t *testing.T, all []*unstructured.Unstructured, kind, namespace string) T {
	t.Helper()
	var out T
	for _, o := range all {
		if o.GetKind() == kind && o.GetNamespace() == namespace {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &out, true); err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	t.Fatalf("there is no %s in %q", kind, namespace)
	return out
}

func TestRightsAreTheLeast(t *testing.T) {
	all := objects(t, input())
	rule := func(verb, group, resource string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names}
	}
	for namespace, want := range map[string][]rbacv1.PolicyRule{
		"ameide": {
			rule("get", "", "secrets", "db", "envoy", "envoy-ca"),
			rule("get", "apps", "daemonsets", "logs"),
			rule("get", "gateway.networking.k8s.io", "gateways", "ameide"),
			rule("list", "postgresql.cnpg.io", "clusters"),
		},
		"pki": {rule("get", "", "secrets", "root")},
		"vault": {
			rule("get", "", "services", "vault"),
			rule("get", "batch", "jobs", "bootstrap"),
			rule("list", "discovery.k8s.io", "endpointslices"),
		},
	} {
		if diff := cmp.Diff(want, one[rbacv1.Role](t, all, "Role", namespace).Rules); diff != "" {
			t.Errorf("%s: %s", namespace, diff)
		}
		binding := one[rbacv1.RoleBinding](t, all, "RoleBinding", namespace)
		if diff := cmp.Diff([]rbacv1.Subject{{Kind: "ServiceAccount", Name: "smoke", Namespace: "ameide"}}, binding.Subjects); diff != "" {
			t.Errorf("%s: %s", namespace, diff)
		}
	}
	want := []rbacv1.PolicyRule{rule("list", "", "namespaces"), rule("get", "gateway.networking.k8s.io", "gatewayclasses", "envoy")}
	if diff := cmp.Diff(want, one[rbacv1.ClusterRole](t, all, "ClusterRole", "").Rules); diff != "" {
		t.Error(diff)
	}
	// Where nothing cluster-wide is looked at there is no ClusterRole.
	in := input()
	in.Checks = in.Checks[2:3]
	var names []string
	for _, o := range objects(t, in) {
		names = append(names, o.GetKind())
	}
	if diff := cmp.Diff([]string{"ServiceAccount", "ConfigMap", "Role", "RoleBinding", "Job"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestJob(t *testing.T) {
	all := objects(t, input())
	job := one[batchv1.Job](t, all, "Job", "ameide")
	if diff := cmp.Diff(map[string]string{
		"argocd.argoproj.io/hook": "Sync", "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation", "argocd.argoproj.io/sync-wave": "1",
	}, job.Annotations); diff != "" {
		t.Error(diff)
	}
	pod := job.Spec.Template.Spec
	container := pod.Containers[0]
	if diff := cmp.Diff([]string{"smoke", "--checks", "/checks/checks.yaml", "--in-cluster", "--wait", "4m45s"}, container.Args); diff != "" {
		t.Error(diff)
	}
	switch {
	case *job.Spec.ActiveDeadlineSeconds != 300:
		t.Errorf("the deadline is %d", *job.Spec.ActiveDeadlineSeconds)
	case !*pod.SecurityContext.RunAsNonRoot, pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault,
		!*container.SecurityContext.ReadOnlyRootFilesystem, *container.SecurityContext.AllowPrivilegeEscalation, container.SecurityContext.Capabilities.Drop[0] != "ALL":
		t.Errorf("the pod is not restricted: %+v %+v", pod.SecurityContext, container.SecurityContext)
	case container.Image != "registry.example.com/ladder@sha256:1234":
		t.Errorf("the image is %s", container.Image)
	case pod.ServiceAccountName != "smoke" || !*pod.AutomountServiceAccountToken || *one[corev1.ServiceAccount](t, all, "ServiceAccount", "ameide").AutomountServiceAccountToken:
		t.Error("the token is given to anybody but the pod")
	}
	config := one[corev1.ConfigMap](t, all, "ConfigMap", "ameide")
	if config.Annotations[smokejob.FingerprintAnnotation] != "abc" {
		t.Errorf("annotations %v", config.Annotations)
	}
	name, read, err := smokejob.Read([]byte(config.Data[smokejob.Key]))
	if err != nil || name != "smoke" {
		t.Fatal(name, err)
	}
	if diff := cmp.Diff(checks(), read); diff != "" {
		t.Error(diff)
	}
	run, ok := smokejob.Runs(&pod)
	if want := (smokejob.Run{ConfigMap: "smoke", Key: "checks.yaml", Wait: 285 * time.Second}); !ok || run != want {
		t.Errorf("runs %+v %v", run, ok)
	}
	first, err := smokejob.YAML(all)
	if err != nil {
		t.Fatal(err)
	}
	again, err := smokejob.YAML(objects(t, input()))
	if err != nil || !bytes.Equal(first, again) {
		t.Error("two runs make two files")
	}
	for _, never := range []string{"\nstatus:", "creationTimestamp", "kind: Secret\n"} {
		if bytes.Contains(first, []byte(never)) {
			t.Errorf("there is %q in %s", never, first)
		}
	}
}

// A short timeout leaves the pod time to say what does not hold.
func TestWaitIsShorterThanTheDeadline(t *testing.T) {
	for timeout, want := range map[time.Duration]string{0: "9m45s", 10 * time.Second: "9s", 2 * time.Minute: "1m48s", time.Hour: "59m45s"} {
		in := input()
		in.Timeout = timeout
		if got := one[batchv1.Job](t, objects(t, in), "Job", "ameide").Spec.Template.Spec.Containers[0].Args[5]; got != want {
			t.Errorf("%s: the wait is %s, want %s", timeout, got, want)
		}
	}
}

func TestWhatCannotBeMade(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*smokejob.Input)
		want   string
	}{
		"no namespace": {func(in *smokejob.Input) { in.Namespace = "" }, "smoke smoke has no namespace"},
		"no checks":    {func(in *smokejob.Input) { in.Checks = nil }, "smoke smoke has no checks"},
		"no image":     {func(in *smokejob.Input) { in.Image = "" }, "smoke smoke has no image"},
		"credentials": {func(in *smokejob.Input) {
			in.Checks = []model.Check{{Kind: model.CheckHTTP, URL: "http://bot:hunter2@www/", Position: finding.Position{File: "a.yaml", Line: 3}}}
		}, "a.yaml:3: the address holds credentials"},
		"an unknown check": {func(in *smokejob.Input) { in.Checks = []model.Check{{Kind: "guess"}} }, `check "guess" is not known`},
	} {
		in := input()
		test.change(&in)
		_, err := smokejob.Objects(in)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func TestResource(t *testing.T) {
	for name, want := range map[[2]string]string{
		{"", "Secret"}: "secrets", {"", "Endpoints"}: "endpoints", {"networking.k8s.io", "NetworkPolicy"}: "networkpolicies", {"networking.k8s.io", "Ingress"}: "ingresses",
		{"gateway.networking.k8s.io", "Gateway"}: "gateways", {"storage.k8s.io", "StorageClass"}: "storageclasses", {"monitoring.coreos.com", "Prometheus"}: "prometheuses",
		{"odd.example.com", "Ox"}: "oxen", {"example.com", "Batch"}: "batches",
	} {
		if got := kinds().Resource(name[0], name[1]); got != want {
			t.Errorf("%v is %s, want %s", name, got, want)
		}
	}
}

func TestRuns(t *testing.T) {
	pod := func(command, args []string, folder string) *corev1.PodSpec {
		return &corev1.PodSpec{
			Containers: []corev1.Container{{Command: command, Args: args, VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: folder}}}},
			Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}}},
		}
	}
	for name, test := range map[string]struct {
		pod  *corev1.PodSpec
		want smokejob.Run
	}{
		"args alone":           {pod(nil, []string{"smoke", "--checks", "/x/y.yaml"}, "/x/"), smokejob.Run{ConfigMap: "c", Key: "y.yaml"}},
		"a command":            {pod([]string{"/usr/bin/ladder"}, []string{"smoke", "--checks", "/x/y.yaml", "--wait", "3s"}, "/x"), smokejob.Run{ConfigMap: "c", Key: "y.yaml", Wait: 3 * time.Second}},
		"another command":      {pod([]string{"curl"}, []string{"--checks", "/x/y.yaml"}, "/x"), smokejob.Run{}},
		"no file":              {pod(nil, []string{"smoke"}, "/x"), smokejob.Run{}},
		"a flag without value": {pod(nil, []string{"smoke", "--checks"}, "/x"), smokejob.Run{}},
		"another folder":       {pod(nil, []string{"smoke", "--checks", "/z/y.yaml"}, "/x"), smokejob.Run{}},
		"nothing":              {&corev1.PodSpec{}, smokejob.Run{}},
	} {
		got, ok := smokejob.Runs(test.pod)
		if got != test.want || ok != (test.want.ConfigMap != "") {
			t.Errorf("%s: got %+v %v", name, got, ok)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": "formatVersion", "{": "read the checks", `{formatVersion: "2", checks: []}`: `formatVersion is "2"`,
		`{formatVersion: "1", checks: [], more: 1}`:                                              "more",
		`{formatVersion: "1", checks: [{check: secret, namespace: a, name: a}, {check: guess}]}`: `check 2: check "guess" is not known`,
		`{formatVersion: "1", checks: [{check: secret}]}`:                                        "secret has no name, no namespace",
		`{formatVersion: "1", checks: [{check: condition, kind: A, name: a}]}`:                   "has no conditions",
		`{formatVersion: "1", checks: [{check: http}]}`:                                          "http has no url",
		`{formatVersion: "1", checks: [{check: tcp, address: "a:1", timeout: soon}]}`:            `timeout "soon"`,
		`{formatVersion: "1", checks: [{check: tcp, address: "a:1", timeout: -1s}]}`:             `timeout "-1s"`,
		`{formatVersion: "1", checks: [{check: cel, kind: A}]}`:                                  "cel has no expression",
		strings.Repeat(" ", smokejob.MaxFile+1):                                                  "longer than",
	} {
		if _, _, err := smokejob.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
}

// What is written is read again, whatever its texts are.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("\n\t #:-"), unicode.Letter, unicode.Number, unicode.Punct, unicode.Symbol), 1, 20, -1)
		all := checks()
		for i := range all {
			c := &all[i]
			c.Name = map[bool]string{true: text.Draw(t, "name")}[c.Name != ""]
			c.Subject = map[bool]string{true: text.Draw(t, "subject")}[c.Subject != ""]
			if c.Expression != "" {
				c.Expression = text.Draw(t, "expression")
			}
			for key := range c.Conditions {
				c.Conditions[key] = text.Draw(t, "status")
			}
			for j := range c.Keys {
				c.Keys[j] = text.Draw(t, "key")
			}
		}
		written, err := smokejob.Marshal("a", all)
		if err != nil {
			t.Fatal(err)
		}
		_, read, err := smokejob.Read(written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if diff := cmp.Diff(all, read); diff != "" {
			t.Fatalf("%s\n%s", diff, written)
		}
	})
}

func FuzzRead(f *testing.F) {
	text, err := smokejob.Marshal("a", checks())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"formatVersion":"1","checks":[{"check":"tcp","address":"a:1"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		name, read, err := smokejob.Read(text)
		if err != nil {
			return
		}
		written, err := smokejob.Marshal(name, read)
		if err != nil {
			return // an address with credentials
		}
		if _, again, err := smokejob.Read(written); err != nil || len(again) != len(read) {
			t.Errorf("%v: %s", err, written)
		}
	})
}
