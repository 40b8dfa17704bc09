package infer

import (
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Controllers: a custom resource becomes Ready only while the controller of its
// kind runs. An object does not name its controller. Known are those with a
// well-known image, and those whose ServiceAccount may write the status of the
// kind (rbac.go).

// controller is one well-known operator.
type controller struct {
	// image is the end of the repository of its image.
	image string
	// without are arguments of other programs in the same image.
	without []string
	group   string
	// kinds it brings to Ready; empty means all of the group.
	kinds []string
}

// controllers are read from the manifests that each project publishes.
var controllers = []controller{
	{image: "cert-manager-controller", group: "cert-manager.io"},
	{image: "external-secrets/external-secrets", without: []string{"webhook", "certcontroller"}, group: "external-secrets.io"},
	{image: "cloudnative-pg/cloudnative-pg", group: "postgresql.cnpg.io", kinds: []string{"Cluster", "Pooler", "Backup", "ScheduledBackup", "Database", "Publication", "Subscription"}},
	{image: "strimzi/operator", group: "kafka.strimzi.io"},
	{image: "keycloak/keycloak-operator", group: "k8s.keycloak.org"},
	{image: "spotahome/redis-operator", group: "databases.spotahome.com"},
	{image: "altinity/clickhouse-operator", group: "clickhouse.altinity.com", kinds: []string{"ClickHouseInstallation"}},
	{image: "altinity/clickhouse-operator", group: "clickhouse-keeper.altinity.com"},
	{image: "alexandrevilain/temporal-operator", group: "temporal.io"},
	{image: "prometheus-operator/prometheus-operator", group: "monitoring.coreos.com", kinds: []string{"Prometheus", "Alertmanager", "PrometheusAgent", "ThanosRuler"}},
	{image: "envoyproxy/gateway", group: "gateway.envoyproxy.io"},
	{image: "kedacore/keda", group: "keda.sh", kinds: []string{"ScaledObject", "ScaledJob"}},
	{image: "crossplane/crossplane", group: "pkg.crossplane.io"},
	{image: "crossplane/crossplane", group: "apiextensions.crossplane.io", kinds: []string{"CompositeResourceDefinition"}},
	{image: "sealed-secrets-controller", group: "bitnami.com", kinds: []string{"SealedSecret"}},
	{image: "grafana/grafana-operator", group: "grafana.integreatly.org"},
	{image: "hashicorp/vault-secrets-operator", group: "secrets.hashicorp.com"},
	{image: "jetstack/trust-manager", group: "trust.cert-manager.io"},
	{image: "mariadb-operator/mariadb-operator", without: []string{"webhook", "cert-controller"}, group: "k8s.mariadb.com"},
	{image: "rabbitmqoperator/cluster-operator", group: "rabbitmq.com", kinds: []string{"RabbitmqCluster"}},
	{image: "opentelemetry-operator/opentelemetry-operator", group: "opentelemetry.io", kinds: []string{"OpenTelemetryCollector"}},
	{image: "eck/eck-operator", group: "elasticsearch.k8s.elastic.co"},
	{image: "eck/eck-operator", group: "kibana.k8s.elastic.co"},
}

func controllerKey(group, kind string) key {
	return key{Kind: kindController, Name: group + "/" + kind}
}

// learnControllers finds who reconciles what.
func (x *index) learnControllers() {
	writers := x.statusWriters()
	for i, of := range x.objects {
		for _, o := range of {
			if !o.is("apps", "Deployment", "StatefulSet", "DaemonSet") {
				continue
			}
			add := func(k key) {
				x.add(k, provider{component: i, object: o, place: o.place, position: o.Origin.Position(), basis: finding.Rendered})
			}
			controllersIn(o, add)
			for _, k := range writers[o] {
				add(k)
			}
		}
	}
}

func controllersIn(o *object, add func(key)) {
	each(list(o.root(), "spec", "template", "spec", "containers"), "", func(c map[string]any, _ string) {
		for _, known := range controllersOf(imageRepository(text(c, "image"))) {
			words := append(slices.Clone(list(c, "args")), list(c, "command")...)
			if slices.ContainsFunc(known.without, func(w string) bool { return slices.Contains(words, any(w)) }) {
				continue
			}
			if len(known.kinds) == 0 {
				add(controllerKey(known.group, "*"))
			}
			for _, kind := range known.kinds {
				add(controllerKey(known.group, kind))
			}
		}
	})
}

// byImage are the controllers by the end of the repository of their image.
var byImage = sync.OnceValue(func() map[string][]controller {
	by := map[string][]controller{}
	for _, c := range controllers {
		by[c.image] = append(by[c.image], c)
	}
	return by
})

// controllersOf are those that the image of a repository may be.
func controllersOf(repository string) (found []controller) {
	for more := true; more; _, repository, more = strings.Cut(repository, "/") {
		found = append(found, byImage()[repository]...)
	}
	return found
}

// imageRepository cuts tag and digest off an image.
func imageRepository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// configures reports whether a kind of a known operator only configures it:
// nothing becomes Ready there.
func configures(group, kind string) bool {
	of := false
	for _, known := range controllers {
		if known.group == group {
			if len(known.kinds) == 0 || slices.Contains(known.kinds, kind) {
				return false
			}
			of = true
		}
	}
	return of
}

func requiresController(w *world, o *object, add func(need)) {
	if !customGroup(o.g) || ownKind(o.g, o.k) || configures(o.g, o.k) {
		return
	}
	or := []key{controllerKey(o.g, "*")}
	for _, name := range w.resources(o.g, o.k) {
		or = append(or, controllerKey(o.g, name))
	}
	add(need{key: controllerKey(o.g, o.k), or: or, field: "kind",
		strength: plan.Hard, effect: dependency.Ready, verb: "is reconciled by the controller of " + o.g})
}
