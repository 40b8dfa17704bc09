package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/operators"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Storage: a claim binds only if its class exists, and a pod starts only with
// its claims.

const defaultClass = "\x00default" // no object can have this name

func storageClassKey(name string) key { return key{Kind: kindStorageClass, Name: name} }

func pvcKey(ns, name string) key { return key{Kind: kindPVC, Namespace: ns, Name: name} }

func providesStorage(o *object, add func(key)) {
	switch {
	case o.is("storage.k8s.io", "StorageClass"):
		names := []string{o.name}
		if text(o.root(), "metadata", "annotations", "storageclass.kubernetes.io/is-default-class") == "true" {
			names = append(names, defaultClass)
		}
		for _, name := range names {
			add(storageClassKey(name))
			if text(o.root(), "volumeBindingMode") == "WaitForFirstConsumer" {
				add(key{Kind: kindWaiting, Name: name})
			}
		}
	case o.is("", "PersistentVolumeClaim"):
		add(pvcKey(o.namespace(), o.name))
	case o.is("", "PersistentVolume"):
		add(key{Kind: kindVolume, Name: o.name})
		if claim := text(o.root(), "spec", "claimRef", "name"); claim != "" {
			add(key{Kind: kindReserved, Namespace: text(o.root(), "spec", "claimRef", "namespace"), Name: claim})
		}
	}
}

// claimsOf visits the claims that an object is or makes: the mapping that holds
// the class, the name of its field and the path.
func claimsOf(o *object, visit func(claim map[string]any, field, path string)) {
	root := o.root()
	if o.is("", "PersistentVolumeClaim") && text(root, "spec", "volumeName") == "" && mapping(root, "spec") != nil {
		visit(mapping(root, "spec"), "storageClassName", "spec")
	}
	if o.is("apps", "StatefulSet") {
		each(list(root, "spec", "volumeClaimTemplates"), "spec.volumeClaimTemplates", func(t map[string]any, path string) {
			visit(mapping(t, "spec"), "storageClassName", path+".spec")
		})
	}
	if customGroup(o.g) {
		for _, f := range operators.Of(o.g, o.k).Storage {
			mappings(root, strings.Split(f.At, "."), "", func(storage map[string]any, path string) {
				switch text(storage, "type") {
				case "ephemeral":
				case "jbod":
					each(list(storage, "volumes"), path+".volumes", func(v map[string]any, path string) { visit(v, f.Class, path) })
				default:
					visit(storage, f.Class, path)
				}
			})
		}
	}
	spec, path := podSpec(o)
	each(list(spec, "volumes"), path+".volumes", func(v map[string]any, path string) {
		if claim := mapping(v, "ephemeral", "volumeClaimTemplate", "spec"); claim != nil {
			visit(claim, "storageClassName", path+".ephemeral.volumeClaimTemplate.spec")
		}
	})
}

// classOf names the StorageClass of a claim; ok is false for one that binds to a
// volume that exists already.
func classOf(claim map[string]any, field string) (name string, ok bool) {
	name, set := claim[field].(string)
	switch {
	case set && name == "", set && name == "-":
		return "", false
	case set:
		return name, true
	default:
		return defaultClass, true
	}
}

func requiresStorage(_ *world, o *object, add func(need)) {
	root := o.root()
	claimsOf(o, func(claim map[string]any, field, path string) {
		name, ok := classOf(claim, field)
		if !ok {
			return
		}
		n := need{key: storageClassKey(name), field: path + "." + field, strength: plan.Hard, effect: dependency.Ready, verb: "stores in StorageClass " + name, slip: true}
		if name == defaultClass {
			n.field, n.verb = path, "stores in the default StorageClass"
		}
		add(n)
	})
	if o.is("", "PersistentVolumeClaim") {
		n := need{field: "spec.volumeName", strength: plan.Hard, effect: dependency.Ready, slip: true}
		class, written := mapping(root, "spec")["storageClassName"].(string)
		switch volume := text(root, "spec", "volumeName"); {
		case volume != "":
			n.key, n.verb = key{Kind: kindVolume, Name: volume}, "binds to PersistentVolume "+volume
			add(n)
		case written && class == "": // else something may make it a volume of its own
			n.slip = false
			n.key, n.field, n.verb = key{Kind: kindReserved, Namespace: o.namespace(), Name: o.name}, "metadata.name", "has a PersistentVolume reserved for it"
			add(n)
		}
	}
	podClaims(o, func(name, field string) {
		add(need{key: pvcKey(o.namespace(), name), field: field, strength: podStrength(o), effect: dependency.Ready,
			verb: "mounts PersistentVolumeClaim " + o.namespace() + "/" + name, absent: true, hint: idle(o)})
	})
}

// podClaims visits the claims that the pods of an object mount.
func podClaims(o *object, visit func(name, field string)) {
	spec, path := podSpec(o)
	each(list(spec, "volumes"), path+".volumes", func(v map[string]any, path string) {
		if name := text(v, "persistentVolumeClaim", "claimName"); name != "" {
			visit(name, path+".persistentVolumeClaim.claimName")
		}
	})
}

// mappings visits the mappings at a path; "[]" stands for all entries of a list.
func mappings(v any, path []string, at string, visit func(m map[string]any, path string)) {
	if len(path) == 0 {
		if m, ok := v.(map[string]any); ok {
			visit(m, at)
		}
		return
	}
	if path[0] == "[]" {
		entries, _ := v.([]any)
		for i, e := range entries {
			mappings(e, path[1:], at+bracket(i), visit)
		}
		return
	}
	if m, ok := v.(map[string]any); ok {
		mappings(m[path[0]], path[1:], join(at, path[0]), visit)
	}
}

// StorageClasses are the classes that the claims of an object name, in their order.
func StorageClasses(o manifest.Object) []string {
	gvk := o.GroupVersionKind()
	var all []string
	claimsOf(&object{Object: o, g: gvk.Group, v: gvk.Version, k: gvk.Kind}, func(claim map[string]any, field, _ string) {
		if name, ok := classOf(claim, field); ok && name != defaultClass {
			all = append(all, name)
		}
	})
	return all
}
