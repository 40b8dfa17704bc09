package catalogue

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// controllers finds the workloads whose roles let them write the status of kinds
// that the render defines: whoever may write the status of a kind reconciles it.
func (r Recorded) controllers(crds []CRD) []Controller {
	var out []Controller
	for _, o := range r.Objects {
		if k := o.GetKind(); k != "Deployment" && k != "StatefulSet" && k != "DaemonSet" || hookOnly(o) {
			continue
		}
		account, _, _ := unstructured.NestedString(o.Object, "spec", "template", "spec", "serviceAccountName")
		if account == "" {
			continue
		}
		rules := r.rulesOf(account)
		byGroup := map[string][]string{}
		total := map[string]int{}
		for _, crd := range crds {
			total[crd.Group]++
			if writesStatus(rules, crd) {
				byGroup[crd.Group] = append(byGroup[crd.Group], crd.Group+"/"+crd.Kind)
			}
		}
		one := Controller{Name: r.name(o.GetName())}
		for group, kinds := range byGroup {
			if len(kinds) == total[group] {
				kinds = []string{group + "/*"}
			}
			one.Kinds = append(one.Kinds, kinds...)
		}
		if slices.Sort(one.Kinds); len(one.Kinds) > 0 {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b Controller) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// rulesOf collects the rules of all roles bound to a ServiceAccount.
func (r Recorded) rulesOf(account string) []map[string]any {
	var rules []map[string]any
	for _, o := range r.Objects {
		if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
			continue
		}
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		if !slices.ContainsFunc(subjects, func(s any) bool {
			m, _ := s.(map[string]any)
			return m["kind"] == "ServiceAccount" && m["name"] == account
		}) {
			continue
		}
		kind, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
		for _, role := range r.Objects {
			if role.GetKind() != kind || role.GetName() != name {
				continue
			}
			list, _ := role.Object["rules"].([]any)
			for _, one := range list {
				if m, ok := one.(map[string]any); ok {
					rules = append(rules, m)
				}
			}
		}
	}
	return rules
}

func writesStatus(rules []map[string]any, crd CRD) bool {
	return slices.ContainsFunc(rules, func(rule map[string]any) bool {
		return anyOf(rule["apiGroups"], crd.Group, "*") && anyOf(rule["resources"], crd.Plural+"/status", "*/status", "*", "*/*") &&
			anyOf(rule["verbs"], "update", "patch", "*")
	})
}

func anyOf(list any, wanted ...string) bool {
	entries, _ := list.([]any)
	return slices.ContainsFunc(entries, func(v any) bool {
		s, _ := v.(string)
		return slices.Contains(wanted, s)
	})
}

// webhooks reads the admission webhooks with a Service behind them, and the
// conversion webhooks of CRDs.
func (r Recorded) webhooks(crds []CRD) []Webhook {
	var out []Webhook
	for _, o := range r.Objects {
		kind := o.GetKind()
		if kind != "ValidatingWebhookConfiguration" && kind != "MutatingWebhookConfiguration" {
			continue
		}
		list, _ := o.Object["webhooks"].([]any)
		for _, one := range list {
			m, _ := one.(map[string]any)
			w := Webhook{Kinds: interceptedKinds(m, crds)}
			w.Name, _, _ = unstructured.NestedString(m, "name")
			policy, _, _ := unstructured.NestedString(m, "failurePolicy")
			if policy == policyIgnore {
				w.Policy = policyIgnore
			}
			for _, field := range []string{"namespaceSelector", "objectSelector"} {
				selector, _ := m[field].(map[string]any)
				w.Selective = w.Selective || len(selector) > 0
			}
			conditions, _ := m["matchConditions"].([]any)
			w.Selective = w.Selective || len(conditions) > 0
			if len(w.Kinds) > 0 {
				out = append(out, w)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Webhook) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b Webhook) bool {
		return a.Name == b.Name && a.Policy == b.Policy && a.Selective == b.Selective && slices.Equal(a.Kinds, b.Kinds)
	})
}

// interceptedKinds are the kinds that a webhook is asked about when they are
// created, as far as their names are known.
func interceptedKinds(webhook map[string]any, crds []CRD) []string {
	var out []string
	rules, _ := webhook["rules"].([]any)
	for _, one := range rules {
		rule, _ := one.(map[string]any)
		if !anyOf(rule["operations"], "CREATE", "*") {
			continue
		}
		groups, _ := rule["apiGroups"].([]any)
		resources, _ := rule["resources"].([]any)
		for _, g := range groups {
			group, _ := g.(string)
			for _, res := range resources {
				resource, _ := res.(string)
				if resource == "*" && group != "*" {
					out = append(out, group+"/*")
					continue
				}
				if kind := kindOf(group, resource, crds); kind != "" {
					out = append(out, group+"/"+kind)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// coreResources are the resources of Kubernetes itself that webhooks of common
// charts are asked about.
var coreResources = map[string]string{
	"/pods": "Pod", "/services": "Service", "/secrets": "Secret", "/configmaps": "ConfigMap", "/namespaces": "Namespace",
	"/persistentvolumeclaims": "PersistentVolumeClaim", "/serviceaccounts": "ServiceAccount", "apps/deployments": "Deployment",
	"apps/statefulsets": "StatefulSet", "apps/daemonsets": "DaemonSet", "batch/jobs": "Job", "batch/cronjobs": "CronJob",
	"networking.k8s.io/ingresses": "Ingress", "networking.k8s.io/networkpolicies": "NetworkPolicy", "storage.k8s.io/storageclasses": "StorageClass",
}

func kindOf(group, resource string, crds []CRD) string {
	for _, c := range crds {
		if c.Group == group && c.Plural == resource {
			return c.Kind
		}
	}
	return coreResources[group+"/"+resource]
}
