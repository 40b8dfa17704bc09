package infer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// requiresPostgresSource: what a Cluster is copied, restored or imported from is
// read with the Secrets of that external cluster. Of one that nothing is started
// from, nobody waits for them. Source: CloudNativePG, "Bootstrap" and "Importing
// Postgres databases".
func requiresPostgresSource(_ *world, o *object, add func(need)) {
	if !o.is("postgresql.cnpg.io", "Cluster") {
		return
	}
	bootstrap := mapping(o.root(), "spec", "bootstrap")
	sources := []string{text(bootstrap, "recovery", "source"), text(bootstrap, "pg_basebackup", "source"), text(bootstrap, "initdb", "import", "source", "externalCluster")}
	each(list(o.root(), "spec", "externalClusters"), "spec.externalClusters", func(external map[string]any, path string) {
		strength := plan.Soft
		if name := text(external, "name"); name != "" && slices.Contains(sources, name) {
			strength = plan.Hard
		}
		for _, field := range []string{"password.name", "sslCert.name", "sslKey.name", "sslRootCert.name", "barmanObjectStore.s3Credentials.*.name"} {
			follow(external, strings.Split(field, "."), path, func(name, field string, _ map[string]any) {
				add(need{key: secretKey(o.namespace(), name), field: field, strength: strength, effect: dependency.Ready, verb: "needs Secret " + o.namespace() + "/" + name})
			})
		}
	})
}

// objectStore is where the barman plugin of CloudNativePG archives to. A Cluster
// gets no pods while it is missing: the plugin stops its reconciliation. Source:
// github.com/cloudnative-pg/plugin-barman-cloud, "Usage".
const objectStore = "barmancloud.cnpg.io/ObjectStore"

func requiresObjectStore(_ *world, o *object, add func(need)) {
	if !o.is("postgresql.cnpg.io", "Cluster") {
		return
	}
	group, kind, _ := strings.Cut(objectStore, "/")
	each(list(o.root(), "spec", "plugins"), "spec.plugins", func(plugin map[string]any, path string) {
		name := text(plugin, "parameters", "barmanObjectName")
		if enabled, given := plugin["enabled"].(bool); name == "" || given && !enabled {
			return
		}
		add(need{key: instanceKey(group, kind, o.namespace(), name), field: path + ".parameters.barmanObjectName", strength: plan.Hard, effect: dependency.Ready,
			verb: "archives to ObjectStore " + name, static: true})
	})
}

// postgresSecrets are those CloudNativePG makes for a cluster besides its
// certificates. Source: CloudNativePG, "Bootstrap".
func postgresSecrets(o *object, add func(key)) {
	root, ns := o.root(), o.namespace()
	bootstrap := mapping(root, "spec", "bootstrap")
	owner := "initdb"
	for _, method := range []string{"recovery", "pg_basebackup"} {
		if mapping(bootstrap, method) != nil {
			owner = method
		}
	}
	if text(bootstrap, owner, "secret", "name") == "" && (owner == "initdb" || text(bootstrap, owner, "database") != "") {
		add(secretKey(ns, o.name+"-app"))
	}
	if truth(root, "spec", "enableSuperuserAccess") && text(root, "spec", "superuserSecret", "name") == "" {
		add(secretKey(ns, o.name+"-superuser"))
	}
	each(list(root, "spec", "managed", "services", "additional"), "", func(s map[string]any, _ string) {
		add(serviceKey(ns, text(s, "serviceTemplate", "metadata", "name")))
	})
}
