package infer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/plan"
)

// Controllers: a custom resource becomes Ready only while the controller of its
// kind runs. An object does not name its controller, so only controllers that
// are known by their image count.

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
}

func controllerKey(group, kind string) key {
	return key{Kind: kindController, Name: group + "/" + kind}
}

func providesController(o object, add func(key)) {
	if !o.is("apps", "Deployment", "StatefulSet", "DaemonSet") {
		return
	}
	each(list(o.Object.Object, "spec", "template", "spec", "containers"), "", func(c map[string]any, _ string) {
		repository := imageRepository(text(c, "image"))
		for _, known := range controllers {
			if repository != known.image && !strings.HasSuffix(repository, "/"+known.image) {
				continue
			}
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

// imageRepository cuts tag and digest off an image.
func imageRepository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

func requiresController(_ world, o object, add func(need)) {
	group, kind := o.group(), o.GetKind()
	if builtinGroup(group) {
		return
	}
	for _, known := range controllers {
		if known.group != group {
			continue
		}
		n := need{field: "kind", strength: plan.Hard, verb: "is reconciled by the controller of " + group}
		switch {
		case len(known.kinds) == 0:
			n.key = controllerKey(group, "*")
		case slices.Contains(known.kinds, kind):
			n.key = controllerKey(group, kind)
		default:
			continue
		}
		add(n)
	}
}
