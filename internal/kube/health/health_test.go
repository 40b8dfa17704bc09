package health_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/health"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var u unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return &u
}

func TestAssess(t *testing.T) {
	for name, tc := range map[string]struct {
		object  string
		want    rollout.Health
		message string // part of it
	}{
		"deployment not observed": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1}}`, rollout.Progressing, "not seen"},
		"deployment ready":        {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1}}`, rollout.Healthy, ""},
		"deployment starting":     {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 1}}`, rollout.Progressing, "1 of 2 ready"},
		"deployment old replicas": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 2, updatedReplicas: 1, availableReplicas: 1}}`, rollout.Progressing, "1 old"},
		"deployment overdue":      {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, status: {observedGeneration: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`, rollout.Degraded, "deadline"},
		"deployment paused":       {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {paused: true}, status: {observedGeneration: 1}}`, rollout.Suspended, "paused"},
		"deployment of none":      {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1}}`, rollout.Healthy, ""},
		"statefulset new":         {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {replicas: 1}}`, rollout.Progressing, "not seen"},
		"statefulset starting":    {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 1}, spec: {replicas: 3}, status: {observedGeneration: 1, readyReplicas: 1}}`, rollout.Progressing, "1 of 3 ready"},
		"statefulset ready":       {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, readyReplicas: 1, updateRevision: x, currentRevision: x}}`, rollout.Healthy, ""},
		"statefulset rolling":     {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, readyReplicas: 1, updateRevision: y, currentRevision: x}}`, rollout.Progressing, "updated"},
		"daemonset":               {`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 2}}`, rollout.Progressing, "2 of 3"},
		"job running":             {`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {active: 1}}`, rollout.Progressing, "0 of 1"},
		"job complete":            {`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {conditions: [{type: Complete, status: "True"}]}}`, rollout.Healthy, ""},
		"job failed":              {`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: limit}]}}`, rollout.Degraded, "BackoffLimitExceeded: limit"},
		"job suspended":           {`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {suspend: true}}`, rollout.Suspended, ""},
		"pod crash loop":          {`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: Always}, status: {phase: Running, containerStatuses: [{name: c, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}}]}}`, rollout.Degraded, "CrashLoopBackOff: back-off"},
		"pod of a hook waits":     {`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: Never}, status: {phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: ImagePullBackOff}}}]}}`, rollout.Progressing, "ImagePullBackOff"},
		"pod unschedulable":       {`{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: no nodes}]}}`, rollout.Progressing, "Unschedulable: no nodes"},
		"pvc pending":             {`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, status: {phase: Pending}}`, rollout.Progressing, "not bound"},
		"pvc lost":                {`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, status: {phase: Lost}}`, rollout.Degraded, "lost"},
		"load balancer waits":     {`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer}}`, rollout.Progressing, "address"},
		"load balancer":           {`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}}`, rollout.Healthy, ""},
		"service":                 {`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ClusterIP}}`, rollout.Healthy, ""},
		"hpa without metrics":     {`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, status: {conditions: [{type: AbleToScale, status: "True", reason: SucceededGetScale}, {type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: no metrics}]}}`, rollout.Degraded, "no metrics"},
		"apiservice":              {`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, status: {conditions: [{type: Available, status: "False", reason: MissingEndpoints, message: no endpoints}]}}`, rollout.Progressing, "MissingEndpoints: no endpoints"},
		"crd new":                 {`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}`, rollout.Progressing, "established"},
		"crd established":         {`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}}`, rollout.Healthy, ""},
		"crd clash":               {`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, status: {conditions: [{type: NamesAccepted, status: "False", message: taken}]}}`, rollout.Degraded, "taken"},
		"config map":              {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, rollout.Healthy, ""},
		"being deleted":           {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: "2025-01-01T00:00:00Z"}}`, rollout.Progressing, "deleted"},
		"namespace terminating":   {`{apiVersion: v1, kind: Namespace, metadata: {name: a}, status: {phase: Terminating}}`, rollout.Progressing, "deleted"},
		"application new":         {`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}}`, rollout.Progressing, ""},
		"application degraded":    {`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, status: {health: {status: Degraded, message: bad}}}`, rollout.Degraded, "bad"},
		"application syncing":     {`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, status: {health: {status: Healthy}, operationState: {phase: Running, message: waiting}}}`, rollout.Progressing, "waiting"},
		"application sync failed": {`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, status: {health: {status: Healthy}, sync: {status: OutOfSync}, operationState: {phase: Failed, message: no namespace}}}`, rollout.Degraded, "no namespace"},
		"workflow failed":         {`{apiVersion: argoproj.io/v1alpha1, kind: Workflow, metadata: {name: a}, status: {phase: Failed, message: step}}`, rollout.Degraded, "step"},

		// Kinds that Argo CD ships scripts for.
		"external secret new":   {`{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: a}}`, rollout.Progressing, "Waiting"},
		"external secret fails": {`{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: a}, status: {conditions: [{type: Ready, status: "False", message: could not get secret}]}}`, rollout.Degraded, "could not get"},
		"certificate":           {`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a}, status: {conditions: [{type: Ready, status: "True", message: up to date}]}}`, rollout.Healthy, ""},
		"certificate stale":     {`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a, generation: 3}, status: {conditions: [{type: Ready, status: "True", observedGeneration: 2}]}}`, rollout.Progressing, "generation 3"},
		"cnpg new":              {`{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: a}}`, rollout.Progressing, ""},
		"cnpg healthy":          {`{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: a}, status: {phase: Cluster in healthy state, conditions: [{type: Ready, status: "True"}]}}`, rollout.Healthy, ""},
		"gateway":               {`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: a}, status: {conditions: [{type: Accepted, status: "True"}, {type: Programmed, status: "False", message: no address}]}}`, rollout.Progressing, "no address"},
		"clickhouse":            {`{apiVersion: clickhouse.altinity.com/v1, kind: ClickHouseInstallation, metadata: {name: a}, status: {status: Completed}}`, rollout.Healthy, ""},
		"crossplane wildcard":   {`{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, metadata: {name: a}, status: {conditions: [{type: Established, status: "True"}]}}`, rollout.Healthy, ""},
		"crossplane new":        {`{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, metadata: {name: a}}`, rollout.Progressing, ""},
		"upbound wildcard":      {`{apiVersion: s3.aws.upbound.io/v1beta1, kind: Bucket, metadata: {name: a}, status: {conditions: [{type: Synced, status: "False", message: denied}]}}`, rollout.Degraded, "denied"},

		// Kinds that this package adds.
		"redis failover new":   {`{apiVersion: databases.spotahome.com/v1, kind: RedisFailover, metadata: {name: a}}`, rollout.Progressing, "workloads"},
		"redis failover ready": {`{apiVersion: databases.spotahome.com/v1, kind: RedisFailover, metadata: {name: a}, status: {conditions: [{type: Ready, status: "True"}]}}`, rollout.Healthy, ""},
		"temporal new":         {`{apiVersion: temporal.io/v1beta1, kind: TemporalCluster, metadata: {name: a}}`, rollout.Progressing, "waiting"},
		"temporal not ready":   {`{apiVersion: temporal.io/v1beta1, kind: TemporalCluster, metadata: {name: a}, status: {conditions: [{type: Ready, status: "False", message: services start}]}}`, rollout.Progressing, "services start"},
		"temporal namespace":   {`{apiVersion: temporal.io/v1beta1, kind: TemporalNamespace, metadata: {name: a}, status: {conditions: [{type: Ready, status: "True"}]}}`, rollout.Healthy, ""},
		"stream errored":       {`{apiVersion: jetstream.nats.io/v1beta2, kind: Stream, metadata: {name: a}, status: {conditions: [{type: Ready, status: "False", reason: Errored, message: no servers}]}}`, rollout.Degraded, "no servers"},
		"realm import":         {`{apiVersion: k8s.keycloak.org/v2alpha1, kind: KeycloakRealmImport, metadata: {name: a}, status: {conditions: [{type: Done, status: "True"}, {type: HasErrors, status: "False"}]}}`, rollout.Healthy, ""},
		"realm import errors":  {`{apiVersion: k8s.keycloak.org/v2alpha1, kind: KeycloakRealmImport, metadata: {name: a}, status: {conditions: [{type: HasErrors, status: "True", message: bad realm}]}}`, rollout.Degraded, "bad realm"},
		"cnpg database":        {`{apiVersion: postgresql.cnpg.io/v1, kind: Database, metadata: {name: a}, status: {applied: false, message: role missing}}`, rollout.Degraded, "role missing"},
		"tls route rejected":   {`{apiVersion: gateway.networking.k8s.io/v1alpha2, kind: TLSRoute, metadata: {name: a}, status: {parents: [{conditions: [{type: Accepted, status: "False", message: no listener}]}]}}`, rollout.Degraded, "no listener"},

		// Kinds that nobody knows: kstatus.
		"unknown kind":            {`{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`, rollout.Healthy, ""},
		"unknown kind not ready":  {`{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: {conditions: [{type: Ready, status: "False", message: soon}]}}`, rollout.Progressing, "soon"},
		"unknown kind stalled":    {`{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: {conditions: [{type: Stalled, status: "True", message: stuck}]}}`, rollout.Degraded, "stuck"},
		"unknown kind generation": {`{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, generation: 4}, status: {observedGeneration: 3}}`, rollout.Progressing, "generation 4"},
	} {
		t.Run(name, func(t *testing.T) {
			a := health.New()
			got := a.Assess(t.Context(), object(t, tc.object))
			if got.Health != tc.want || !strings.Contains(got.Message, tc.message) {
				t.Errorf("got %s %q, want %s %q", got.Health, got.Message, tc.want, tc.message)
			}
		})
	}
}

