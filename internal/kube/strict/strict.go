package strict

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// kinds makes an empty object of each kind that is decoded, by version and kind.
var kinds = map[string]func() any{
	"v1 ConfigMap":             func() any { return new(corev1.ConfigMap) },
	"v1 LimitRange":            func() any { return new(corev1.LimitRange) },
	"v1 Namespace":             func() any { return new(corev1.Namespace) },
	"v1 PersistentVolume":      func() any { return new(corev1.PersistentVolume) },
	"v1 PersistentVolumeClaim": func() any { return new(corev1.PersistentVolumeClaim) },
	"v1 Pod":                   func() any { return new(corev1.Pod) },
	"v1 ResourceQuota":         func() any { return new(corev1.ResourceQuota) },
	"v1 Secret":                func() any { return new(corev1.Secret) },
	"v1 Service":               func() any { return new(corev1.Service) },
	"v1 ServiceAccount":        func() any { return new(corev1.ServiceAccount) },

	"apps/v1 DaemonSet":   func() any { return new(appsv1.DaemonSet) },
	"apps/v1 Deployment":  func() any { return new(appsv1.Deployment) },
	"apps/v1 StatefulSet": func() any { return new(appsv1.StatefulSet) },

	"autoscaling/v2 HorizontalPodAutoscaler": func() any { return new(autoscalingv2.HorizontalPodAutoscaler) },

	"batch/v1 CronJob": func() any { return new(batchv1.CronJob) },
	"batch/v1 Job":     func() any { return new(batchv1.Job) },

	"networking.k8s.io/v1 Ingress":       func() any { return new(networkingv1.Ingress) },
	"networking.k8s.io/v1 IngressClass":  func() any { return new(networkingv1.IngressClass) },
	"networking.k8s.io/v1 NetworkPolicy": func() any { return new(networkingv1.NetworkPolicy) },

	"policy/v1 PodDisruptionBudget": func() any { return new(policyv1.PodDisruptionBudget) },

	"rbac.authorization.k8s.io/v1 ClusterRole":        func() any { return new(rbacv1.ClusterRole) },
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding": func() any { return new(rbacv1.ClusterRoleBinding) },
	"rbac.authorization.k8s.io/v1 Role":               func() any { return new(rbacv1.Role) },
	"rbac.authorization.k8s.io/v1 RoleBinding":        func() any { return new(rbacv1.RoleBinding) },

	"scheduling.k8s.io/v1 PriorityClass": func() any { return new(schedulingv1.PriorityClass) },
	"storage.k8s.io/v1 StorageClass":     func() any { return new(storagev1.StorageClass) },

	"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration":   func() any { return new(admissionv1.MutatingWebhookConfiguration) },
	"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration": func() any { return new(admissionv1.ValidatingWebhookConfiguration) },
}

// Problems is what the API server refuses of an object.
type Problems struct {
	// Unknown are the paths of fields that the kind does not have, such as
	// "spec.template.spec.containers[0].variables", sorted.
	Unknown []string
	// Field is the path, without indexes, of a value of the wrong type, Value what it is
	// ("number", "string", "bool", "object", "array") and Want the kind of Go's type that
	// it should be ("string", "bool", "int32", "slice", "map", "struct"); empty
	// where there is none. Only the first is told. Within is set where it is the path of
	// a map that has the value under a key of its own, such as "metadata.labels".
	Field, Value, Want string
	Within             bool
}

// isEmpty reports whether a value is left out where a field has it.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return v == nil || v == ""
	}
}

// isMiscased reports whether a kind has a field of a name in letters of another case. An empty
// one of that name is left out, and differs from nothing. Source: gitops-engine, pkg/diff,
// remarshal, which decodes as encoding/json does.
func isMiscased(kind any, name string) bool {
	return slices.ContainsFunc(reflect.VisibleFields(reflect.TypeOf(kind).Elem()), func(f reflect.StructField) bool {
		of, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return of != name && strings.EqualFold(of, name)
	})
}

// Look decodes an object. Kinds that are not Kubernetes' own have no problems, and nor
// have values and names that something fills in later.
func Look(object map[string]any) Problems {
	if _, encrypted := object["sops"]; encrypted {
		return Problems{} // something decrypts it first
	}
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	empty, known := kinds[version+" "+kind]
	if !known {
		return Problems{}
	}
	data, err := json.Marshal(object)
	if err != nil {
		return Problems{}
	}
	unknown, err := kjson.UnmarshalStrict(data, empty())
	if err == nil {
		var p Problems
		for _, e := range unknown {
			path := quoted.FindStringSubmatch(e.Error())
			if path == nil || strings.ContainsAny(path[1], "${}<>") || isEmpty(object[path[1]]) && isMiscased(empty(), path[1]) {
				continue
			}
			p.Unknown = append(p.Unknown, path[1])
		}
		slices.Sort(p.Unknown)
		return p
	}
	var wrong *json.UnmarshalTypeError
	if !errors.As(json.Unmarshal(data, empty()), &wrong) || wrong.Field == "" {
		return Problems{} // a quantity, say, whose text is filled in later
	}
	path := strings.Split(wrong.Field, ".")
	isText := func(v any) bool { text, ok := v.(string); return ok && plain.MatchString(text) }
	isMap := func(v any) bool { _, ok := v.(map[string]any); return ok }
	if wrong.Value == "string" && !holds(object, path, isText) {
		return Problems{} // any other text may be a variable
	}
	want := wrong.Type.Kind().String()
	if wrong.Type == reflect.TypeFor[[]byte]() {
		want = reflect.String.String()
	}
	// Of a map whose values are texts, the value is within it.
	within := holds(object, path, isMap) && (wrong.Value != "object" || want == reflect.String.String())
	return Problems{Field: wrong.Field, Value: wrong.Value, Want: want, Within: within}
}

// quoted matches the path in an error of strict decoding: unknown field "spec.replica".
var quoted = lazyregexp.New(`^unknown field "(.*)"$`)

// plain matches a number or a truth value in quotes.
var plain = lazyregexp.New(`^(-?[0-9]+|true|false)$`)

// holds reports whether a value at a path, through all lists, is of a kind.
func holds(value any, path []string, is func(any) bool) bool {
	if items, ok := value.([]any); ok {
		return slices.ContainsFunc(items, func(item any) bool { return holds(item, path, is) })
	}
	if len(path) == 0 {
		return is(value)
	}
	m, ok := value.(map[string]any)
	return ok && holds(m[path[0]], path[1:], is)
}
