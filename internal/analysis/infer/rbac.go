package infer

import (
	"strings"
)

// Who may write the status of a kind is its controller: the verb on the
// subresource is given to nobody else. A right on all groups, or on all resources
// of a group, says nothing.

// statusWriters maps workloads to the controllers that they are.
func (x *index) statusWriters() map[*object][]key {
	rights := map[key][]string{}    // of a role: "group/plural"
	bound := map[key][]key{}        // of a role: ServiceAccounts
	accounts := map[key][]*object{} // workloads by their ServiceAccount
	for _, of := range x.objects {
		for _, o := range of {
			switch {
			case o.is("rbac.authorization.k8s.io", "ClusterRole", "Role"):
				k := roleKey(o.k, o.namespace(), o.name)
				rights[k] = append(rights[k], statusRights(o)...)
			case o.is("rbac.authorization.k8s.io", "ClusterRoleBinding", "RoleBinding"):
				role := roleKey(text(o.root(), "roleRef", "kind"), o.namespace(), text(o.root(), "roleRef", "name"))
				each(list(o.root(), "subjects"), "", func(s map[string]any, _ string) {
					if text(s, "kind") == kindOfAccount {
						bound[role] = append(bound[role], serviceAccountKey(either(text(s, "namespace"), o.namespace()), text(s, "name")))
					}
				})
			case o.is("apps", "Deployment", "StatefulSet", "DaemonSet"):
				name := either(text(o.root(), "spec", "template", "spec", "serviceAccountName"), "default")
				k := serviceAccountKey(o.namespace(), name)
				accounts[k] = append(accounts[k], o)
			}
		}
	}
	writers := map[string][]*object{} // by "group/plural"
	for role, of := range rights {
		for _, right := range of {
			for _, account := range bound[role] {
				writers[right] = append(writers[right], accounts[account]...)
			}
		}
	}
	out := map[*object][]key{}
	for right, workloads := range writers {
		for _, o := range x.chosen(right, workloads) {
			group, plural, _ := strings.Cut(right, "/")
			out[o] = append(out[o], controllerKey(group, plural))
		}
	}
	return out
}

const kindOfAccount = "ServiceAccount"

func roleKey(kind, ns, name string) key {
	if kind == "Role" {
		return key{Kind: kindRole, Namespace: ns, Name: name}
	}
	return key{Kind: kindClusterRole, Name: name}
}

// statusRights are the kinds of custom groups whose status a role may write.
func statusRights(o *object) []string {
	var out []string
	each(list(o.root(), "rules"), "", func(rule map[string]any, _ string) {
		verbs := list(rule, "verbs")
		if !holds(verbs, "update") && !holds(verbs, "patch") {
			return
		}
		for _, g := range list(rule, "apiGroups") {
			group, _ := g.(string)
			if !customGroup(group) || group == "*" {
				continue
			}
			for _, r := range list(rule, "resources") {
				resource, _ := r.(string)
				if plural, ok := strings.CutSuffix(resource, "/status"); ok && plural != "*" {
					out = append(out, group+"/"+plural)
				}
			}
		}
	})
	return out
}

// chosen are the workloads of the one component that runs the controller of a
// kind: the one that brings the kind, else the only one.
func (x *index) chosen(right string, workloads []*object) []*object {
	group, plural, _ := strings.Cut(right, "/")
	var brings []int
	for _, p := range x.provide[key{Kind: kindCRD, Name: plural + "." + group}] {
		brings = append(brings, p.component)
	}
	components := map[int][]*object{}
	for _, o := range workloads {
		components[o.component] = append(components[o.component], o)
	}
	for _, component := range brings {
		if of := components[component]; len(of) > 0 {
			return of
		}
	}
	if len(components) > 1 {
		return nil
	}
	return workloads
}
