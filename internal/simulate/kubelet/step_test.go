package kubelet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cluster is what a test's kubelet finds, by name.
type cluster struct {
	secrets    map[string]*corev1.Secret
	configMaps map[string]*corev1.ConfigMap
	claims     map[string]*corev1.PersistentVolumeClaim
}

func (c cluster) Secret(_, name string) *corev1.Secret               { return c.secrets[name] }
func (c cluster) ConfigMap(_, name string) *corev1.ConfigMap         { return c.configMaps[name] }
func (c cluster) Claim(_, name string) *corev1.PersistentVolumeClaim { return c.claims[name] }

func secret(keys ...string) *corev1.Secret {
	s := &corev1.Secret{Data: map[string][]byte{}}
	for _, k := range keys {
		s.Data[k] = nil
	}
	return s
}

func pod(change func(*corev1.PodSpec)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "c"}}},
	}
	if change != nil {
		change(&p.Spec)
	}
	return p
}

func env(from *corev1.EnvVarSource) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) { s.Containers[0].Env = []corev1.EnvVar{{Name: "X", ValueFrom: from}} }
}

func mounted(v corev1.VolumeSource) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: v}}
		s.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	}
}

func secretKey(name, key string, optional bool) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: &optional,
	}}
}

func TestWaits(t *testing.T) {
	bound := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
	pending := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}
	open := secret()
	open.Annotations = map[string]string{OpenAnnotation: "true"}
	yes := true
	type reason struct{ Reason, Message string }
	creating := func(m string) reason {
		return reason{"ContainerCreating", `MountVolume.SetUp failed for volume "v" : ` + m}
	}
	claim := mounted(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}})
	for name, test := range map[string]struct {
		spec    func(*corev1.PodSpec)
		cluster cluster
		want    reason // zero: it starts
	}{
		"nothing needed":            {},
		"secret of env":             {spec: env(secretKey("db", "k", false)), want: reason{"CreateContainerConfigError", `secret "db" not found`}},
		"key of env":                {spec: env(secretKey("db", "k", false)), cluster: cluster{secrets: map[string]*corev1.Secret{"db": secret("other")}}, want: reason{"CreateContainerConfigError", "couldn't find key k in Secret ns/db"}},
		"key is there":              {spec: env(secretKey("db", "k", false)), cluster: cluster{secrets: map[string]*corev1.Secret{"db": secret("k")}}},
		"any key of an open secret": {spec: env(secretKey("db", "k", false)), cluster: cluster{secrets: map[string]*corev1.Secret{"db": open}}},
		"optional":                  {spec: env(secretKey("db", "k", true))},
		"config map of env": {
			spec: env(&corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}, Key: "k"}}),
			want: reason{"CreateContainerConfigError", `configmap "cm" not found`},
		},
		"envFrom": {
			spec: func(s *corev1.PodSpec) {
				s.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "all"}}}}
			},
			want: reason{"CreateContainerConfigError", `secret "all" not found`},
		},
		"secret volume": {spec: mounted(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "tls"}}), want: creating(`secret "tls" not found`)},
		"item of a volume": {
			spec:    mounted(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "tls", Items: []corev1.KeyToPath{{Key: "ca.crt"}}}}),
			cluster: cluster{secrets: map[string]*corev1.Secret{"tls": secret("tls.crt")}},
			want:    creating("references non-existent secret key: ca.crt"),
		},
		"optional volume": {spec: mounted(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "tls", Optional: &yes}})},
		"projected source": {
			spec: mounted(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "trust"}}},
			}}}),
			want: creating(`configmap "trust" not found`),
		},
		"claim missing":   {spec: claim, want: creating(`persistentvolumeclaim "data" not found`)},
		"claim not bound": {spec: claim, cluster: cluster{claims: map[string]*corev1.PersistentVolumeClaim{"data": pending}}, want: creating(`persistentvolumeclaim "data" is not bound`)},
		"claim bound":     {spec: claim, cluster: cluster{claims: map[string]*corev1.PersistentVolumeClaim{"data": bound}}},
		"volume nobody mounts": {spec: func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "tls"}}}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(test.spec)
			r := Remember(p).Step(p, test.cluster, Behaviour{Delay: time.Second}, time.Unix(100, 0))
			var got reason
			if w := r.Status.ContainerStatuses[0].State.Waiting; w != nil {
				got = reason{w.Reason, w.Message}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if waits := len(r.Waits) > 0; waits != (test.want != reason{}) {
				t.Errorf("waits for %v", r.Waits)
			}
			if blocked := test.want != (reason{}); blocked && (len(r.Events) != 1 || r.Status.Phase != corev1.PodPending) {
				t.Errorf("phase %s, events %v", r.Status.Phase, r.Events)
			}
		})
	}
}

// life steps a pod through times given in milliseconds and notes its phase, and
// a + when it is ready.
func life(p *corev1.Pod, c Cluster, b Behaviour, verdicts []Verdict, times ...int) []string {
	m := Remember(p)
	var out []string
	for _, ms := range times {
		now := time.Unix(100, 0).Add(time.Duration(ms) * time.Millisecond)
		r := m.Step(p, c, b, now)
		if r.Examine && len(verdicts) > 0 {
			m.Verdict, verdicts = &verdicts[0], verdicts[1:]
			r = m.Step(p, c, b, now)
		}
		p.Status = r.Status
		text := string(r.Status.Phase)
		for _, condition := range r.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				text += "+"
			}
		}
		out = append(out, text)
	}
	return out
}

