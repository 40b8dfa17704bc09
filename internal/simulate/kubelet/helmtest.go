package kubelet

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// isHelmTest reports whether a pod, or what owns it, is a test of Helm's.
func isHelmTest(pod *corev1.Pod, owner metav1.Object) bool {
	test := func(o metav1.Object) bool {
		return o != nil && slices.ContainsFunc(manifest.Words(o.GetAnnotations()[manifest.HelmHookAnnotation]), func(w string) bool { return w == "test" || w == "test-success" })
	}
	return test(pod) || test(owner)
}

// ofService matches the address of a Service in a URL: one that has a name alone, or
// says that it is one. Any other may be a host of the outside world.
var ofService = lazyregexp.New(`(https?)://([a-z][a-z0-9-]*)(?:\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?)?(?::([0-9]{1,5}))?(?:[/?"'\s]|$)`)

// mostAsked bounds the addresses of one test.
const mostAsked = 20

// asked are the Services that the containers of a test ask, as far as their commands
// and variables tell: without them it would fail.
func asked(pod *corev1.Pod) []model.Check {
	var checks []model.Check
	for _, c := range pod.Spec.Containers {
		texts := slices.Concat(c.Command, c.Args)
		for _, v := range c.Env {
			texts = append(texts, v.Value)
		}
		for _, text := range texts {
			for _, found := range ofService.FindAllStringSubmatch(text, mostAsked) {
				if found[2] == "localhost" || len(checks) == mostAsked {
					continue
				}
				port := cmp.Or(found[4], map[string]string{"http": "80", "https": "443"}[found[1]])
				check := model.Check{Kind: model.CheckTCP, Address: found[2] + "." + cmp.Or(found[3], pod.Namespace) + ".svc:" + port}
				if !slices.ContainsFunc(checks, func(o model.Check) bool { return o.Address == check.Address }) {
					checks = append(checks, check)
				}
			}
		}
	}
	return checks
}
