package infer

import "github.com/rollout-ladder/ladder/internal/plan"

// Storage: a claim binds only if its class exists, and a pod starts only with
// its claims.

const defaultClass = "\x00default" // no object can have this name

func storageClassKey(name string) key { return key{Kind: kindStorageClass, Name: name} }

func pvcKey(ns, name string) key { return key{Kind: kindPVC, Namespace: ns, Name: name} }

func providesStorage(o object, add func(key)) {
	switch {
	case o.is("storage.k8s.io", "StorageClass"):
		add(storageClassKey(o.GetName()))
		if o.GetAnnotations()["storageclass.kubernetes.io/is-default-class"] == "true" {
			add(storageClassKey(defaultClass))
		}
	case o.is("", "PersistentVolumeClaim"):
		add(pvcKey(o.namespace(), o.GetName()))
	}
}

// classFields are the fields of custom resources that name a StorageClass, with
// the mapping that asks for storage: without a class it takes the default one.
var classFields = []struct {
	group, kind string
	storage     []string
	class       string
}{
	{"postgresql.cnpg.io", "Cluster", []string{"spec", "storage"}, "storageClass"},
	{"postgresql.cnpg.io", "Cluster", []string{"spec", "walStorage"}, "storageClass"},
	{"kafka.strimzi.io", "Kafka", []string{"spec", "kafka", "storage"}, "class"},
	{"kafka.strimzi.io", "KafkaNodePool", []string{"spec", "storage"}, "class"},
	{"databases.spotahome.com", "RedisFailover", []string{"spec", "redis", "storage", "persistentVolumeClaim", "spec"}, "storageClassName"},
	{"monitoring.coreos.com", "Prometheus", []string{"spec", "storage", "volumeClaimTemplate", "spec"}, "storageClassName"},
	{"monitoring.coreos.com", "Alertmanager", []string{"spec", "storage", "volumeClaimTemplate", "spec"}, "storageClassName"},
}

func requiresStorage(_ world, o object, add func(need)) {
	root := o.Object.Object
	class := func(claim map[string]any, field, path string) {
		name, set := claim[field].(string)
		switch {
		case set && name == "": // a volume that exists already
		case set:
			add(need{key: storageClassKey(name), field: path + "." + field, strength: plan.Hard, verb: "stores in StorageClass " + name})
		default:
			add(need{key: storageClassKey(defaultClass), field: path, strength: plan.Hard, verb: "stores in the default StorageClass"})
		}
	}
	if o.is("", "PersistentVolumeClaim") && text(root, "spec", "volumeName") == "" {
		class(mapping(root, "spec"), "storageClassName", "spec")
	}
	if o.is("apps", "StatefulSet") {
		each(list(root, "spec", "volumeClaimTemplates"), "spec.volumeClaimTemplates", func(t map[string]any, path string) {
			class(mapping(t, "spec"), "storageClassName", path+".spec")
		})
	}
	for _, f := range classFields {
		storage := mapping(root, f.storage...)
		if storage == nil || !o.is(f.group, f.kind) {
			continue
		}
		path := ""
		for _, part := range f.storage {
			path = join(path, part)
		}
		switch text(storage, "type") {
		case "ephemeral":
		case "jbod":
			each(list(storage, "volumes"), path+".volumes", func(v map[string]any, path string) { class(v, f.class, path) })
		default:
			class(storage, f.class, path)
		}
	}
	spec, path := podSpec(o)
	each(list(spec, "volumes"), path+".volumes", func(v map[string]any, path string) {
		if name := text(v, "persistentVolumeClaim", "claimName"); name != "" {
			add(need{key: pvcKey(o.namespace(), name), field: path + ".persistentVolumeClaim.claimName", strength: podStrength(o),
				verb: "mounts PersistentVolumeClaim " + o.namespace() + "/" + name})
		}
		if claim := mapping(v, "ephemeral", "volumeClaimTemplate", "spec"); claim != nil {
			class(claim, "storageClassName", path+".ephemeral.volumeClaimTemplate.spec")
		}
	})
}
