package infer

import (
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// Namespaces: an object cannot be applied before its namespace exists.

func namespaceKey(name string) key { return key{Kind: kindNamespace, Name: name} }

func createsNamespace(c *component.Component, add func(key, string, finding.Position)) {
	if c.Namespace != "" && c.HasSyncOption("CreateNamespace=true") {
		add(namespaceKey(c.Namespace), "the sync option CreateNamespace=true", c.At("syncOptions"))
	}
}

func providesNamespace(o object, add func(key)) {
	if o.is("", "Namespace") {
		add(namespaceKey(o.GetName()))
	}
}

func requiresNamespace(_ world, o object, add func(need)) {
	if ns := o.namespace(); ns != "" {
		add(need{key: namespaceKey(ns), field: "metadata.namespace", strength: plan.Hard, verb: "lands in Namespace " + ns})
	}
}
