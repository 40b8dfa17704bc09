package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Image is an image that an object names, and the field that does.
type Image struct{ Reference, Field string }

// Images are those of the pods of an object, in their order; an empty one is written so.
func Images(o manifest.Object) []Image {
	gvk := o.GroupVersionKind()
	spec, path := podSpec(&object{Object: o, g: gvk.Group, v: gvk.Version, k: gvk.Kind})
	var all []Image
	containers(spec, path, func(c map[string]any, field string) {
		if image, ok := c["image"].(string); ok {
			all = append(all, Image{image, field + ".image"})
		}
	})
	return all
}

// imageFields are the fields of custom resources that an operator runs as the image of a pod, as
// they are written. Fields of the same name that mean something else are not among them: a
// repository that is watched for tags (ImageRepository of Flux), what a build pushes, or a name
// that the operator adds its own tag to. Source: the API reference of each operator.
var imageFields = map[kindName][]string{
	{"postgresql.cnpg.io", "Cluster"}: {"spec.imageName"},
	{"acid.zalan.do", "postgresql"}:   {"spec.dockerImage"},
	{"k8s.mariadb.com", "MariaDB"}:    {"spec.image", "spec.metrics.exporter.image"},
	{"k8s.mariadb.com", "MaxScale"}:   {"spec.image"},

	{"databases.spotahome.com", "RedisFailover"}: {"spec.redis.image", "spec.sentinel.image"},
	{"rabbitmq.com", "RabbitmqCluster"}:          {"spec.image"},
	{"kafka.strimzi.io", "Kafka"}: {"spec.kafka.image", "spec.zookeeper.image", "spec.cruiseControl.image", "spec.kafkaExporter.image",
		"spec.entityOperator.topicOperator.image", "spec.entityOperator.userOperator.image"},
	{"kafka.strimzi.io", "KafkaConnect"}:      {"spec.image"},
	{"kafka.strimzi.io", "KafkaMirrorMaker2"}: {"spec.image"},
	{"kafka.strimzi.io", "KafkaBridge"}:       {"spec.image"},

	{"elasticsearch.k8s.elastic.co", "Elasticsearch"}: {"spec.image"},
	{"kibana.k8s.elastic.co", "Kibana"}:               {"spec.image"},
	{"k8s.keycloak.org", "Keycloak"}:                  {"spec.image"},

	{"monitoring.coreos.com", "Prometheus"}:      {"spec.image", "spec.thanos.image"},
	{"monitoring.coreos.com", "PrometheusAgent"}: {"spec.image"},
	{"monitoring.coreos.com", "Alertmanager"}:    {"spec.image"},
	{"monitoring.coreos.com", "ThanosRuler"}:     {"spec.image"},

	{"opentelemetry.io", "OpenTelemetryCollector"}: {"spec.image"},
	{"operators.coreos.com", "CatalogSource"}:      {"spec.image"},
}

// kindName is a kind by its group and name.
type kindName struct{ group, kind string }

// OperatorImages are the images of the pods that an operator makes of a custom resource: those of
// fields that are known, and those of lists of containers, which have the form of Kubernetes in
// every kind that has one.
func OperatorImages(o manifest.Object) []Image {
	gvk := o.GroupVersionKind()
	if spec, _ := podSpec(&object{Object: o, g: gvk.Group, v: gvk.Version, k: gvk.Kind}); spec != nil || !customGroup(gvk.Group) {
		return nil
	}
	var all []Image
	for _, field := range imageFields[kindName{gvk.Group, gvk.Kind}] {
		follow(o.Object, strings.Split(field, "."), "", func(image, field string, _ map[string]any) {
			all = append(all, Image{image, field})
		})
	}
	everywhere(o.Object["spec"], "spec", "spec", func(m map[string]any, path, _ string) {
		if strings.Contains(path+".", ".values.") || strings.Contains(path+".", ".valuesObject.") {
			return // of a chart, which decides what they mean
		}
		containers(m, path, func(c map[string]any, field string) {
			// Policies write patterns of both.
			name, image := text(c, "name"), text(c, "image")
			if name != "" && image != "" && !strings.ContainsAny(name+image, "*?!|&()") {
				all = append(all, Image{image, field + ".image"})
			}
		})
	})
	return all
}
