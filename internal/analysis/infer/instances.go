package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/operators"
)

// Instances: resources that belong to another resource of their operator, a topic
// to its Kafka, and become Ready only while that runs.

func instanceKey(group, kind, ns, name string) key {
	return key{Kind: kindInstance + group + "/" + kind, Namespace: ns, Name: name}
}

func providesInstance(o *object, add func(key)) {
	switch kind := o.g + "/" + o.k; {
	case kind == objectStore, operators.Owns(o.g, o.k):
		add(instanceKey(o.g, o.k, o.namespace(), o.name))
	case kind == nodePool:
		// A Kafka runs on the pools that carry its name.
		add(instanceKey(o.g, o.k, o.namespace(), text(o.root(), "metadata", "labels", strimziCluster)))
	}
}

// A Kafka of Strimzi has no nodes before a KafkaNodePool with its name as a label is there.
// Source: strimzi-kafka-operator, documentation, "Configuring node pools".
const (
	nodePool       = "kafka.strimzi.io/KafkaNodePool"
	strimziCluster = "strimzi.io/cluster"
)

// onPools reports whether a Kafka runs on node pools: it says so, or says nothing of nodes of
// its own, as those without ZooKeeper do.
func onPools(o *object) bool {
	return text(o.root(), "metadata", "annotations", "strimzi.io/node-pools") == "enabled" ||
		value(o.root(), "spec", "zookeeper") == nil && value(o.root(), "spec", "kafka", "replicas") == nil
}

func requiresInstance(_ *world, o *object, add func(need)) {
	if !customGroup(o.g) {
		return
	}
	if o.is("kafka.strimzi.io", "Kafka") && onPools(o) {
		add(need{key: instanceKey(o.g, "KafkaNodePool", o.namespace(), o.name), field: "metadata.name", strength: plan.Hard, effect: dependency.Ready, verb: "runs on the node pools of " + o.name, static: true})
	}
	for _, b := range operators.Of(o.g, o.k).Belongs {
		group, kind, _ := strings.Cut(b.To, "/")
		found := func(name, field string, _ map[string]any) {
			ns := o.namespace()
			switch {
			case b.Cluster:
				ns = ""
			case b.Namespace != "":
				ns = either(text(o.root(), strings.Split(b.Namespace, ".")...), ns)
			case b.Split:
				if before, after, ok := strings.Cut(name, "/"); ok {
					ns, name = before, after
				}
			}
			n := need{key: instanceKey(group, kind, ns, name), field: field, strength: plan.Hard, effect: dependency.Ready, verb: b.Verb + " " + kind + " " + name, slip: !b.Others,
				static: b.Static}
			if b.Soft {
				n.strength = plan.Soft
			}
			add(n)
		}
		if b.Label != "" {
			if name := text(o.root(), "metadata", "labels", b.Label); name != "" {
				found(name, "metadata.labels."+b.Label, nil)
			}
			continue
		}
		follow(o.root(), strings.Split(b.At, "."), "", found)
	}
}