// Every script that is embedded compiles, and on an object without a status
// says something other than Unknown.
func TestEveryScriptOfOursWaitsForAStatus(t *testing.T) {
	a := health.New()
	kinds := health.OwnKinds()
	if len(kinds) == 0 {
		t.Fatal("no scripts are embedded")
	}
	for _, gk := range kinds {
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{}}}
		u.SetGroupVersionKind(gk.WithVersion("v1"))
		if got := a.Assess(t.Context(), u); got.Health != rollout.Progressing {
			t.Errorf("%s without a status is %s: %s", gk, got.Health, got.Message)
		}
		if !a.Assessed(t.Context(), gk) {
			t.Errorf("%s is not assessed", gk)
		}
	}
}

func TestDescriptorChecks(t *testing.T) {
	thing := `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: {ready: 2, phase: Up}}`
	for name, tc := range map[string]struct {
		check   model.HealthCheck
		want    rollout.Health
		message string
	}{
		"cel holds":         {model.HealthCheck{CEL: "object.status.ready == 2"}, rollout.Healthy, ""},
		"cel does not":      {model.HealthCheck{CEL: "object.status.ready >= 3"}, rollout.Progressing, "object.status.ready >= 3"},
		"cel missing field": {model.HealthCheck{CEL: "object.status.other == 3"}, rollout.Progressing, "no such key"},
		"lua replaces":      {model.HealthCheck{Lua: `return {status = "Degraded", message = obj.status.phase}`}, rollout.Degraded, "Up"},
		"lua endless":       {model.HealthCheck{Lua: "while true do end"}, rollout.Unknown, "ran "},
		"lua find":          {model.HealthCheck{Lua: `string.find(("a"):rep(1500), ".-.-.-b")`}, rollout.Unknown, "ran longer than 1s"},
		"cel memory":        {model.HealthCheck{CEL: `"a"` + strings.Repeat(`.replace("a", "aa")`, 40) + ` == ""`}, rollout.Progressing, "health check does not hold"},
		// Which of its limits ends a script first depends on the machine.
		"lua memory":         {model.HealthCheck{Lua: `local s = "aaaaaaaaaaaaaaaa" while true do s = s .. s end`}, rollout.Unknown, "health script"},
		"lua long string":    {model.HealthCheck{Lua: `return {status = string.rep("x", 1000000000)}`}, rollout.Unknown, "health script"},
		"lua without files":  {model.HealthCheck{Lua: `io.open("/etc/passwd")`}, rollout.Unknown, "nil"},
		"lua without os":     {model.HealthCheck{Lua: `os.execute("true")`}, rollout.Unknown, "non-function"},
		"lua without loader": {model.HealthCheck{Lua: `dofile("/etc/passwd")`}, rollout.Unknown, "non-function"},
		"lua bad health":     {model.HealthCheck{Lua: `return {status = "Great"}`}, rollout.Unknown, `"Great"`},
		"lua recursion":      {model.HealthCheck{Lua: `local function f() return 1 + f() end return f()`}, rollout.Unknown, "stack overflow"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && slices.Contains([]string{"lua endless", "lua find", "lua memory", "lua long string", "cel memory"}, name) {
				t.Skip("it uses a limit up")
			}
			tc.check.Group, tc.check.Kind = "example.com", "Thing"
			a, err := health.New().With(t.Context(), []model.HealthCheck{tc.check})
			if err != nil {
				t.Fatal(err)
			}
			got := a.Assess(t.Context(), object(t, thing))
			if got.Health != tc.want || !strings.Contains(got.Message, tc.message) {
				t.Errorf("got %s %q, want %s %q", got.Health, got.Message, tc.want, tc.message)
			}
			other := object(t, `{apiVersion: example.com/v1, kind: Other, metadata: {name: a}}`)
			if got := a.Assess(t.Context(), other); got.Health != rollout.Healthy {
				t.Errorf("another kind is %s", got.Health)
			}
		})
	}
}