func TestLife(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	base := Behaviour{Delay: time.Second, CrashBackOff: time.Second, MaxBackOff: 4 * time.Second, Up: time.Second, Down: time.Second}
	with := func(change func(*Behaviour)) Behaviour { b := base; change(&b); return b }
	job := func(s *corev1.PodSpec) { s.RestartPolicy = corev1.RestartPolicyNever }
	for name, test := range map[string]struct {
		spec     func(*corev1.PodSpec)
		b        Behaviour
		verdicts []Verdict
		times    []int
		want     []string
	}{
		"becomes ready": {b: base, times: []int{0, 999, 1000, 9000}, want: []string{"Running", "Running", "Running+", "Running+"}},
		"init first": {
			spec: func(s *corev1.PodSpec) {
				s.InitContainers = []corev1.Container{{Name: "i"}, {Name: "side", RestartPolicy: &always}}
			},
			b: base, times: []int{0, 199, 200, 999, 1000}, want: []string{"Pending", "Pending", "Running", "Running", "Running+"},
		},
		"readiness gate": {
			spec: func(s *corev1.PodSpec) { s.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "gate"}} },
			b:    base, times: []int{0, 2000}, want: []string{"Running", "Running"},
		},
		"never ready":  {b: with(func(b *Behaviour) { b.Fault = "never-ready" }), times: []int{0, 2000, 90000}, want: []string{"Running", "Running", "Running"}},
		"flaps":        {b: with(func(b *Behaviour) { b.Fault = "flap" }), times: []int{0, 1500, 2500, 3500}, want: []string{"Running", "Running+", "Running", "Running+"}},
		"completes":    {spec: job, b: base, times: []int{0, 999, 1000, 5000}, want: []string{"Running", "Running", "Succeeded", "Succeeded"}},
		"job crashes":  {spec: job, b: with(func(b *Behaviour) { b.Fault = "crash" }), times: []int{0, 1000}, want: []string{"Running", "Failed"}},
		"job hangs":    {spec: job, b: with(func(b *Behaviour) { b.Fault = "never-ready" }), times: []int{0, 60000}, want: []string{"Running", "Running"}},
		"smoke passes": {spec: job, b: with(func(b *Behaviour) { b.Examined = true }), verdicts: []Verdict{{}}, times: []int{0, 1000}, want: []string{"Running", "Succeeded"}},
		"smoke fails":  {spec: job, b: with(func(b *Behaviour) { b.Examined = true }), verdicts: []Verdict{{Failure: "no"}}, times: []int{0, 1000}, want: []string{"Running", "Failed"}},
		"smoke waits":  {spec: job, b: with(func(b *Behaviour) { b.Examined = true }), times: []int{0, 1000, 2000}, want: []string{"Running", "Running", "Running"}},
		"sidecars end with a job": {
			spec: func(s *corev1.PodSpec) {
				job(s)
				s.InitContainers = []corev1.Container{{Name: "side", RestartPolicy: &always}}
			},
			b: base, times: []int{0, 1000}, want: []string{"Running", "Succeeded"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, life(pod(test.spec), cluster{}, test.b, test.verdicts, test.times...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHealsWhenTheSecretAppears(t *testing.T) {
	p := pod(env(secretKey("db", "k", false)))
	c := cluster{secrets: map[string]*corev1.Secret{}}
	m := Remember(p)
	at := time.Unix(100, 0)
	b := Behaviour{Delay: time.Second}
	if r := m.Step(p, c, b, at); r.Status.Phase != corev1.PodPending {
		t.Fatalf("phase %s without its Secret", r.Status.Phase)
	}
	c.secrets["db"] = secret("k")
	at = at.Add(time.Hour)
	if r := m.Step(p, c, b, at); r.Status.Phase != corev1.PodRunning || r.Again != time.Second {
		t.Errorf("phase %s, again after %s: the delay counts from the start of the container", r.Status.Phase, r.Again)
	}
	if r := m.Step(p, c, b, at.Add(time.Second)); !r.Status.ContainerStatuses[0].Ready {
		t.Error("not ready after its delay")
	}
}

func TestCrashCountsRestarts(t *testing.T) {
	p := pod(nil)
	m := Remember(p)
	b := Behaviour{Delay: 4 * time.Second, Fault: "crash", CrashBackOff: time.Second, MaxBackOff: 2 * time.Second}
	var got []int32
	for _, seconds := range []int{0, 1, 2, 3, 5, 6, 8} { // runs 1 s, then waits 1, 2, 2 s
		r := m.Step(p, cluster{}, b, time.Unix(100+int64(seconds), 0))
		s := r.Status.ContainerStatuses[0]
		if s.Ready {
			t.Errorf("ready at %d s", seconds)
		}
		if waits := s.State.Waiting; waits != nil && waits.Reason != "CrashLoopBackOff" {
			t.Errorf("waits for %s", waits.Reason)
		}
		got = append(got, s.RestartCount)
	}
	if diff := cmp.Diff([]int32{0, 0, 1, 1, 2, 2, 3}, got); diff != "" {
		t.Errorf("restarts (-want +got):\n%s", diff)
	}
}

func TestRememberKeepsWhatRan(t *testing.T) {
	p := pod(nil)
	life(p, cluster{}, Behaviour{Delay: time.Second}, nil, 0, 1000)
	r := Remember(p).Step(p, cluster{}, Behaviour{Delay: time.Second}, time.Unix(500, 0))
	if diff := cmp.Diff(p.Status, r.Status); diff != "" {
		t.Errorf("a pod that was ready changes when the plane starts again (-before +after):\n%s", diff)
	}
}
