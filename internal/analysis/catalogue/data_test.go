package catalogue

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// read is how every source is written: where an entry was read.
var read = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+@[0-9a-f]{12}:\S+( .*)?$`)

func filesIn(t *testing.T, folder string) []string {
	t.Helper()
	files, err := fs.ReadDir(data, folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, path.Join(folder, f.Name()))
	}
	return names
}

// TestEntries decodes every file: an entry is in the file of its chart, says its
// version and where it was read, is there once, and the sets that it names exist.
func TestEntries(t *testing.T) {
	seen := map[string]string{}
	for _, file := range append(filesIn(t, "data/generated/charts"), filesIn(t, "data/added/charts")...) {
		raw, err := data.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := Decode(raw)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if len(entries) == 0 {
			t.Errorf("%s holds no entry", file)
		}
		for _, e := range entries {
			if e.Chart+".yaml" != path.Base(file) {
				t.Errorf("%s holds an entry of %s", file, e.Chart)
			}
			for _, s := range e.Source {
				if !read.MatchString(s) {
					t.Errorf("%s: source %q is not written as owner/name@commit:path", file, s)
				}
			}
			for _, r := range e.Repositories {
				key := path.Dir(file) + " " + e.Chart + " " + address(r)
				if seen[key] != "" {
					t.Errorf("%s: a second entry for %s", file, key)
				}
				seen[key] = file
				if strings.HasPrefix(r, "http://") || !strings.Contains(r, "://") {
					t.Errorf("%s: repository %q has no safe scheme", file, r)
				}
			}
			for _, part := range e.CRDs {
				checkPart(t, file, part)
			}
		}
	}
}

func checkPart(t *testing.T, file string, part CRDs) {
	t.Helper()
	list := part.List
	if part.Set != "" {
		all, err := embeddedSet(part.Set)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			return
		}
		list = all
	}
	for _, pattern := range part.Kinds {
		if !slices.ContainsFunc(list, func(c CRD) bool { return kindMatches(pattern, c.Group, c.Kind) }) {
			t.Errorf("%s: set %s has no kind %s", file, part.Set, pattern)
		}
	}
	checkCRDs(t, file, part.List)
}

func checkCRDs(t *testing.T, file string, list []CRD) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range list {
		if seen[c.Group+"/"+c.Kind] {
			t.Errorf("%s: %s/%s twice", file, c.Group, c.Kind)
		}
		seen[c.Group+"/"+c.Kind] = true
		if len(c.Versions) == 0 {
			t.Errorf("%s: %s serves no version", file, c)
		}
	}
}

// TestSets decodes every set: it is in the file of its name, sorted, and holds
// every kind once.
func TestSets(t *testing.T) {
	for _, file := range filesIn(t, "data/generated/crds") {
		raw, err := data.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := decodeSet(raw)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if s.Set+".yaml" != path.Base(file) || !read.MatchString(s.Source[0]) {
			t.Errorf("%s: set %s of %v", file, s.Set, s.Source)
		}
		checkCRDs(t, file, s.CRDs)
		sorted := slices.Clone(s.CRDs)
		SortCRDs(sorted)
		for i := range sorted {
			if sorted[i].String() != s.CRDs[i].String() {
				t.Errorf("%s is not sorted", file)
				break
			}
		}
	}
}

// TestEveryEntryIsFound: an entry answers for each of its own repositories, and
// for its manifests.
func TestEveryEntryIsFound(t *testing.T) {
	c := New()
	for _, e := range c.Entries() {
		for _, r := range e.Repositories {
			a, ok := c.Find(Asked{Source: model.Source{Kind: model.Chart, RepoURL: r, Name: e.Chart}, Release: "one", Namespace: "ns"})
			if !ok || !slices.Equal(a.Entry.Repositories, e.Repositories) {
				t.Errorf("%s of %s is answered by %s of %v", e.Chart, r, a.Entry.Chart, a.Entry.Repositories)
			}
		}
		for _, p := range e.Manifests {
			example := strings.ReplaceAll(strings.ReplaceAll(p, "**", "v1"), "*", "v1")
			a, ok := c.Find(Asked{Source: model.Source{Kind: model.Git, RepoURL: "https://" + example}})
			if !ok || a.Entry.Chart != e.Chart {
				t.Errorf("%s is answered by %s, not %s", example, a.Entry.Chart, e.Chart)
			}
		}
	}
}

// TestCharts: the charts that platforms commonly install are known.
func TestCharts(t *testing.T) {
	known := entryFiles()
	for _, name := range strings.Fields(`actions-runner-controller alloy argo-cd argo-events argo-rollouts argo-workflows argocd-apps
		argocd-image-updater authentik aws-ebs-csi-driver aws-efs-csi-driver aws-load-balancer-controller base ceph-csi-cephfs ceph-csi-rbd
		cert-manager cilium cloudnative-pg cluster cluster-api-operator cluster-autoscaler cni consul containerized-data-importer crossplane
		csi-driver-nfs csi-driver-smb democratic-csi descheduler dex eck-operator external-dns external-secrets external-snapshotter falco flagger
		fluent-bit flux2 gatekeeper gateway gateway-api gateway-helm gpu-operator grafana grafana-operator haproxy-ingress hcloud-csi ingress-nginx
		intel-device-plugins-gpu intel-device-plugins-operator istiod k8up kafka kargo karpenter keda keycloak keycloak-operator keycloakx
		knative-operator kube-prometheus-stack kuberay-operator kubernetes-dashboard kubernetes-ingress kubevirt kured kyverno linkerd-crds
		local-path-provisioner loki longhorn mariadb mariadb-operator metallb metrics-server minio mongodb mysql mysql-operator nack nats nextcloud
		nfs-subdir-external-provisioner nginx-ingress node-feature-discovery openebs opensearch opentelemetry-collector opentelemetry-operator
		operator operator-lifecycle-manager pg-operator plugin-barman-cloud postgres-operator postgresql prometheus prometheus-adapter
		prometheus-operator-crds psmdb-operator pxc-operator rabbitmq rabbitmq-cluster-operator rancher redis redis-ha redis-operator reflector
		reloader rook-ceph rook-ceph-cluster sealed-secrets secrets-store-csi-driver snapshot-controller spark-operator spegel step-certificates
		step-issuer strimzi-kafka-operator tekton-operator tekton-pipeline tempo temporal tigera-operator traefik trust-manager valkey vault
		vault-secrets-operator velero vertical-pod-autoscaler victoria-metrics-k8s-stack volsync`) {
		if !slices.Contains(known, name) {
			t.Errorf("the catalogue does not know %s", name)
		}
	}
}