func TestChecksThatDoNotCompile(t *testing.T) {
	for name, check := range map[string]model.HealthCheck{
		"cel": {CEL: "object.status.(", Kind: "Thing"}, "cel of a number": {CEL: "1 + 1", Kind: "Thing"},
		"lua": {Lua: "return {", Kind: "Thing"},
	} {
		t.Run(name, func(t *testing.T) {
			check.Position.File, check.Position.Line = "component.yaml", 7
			_, err := health.New().With(t.Context(), []model.HealthCheck{check})
			if err == nil || !strings.Contains(err.Error(), "component.yaml:7") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestScriptsShareNothing(t *testing.T) {
	// One script leaves a global behind; no other run may see it.
	a := health.New()
	leave, err := a.With(t.Context(), []model.HealthCheck{{Group: "example.com", Kind: "Thing",
		Lua: `leak = (leak or 0) + 1 return {status = leak == 1 and "Healthy" or "Degraded"}`}})
	if err != nil {
		t.Fatal(err)
	}
	u := object(t, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if got := leave.Assess(t.Context(), u); got.Health != rollout.Healthy {
					t.Errorf("got %s %s", got.Health, got.Message)
				}
				secret := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{}}}
				secret.SetGroupVersionKind(schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ExternalSecret"})
				if got := a.Assess(t.Context(), secret); got.Health != rollout.Progressing {
					t.Errorf("got %s %s", got.Health, got.Message)
				}
			}
		})
	}
	group.Wait()
}

