package status

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parseSet(t *testing.T, text string) *Set {
	t.Helper()
	var obj unstructured.Unstructured
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	set, err := ParseSet(&obj)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

const rolling = `
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: platform, namespace: argocd}
spec:
  strategy:
    type: RollingSync
    rollingSync:
      steps:
      - matchExpressions: [{key: phase, operator: In, values: ["100"]}]
      - matchExpressions: [{key: phase, operator: In, values: ["200"]}]
        maxUpdate: 25%
      - matchExpressions: [{key: phase, operator: In, values: ["300"]}]
        maxUpdate: 0
status:
  applicationStatus:
  - {application: crds, status: Healthy, step: "1", message: m, targetRevisions: [x], lastTransitionTime: "2026-01-01T12:00:00Z"}
  - {application: vault, status: Progressing, step: "1", message: m, targetRevisions: [x]}
  - {application: store, status: Waiting, step: "2", message: m, targetRevisions: [x]}
  - {application: cache, status: Pending, step: "2", message: m, targetRevisions: [x]}
  - {application: shop, status: Waiting, step: "3", message: m, targetRevisions: [x]}
  - {application: lost, status: Waiting, step: "-1", message: m, targetRevisions: [x]}
`

// fleet is a view of Applications that are given.
type fleet struct {
	applications map[string]*Application
	set          *Set
}

func (f fleet) Application(r Ref) *Application { return f.applications[r.Name] }
func (f fleet) Set(r Ref) *Set {
	if f.set != nil && f.set.Ref == r {
		return f.set
	}
	return nil
}
func (f fleet) Judge(r Ref) Judgement {
	return Judge(f.applications[r.Name], Want{Revision: wanted}, Follow, false)
}

// member is an Application of the set.
func member(t *testing.T, name, patch string) *Application {
	t.Helper()
	a := parsedObject(t, "single.yaml", patch)
	a.Ref, a.Set = Ref{"argocd", name}, "platform"
	return a
}

const waiting = `{spec: {syncPolicy: {automated: null}}, status: {sync: {status: OutOfSync}}}`

func TestExplain(t *testing.T) {
	set := parseSet(t, rolling)
	all := map[string]*Application{
		"crds":  member(t, "crds", ""),
		"vault": member(t, "vault", `status: {health: {status: Progressing}, resources: [{group: apps, kind: StatefulSet, namespace: vault, name: vault, health: {status: Progressing, message: 0 of 1 ready}}]}`),
		"store": member(t, "store", waiting), "cache": member(t, "cache", waiting), "shop": member(t, "shop", waiting), "lost": member(t, "lost", waiting),
	}
	healthy := map[string]*Application{}
	for name, a := range all {
		healthy[name] = a
	}
	healthy["vault"] = member(t, "vault", "")
	done := parseSet(t, strings.ReplaceAll(strings.ReplaceAll(rolling, "Progressing", "Healthy"), "Pending", "Healthy"))
	stale := parseSet(t, strings.ReplaceAll(rolling, "Progressing", "Healthy"))
	broken := parseSet(t, rolling+`
  conditions: [{type: ErrorOccurred, status: "True", message: "git https://bob:hunter2@git.example.com: no"}]`)
	for name, tc := range map[string]struct {
		of   string
		all  map[string]*Application
		set  *Set
		want []string
	}{
		"healthy":           {of: "crds", all: all, set: set},
		"an object":         {of: "vault", all: all, set: set, want: []string{"vault: StatefulSet vault/vault: 0 of 1 ready"}},
		"an earlier step":   {of: "store", all: all, set: set, want: []string{"vault: StatefulSet vault/vault: 0 of 1 ready", "store: waits for step 2 of ApplicationSet platform: vault of step 1 not Healthy"}},
		"the earliest step": {of: "shop", all: all, set: set, want: []string{"vault: StatefulSet vault/vault: 0 of 1 ready", "shop: waits for step 3 of ApplicationSet platform: vault of step 1 not Healthy"}},
		"a pending one":     {of: "cache", all: all, set: set, want: []string{"cache: is pending in step 2 of ApplicationSet platform"}},
		"no step":           {of: "lost", all: all, set: set, want: []string{"lost: no step of ApplicationSet platform selects it, so that nothing syncs it"}},
		"the limit": {of: "store", all: healthy, set: done,
			want: []string{"store: waits for step 2 of ApplicationSet platform, which syncs 25% at once"}},
		"the set says Healthy, the Application does not": {of: "store", all: all, set: stale,
			want: []string{"vault: StatefulSet vault/vault: 0 of 1 ready", "store: waits for step 2 of ApplicationSet platform: vault of step 1 not Healthy"}},
		"a set that cannot generate": {of: "vault", all: all, set: broken,
			want: []string{"vault: ApplicationSet platform cannot generate: git https://***@git.example.com: no", "vault: StatefulSet vault/vault: 0 of 1 ready"}},
		"without the set":     {of: "store", all: all, want: []string{"store: is out of sync"}},
		"an Application gone": {of: "gone", all: all, set: set, want: []string{"gone: the Application does not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range Explain(fleet{tc.all, tc.set}, Ref{"argocd", tc.of}) {
				got = append(got, c.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Everything else that a step of no updates waits for is that nobody lets it.
func TestExplainStoppedStep(t *testing.T) {
	all := map[string]*Application{"shop": member(t, "shop", waiting)}
	for _, name := range []string{"crds", "vault", "store", "cache"} {
		all[name] = member(t, name, "")
	}
	set := parseSet(t, strings.NewReplacer("Progressing", "Healthy", "Pending", "Healthy", "store, status: Waiting", "store, status: Healthy").Replace(rolling))
	causes := Explain(fleet{all, set}, Ref{"argocd", "shop"})
	if len(causes) != 1 || causes[0].Message != "waits for step 3 of ApplicationSet platform, whose maxUpdate is 0" {
		t.Errorf("%v", causes)
	}
}

func TestSetLeaves(t *testing.T) {
	const field = "/spec/syncPolicy/automated"
	for name, tc := range map[string]struct {
		set  Set
		want bool
	}{
		"nothing":            {Set{}, false},
		"the field":          {Set{Ignored: []IgnoredDifference{{JSONPointers: []string{field}}}}, true},
		"what holds it":      {Set{Ignored: []IgnoredDifference{{JSONPointers: []string{"/spec/syncPolicy"}}}}, true},
		"a field below":      {Set{Ignored: []IgnoredDifference{{JSONPointers: []string{field + "/prune"}}}}, false},
		"a similar field":    {Set{Ignored: []IgnoredDifference{{JSONPointers: []string{"/spec/sync"}}}}, false},
		"by jq":              {Set{Ignored: []IgnoredDifference{{JQPathExpressions: []string{".spec.syncPolicy.automated"}}}}, true},
		"by jq, what holds":  {Set{Ignored: []IgnoredDifference{{JQPathExpressions: []string{".spec.syncPolicy"}}}}, true},
		"another one":        {Set{Ignored: []IgnoredDifference{{Name: "other", JSONPointers: []string{field}}}}, false},
		"this one":           {Set{Ignored: []IgnoredDifference{{Name: "shop", JSONPointers: []string{field}}}}, true},
		"a set of creations": {Set{SyncPolicy: "create-only"}, true},
		"a set of updates":   {Set{SyncPolicy: "create-update"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.set.Leaves("shop", field); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
