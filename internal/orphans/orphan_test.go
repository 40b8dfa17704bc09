package orphans

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// object is a live object with field managers.
func object(group, kindName, namespace, name string, managers ...string) live {
	o := live{
		kind:     kind{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kindName}, namespaced: namespace != ""},
		resource: finding.Resource{Group: group, Kind: kindName, Namespace: namespace, Name: name},
	}
	o.Name, o.Namespace = name, namespace
	for _, m := range managers {
		o.ManagedFields = append(o.ManagedFields, metav1.ManagedFieldsEntry{Manager: m})
	}
	return o
}

func (o live) labelled(key, value string) live {
	o.Labels = map[string]string{key: value}
	return o
}

func (o live) annotated(key, value string) live {
	o.Annotations = map[string]string{key: value}
	return o
}

func TestIgnored(t *testing.T) {
	x := &index{namespaces: []string{"apps"}, Ladder: Ladder{ArgoNamespaces: []string{"argocd"}}}
	sets := map[string][]string{"apps": {"db"}}
	status := object("", "ConfigMap", "apps", "x", "kubectl-create")
	status.ManagedFields = append(status.ManagedFields, metav1.ManagedFieldsEntry{Manager: "some-operator", Subresource: "status"})
	now := metav1.Now()
	going := object("", "ConfigMap", "apps", "x")
	going.DeletionTimestamp = &now
	for name, tc := range map[string]struct {
		object live
		want   string
	}{
		"by kubectl":                    {object("", "ConfigMap", "apps", "x", "kubectl-create"), ""},
		"by nobody known":               {object("", "ConfigMap", "apps", "x"), ""},
		"by an unknown client":          {object("", "ConfigMap", "apps", "x", "my-script"), ""},
		"by Helm":                       {object("", "ConfigMap", "apps", "x", "helm"), ""},
		"by Flux's Helm":                {object("", "ConfigMap", "apps", "x", "helm-controller"), ""},
		"by Flux's Kustomize":           {object("", "ConfigMap", "apps", "x", "kustomize-controller"), ""},
		"by Argo CD":                    {object("", "ConfigMap", "apps", "x", "argocd-application-controller"), ""},
		"patched by an operator":        {object("", "ConfigMap", "apps", "x", "kubectl-create", "some-operator"), ""},
		"status of an operator":         {status, ""},
		"by an operator":                {object("", "ConfigMap", "apps", "x", "strimzi-cluster-operator"), byOperator},
		"by a manager":                  {object("", "ConfigMap", "apps", "x", "manager"), byOperator},
		"by an issuing controller":      {object("", "Secret", "apps", "x", "cert-manager-certificates-issuing"), byOperator},
		"of a certificate":              {object("", "Secret", "apps", "x").annotated("cert-manager.io/certificate-name", "x"), byOperator},
		"managed by an operator":        {object("", "Secret", "apps", "x").labelled("app.kubernetes.io/managed-by", "strimzi-cluster-operator"), byOperator},
		"managed by Helm":               {object("", "Secret", "apps", "x").labelled("app.kubernetes.io/managed-by", "Helm"), ""},
		"a copy":                        {object("", "Secret", "apps", "x").annotated("argocd.argoproj.io/tracking-id", "a:/Secret:apps/other"), byOperator},
		"tracked itself":                {object("", "Secret", "apps", "x").annotated("argocd.argoproj.io/tracking-id", "a:/Secret:apps/x"), ""},
		"default ServiceAccount":        {object("", "ServiceAccount", "apps", "default"), byCluster},
		"other ServiceAccount":          {object("", "ServiceAccount", "apps", "web"), ""},
		"root certificate":              {object("", "ConfigMap", "apps", "kube-root-ca.crt"), byCluster},
		"token":                         {object("", "Secret", "apps", "t").annotated("kubernetes.io/service-account.name", "web"), byCluster},
		"by a controller of Kubernetes": {object("batch", "Job", "apps", "j", "kube-controller-manager"), byCluster},
		"claim of a StatefulSet":        {object("", "PersistentVolumeClaim", "apps", "data-db-12"), byCluster},
		"claim of none":                 {object("", "PersistentVolumeClaim", "apps", "data-other-0"), ""},
		"claim without a number":        {object("", "PersistentVolumeClaim", "apps", "data-db"), ""},
		"storage of a release":          {object("", "Secret", "apps", "sh.helm.release.v1.a.v1").labelled("owner", "helm"), byRelease},
		"an Application":                {object("argoproj.io", "Application", "argocd", "a"), byArgo},
		"a Workflow":                    {object("argoproj.io", "Workflow", "apps", "a"), ""},
		"Argo CD itself":                {object("apps", "Deployment", "argocd", "argocd-server").labelled("app.kubernetes.io/part-of", "argocd"), byArgo},
		"the admin's password":          {object("", "Secret", "argocd", "argocd-initial-admin-secret"), byArgo},
		"a repository":                  {object("", "Secret", "argocd", "r").labelled("argocd.argoproj.io/secret-type", "repository"), byArgo},
		"state":                         {object("", "ConfigMap", "ladder-system", "x"), byState},
		"going":                         {going, leaving},
		"a namespace of the ladder":     {object("", "Namespace", "", "apps"), onDemand},
		"another namespace":             {object("", "Namespace", "", "other"), ""},
		"a bootstrap role":              {object("rbac.authorization.k8s.io", "ClusterRole", "", "system:node"), byCluster},
		"admin":                         {object("rbac.authorization.k8s.io", "ClusterRole", "", "admin").labelled("kubernetes.io/bootstrapping", "rbac-defaults"), byCluster},
	} {
		if got := x.ignored(tc.object, sets); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestLabelledBy: an object is of the Application in a label that its Argo CD marks with, and
// that Argo CD has written.
func TestLabelledBy(t *testing.T) {
	k := &knowledge{instanceLabels: []string{"argocd.argoproj.io/instance", "app.kubernetes.io/instance"}}
	marked := func(manager, label string) live {
		return object("", "ConfigMap", "apps", "x", manager).labelled(label, "shop")
	}
	for name, tc := range map[string]struct {
		object live
		want   string
	}{
		"by its own label":  {marked("argocd-controller", "argocd.argoproj.io/instance"), ByArgoCD},
		"by the default":    {marked("argocd-controller", "app.kubernetes.io/instance"), ByArgoCD},
		"by another label":  {marked("argocd-controller", "example.com/instance"), ByTool},
		"by somebody else":  {marked("my-script", "argocd.argoproj.io/instance"), Unknown},
		"by Helm, labelled": {marked("helm", "app.kubernetes.io/instance"), ByTool},
	} {
		got := k.originOf(tc.object)
		if got.Kind != tc.want || got.Kind == ByArgoCD && got.Name != "shop" {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
	}
}

func TestTrackedBy(t *testing.T) {
	for text, want := range map[string]tracking{
		"app:apps/Deployment:ns/web":                            {"app", finding.Resource{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "web"}},
		"team_app:/Secret:ns/s":                                 {"app", finding.Resource{Kind: "Secret", Namespace: "ns", Name: "s"}},
		"app:rbac.authorization.k8s.io/ClusterRole:ns/system:x": {"app", finding.Resource{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Namespace: "ns", Name: "system:x"}},
	} {
		got, ok := trackedBy(object("", "Secret", "ns", "x").annotated("argocd.argoproj.io/tracking-id", text))
		if !ok || got != want {
			t.Errorf("%s = %+v, want %+v", text, got, want)
		}
	}
	for _, text := range []string{"", "app", "app:x", "app:Secret:ns/x", "app:/Secret:x"} {
		if got, ok := trackedBy(object("", "Secret", "ns", "x").annotated("argocd.argoproj.io/tracking-id", text)); ok {
			t.Errorf("%q = %+v", text, got)
		}
	}
}

func orphanOf(place int, group, kindName, name string) Orphan {
	o := object(group, kindName, "apps", name)
	return Orphan{Resource: o.resource, Version: "v1", UID: name, Action: Delete, Data: data(o.kind.GroupKind()), place: place, kind: o.kind}
}

// TestOrderOfRemoval: the reverse of the order in which they were applied; custom
// resources before their operators, what holds others last.
func TestOrderOfRemoval(t *testing.T) {
	all := []Orphan{
		orphanOf(0, "", "Namespace", "ns"), orphanOf(1, "apiextensions.k8s.io", "CustomResourceDefinition", "crd"),
		orphanOf(2, "apps", "Deployment", "operator"), orphanOf(2, "", "ServiceAccount", "operator"),
		orphanOf(5, "postgresql.cnpg.io", "Cluster", "db"), orphanOf(7, "apps", "Deployment", "web"), orphanOf(7, "", "ConfigMap", "web"),
		orphanOf(-1, "", "ConfigMap", "unknown"), orphanOf(3, "", "PersistentVolumeClaim", "claim"),
	}
	sortRemovals(all)
	var got []string
	for _, o := range all {
		got = append(got, o.Resource.Kind+" "+o.Resource.Name)
	}
	want := []string{
		"Cluster db", "ConfigMap unknown", "Deployment web", "ConfigMap web", "Deployment operator", "ServiceAccount operator",
		"PersistentVolumeClaim claim", "CustomResourceDefinition crd", "Namespace ns",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestPlanFile(t *testing.T) {
	held := orphanOf(0, "", "Namespace", "held")
	held.Holds = true
	r := Report{Environment: "dev", Cluster: "c", Orphans: []Orphan{orphanOf(1, "", "ConfigMap", "a"), orphanOf(2, "", "PersistentVolumeClaim", "claim"), held}}
	p := NewPlan(r, "https://user:CANARY@example.com")
	text, err := p.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "CANARY") || !strings.HasPrefix(string(text), "# What no component") {
		t.Errorf("plan:\n%s", text)
	}
	read := func(text string) (Plan, error) {
		file := filepath.Join(t.TempDir(), "plan.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadPlan(file)
	}
	again, err := read(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, again); diff != "" {
		t.Errorf("read again (-written +read):\n%s", diff)
	}
	for name, wrong := range map[string]string{
		"action":  strings.Replace(string(text), "action: delete", "action: burn", 1),
		"field":   string(text) + "more: x\n",
		"version": strings.Replace(string(text), `formatVersion: "1"`, `formatVersion: "2"`, 1),
		"uid":     strings.Replace(string(text), "uid: a\n", "", 1),
		"other":   "a: [",
	} {
		if _, err := read(wrong); err == nil {
			t.Errorf("%s: no error", name)
		}
	}

	for name, tc := range map[string]struct {
		includeData  bool
		chosen, stay int
	}{"as it is": {false, 1, 2}, "with data": {true, 2, 1}} {
		chosen, stay := Choose(p, r, tc.includeData)
		if len(chosen) != tc.chosen || len(stay) != tc.stay {
			t.Errorf("%s: %d chosen, %d stay: %v", name, len(chosen), len(stay), stay)
		}
	}
	// One object twice in the file is deleted once.
	p.Objects = append(p.Objects, p.Objects[0])
	if chosen, _ := Choose(p, r, false); len(chosen) != 1 {
		t.Errorf("chosen = %v", chosen)
	}
}
