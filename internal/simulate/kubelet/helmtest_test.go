package kubelet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestServicesThatATestAsks(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Annotations: map[string]string{"helm.sh/hook": "test-success"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Command: []string{"sh", "-c", `curl -f "http://web:8080/healthz" && curl https://example.com/ http://localhost:9000/ http://web.shop.svc:8080`},
			Args:    []string{"https://auth.platform.svc.cluster.local"},
			Env:     []corev1.EnvVar{{Name: "URL", Value: "http://api"}},
		}}},
	}
	if !isHelmTest(pod, nil) || isHelmTest(&corev1.Pod{}, nil) || !isHelmTest(&corev1.Pod{}, pod) {
		t.Error("tests are told by their annotation")
	}
	var got []string
	for _, c := range asked(pod) {
		got = append(got, c.Address)
	}
	want := []string{"web.shop.svc:8080", "auth.platform.svc:443", "api.shop.svc:80"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