func TestWorse(t *testing.T) {
	order := []rollout.Health{rollout.Healthy, rollout.Suspended, rollout.Progressing, rollout.Missing, rollout.Degraded, rollout.Unknown}
	for i, a := range order {
		for j, b := range order {
			if diff := cmp.Diff(i > j, health.Worse(a, b)); diff != "" {
				t.Errorf("Worse(%s, %s): %s", a, b, diff)
			}
		}
	}
}

func BenchmarkScript(b *testing.B) {
	a := health.New(health.WithClock(func() time.Time { return time.Unix(0, 0) }))
	var u unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(`{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: a}, status: {conditions: [{type: Ready, status: "True"}]}}`), &u.Object); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		a.Assess(b.Context(), &u)
	}
}

// A script that is ended says as much of an object as one that fails: nothing where
// there is no status yet. Scripts end with their caller.
func TestScriptsThatAreEnded(t *testing.T) {
	a, err := health.New().With(t.Context(), []model.HealthCheck{{Group: "example.com", Kind: "Thing", Lua: "while true do end"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Assess(t.Context(), object(t, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`)); got != (health.Status{Health: rollout.Progressing, Message: "has no status yet"}) {
		t.Errorf("got %+v", got)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got := a.Assess(over, object(t, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: {}}`)); got.Health != rollout.Unknown || !strings.Contains(got.Message, "context canceled") {
		t.Errorf("got %+v", got)
	}
}

func BenchmarkForeignScript(b *testing.B) {
	a, err := health.New().With(b.Context(), []model.HealthCheck{{Group: "example.com", Kind: "Thing", Lua: `return {status = "Healthy"}`}})
	if err != nil {
		b.Fatal(err)
	}
	u := unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "status": map[string]any{"phase": "Up"}}}
	for b.Loop() {
		a.Assess(b.Context(), &u)
	}
}
