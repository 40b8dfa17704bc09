package settings_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/settings"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/health"
)

func TestConfigMaps(t *testing.T) {
	r := build(t, settings.Input{
		Namespace: "gitops", ProgressiveSyncs: true, Labels: map[string]string{"team": "platform"},
		Exclusions: []settings.Exclusion{{APIGroups: []string{"cilium.io"}, Kinds: []string{"CiliumIdentity"}}, {Kinds: []string{"Lease"}, Clusters: []string{"https://*"}}},
	})
	metadata := func(name string) settings.Metadata {
		return settings.Metadata{
			Name: name, Namespace: "gitops",
			Labels:      map[string]string{"team": "platform", "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "argocd"},
			Annotations: map[string]string{"argocd.argoproj.io/sync-options": "ServerSideApply=true,Prune=false,Delete=false"},
		}
	}
	want := settings.Result{
		Settings: settings.ConfigMap{APIVersion: "v1", Kind: "ConfigMap", Metadata: metadata("argocd-cm"), Data: map[string]string{
			"resource.exclusions": "- apiGroups:\n  - cilium.io\n  kinds:\n  - CiliumIdentity\n- clusters:\n  - https://*\n  kinds:\n  - Lease\n",
		}},
		Parameters: settings.ConfigMap{APIVersion: "v1", Kind: "ConfigMap", Metadata: metadata("argocd-cmd-params-cm"), Data: map[string]string{
			"applicationsetcontroller.enable.progressive.syncs": "true",
		}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	plain := build(t, settings.Input{Namespace: "argocd"})
	if len(plain.Settings.Data)+len(plain.Parameters.Data) > 0 {
		t.Errorf("where nothing is asked for there is %v and %v", plain.Settings.Data, plain.Parameters.Data)
	}
}

const application = `{repoURL: https://git.example.com/a.git, path: a, targetRevision: main}`

// A wave behind an Application waits until it is healthy at what it is told to
// be.
func TestApplication(t *testing.T) {
	synced := "sync: {status: Synced, revision: b, comparedTo: {source: " + application + "}}"
	automated := "spec: {syncPolicy: {automated: {}}, source: " + application + "}"
	newer := func(operation, more string) string {
		return "{" + automated + ", status: {health: {status: Healthy}, sync: {status: OutOfSync, revision: b, comparedTo: {source: " + application + "}}, operationState: {" + operation + "}" + more + "}}"
	}
	progressing, healthy, degraded := rollout.Progressing, rollout.Healthy, rollout.Degraded
	states := map[string]rollout.Health{
		"":                                      progressing,
		"status: {}":                            progressing,
		"status: {health: {}}":                  progressing,
		"status: {health: {status: Healthy}}":   healthy,
		"status: {health: {status: Degraded}}":  degraded,
		"status: {health: {status: Missing}}":   rollout.Missing,
		"status: {health: {status: Suspended}}": rollout.Suspended,
		"{operation: {sync: {}}, status: {health: {status: Healthy}}}":                                    progressing,
		"status: {health: {status: Healthy}, operationState: {phase: Running}}":                           progressing,
		"status: {health: {status: Healthy}, operationState: {phase: Terminating}}":                       progressing,
		"status: {health: {status: Healthy}, operationState: {phase: Failed}, sync: {status: OutOfSync}}": degraded,
		"status: {health: {status: Healthy}, operationState: {phase: Failed}, sync: {status: Synced}}":    healthy,
		"{spec: {source: " + application + "}, status: {health: {status: Healthy}, " + synced + "}}":      healthy,
		// The spec was changed: what is known is of before.
		"{spec: {source: {repoURL: https://git.example.com/a.git, path: a, targetRevision: next}}, status: {health: {status: Healthy}, " + synced + "}}":                                                            progressing,
		"{spec: {source: {repoURL: https://git.example.com/a.git, path: b, targetRevision: main}}, status: {health: {status: Healthy}, " + synced + "}}":                                                            progressing,
		"{spec: {sources: [" + application + "]}, status: {health: {status: Healthy}, sync: {status: Synced, comparedTo: {sources: [" + application + "]}}}}":                                                       healthy,
		"{spec: {sources: [" + application + ", {repoURL: b, ref: values}]}, status: {health: {status: Healthy}, sync: {status: Synced, comparedTo: {sources: [" + application + "]}}}}":                            progressing,
		"{spec: {sources: [{repoURL: b, ref: values}, " + application + "]}, status: {health: {status: Healthy}, sync: {status: Synced, comparedTo: {sources: [" + application + ", {repoURL: b, ref: values}]}}}}": progressing,
		// What Argo CD writes without saying anything is no change.
		"{spec: {source: {repoURL: a, helm: {skipCrds: false, valueFiles: []}, directory: {recurse: false}}}, status: {health: {status: Healthy}, sync: {status: Synced, comparedTo: {source: {repoURL: a, helm: {}}}}}}":           healthy,
		"{spec: {source: {repoURL: a, helm: {parameters: [{name: n, value: '1'}]}}}, status: {health: {status: Healthy}, sync: {status: Synced, comparedTo: {source: {repoURL: a, helm: {parameters: [{name: n, value: '2'}]}}}}}}": progressing,
		"{spec: {source: {repoURL: a}}, status: {health: {status: Healthy}, sync: {status: Synced, comparedTo: {source: {repoURL: a, helm: {skipCrds: true}}}}}}":                                                                   progressing,
		"{spec: {source: {repoURL: a, helm: {skipCrds: true}}}, status: {health: {status: Healthy}, sync: {status: Synced, comparedTo: {source: {repoURL: a}}}}}":                                                                   progressing,
		// A newer revision was seen, and the sync to it has not begun.
		newer("phase: Succeeded, syncResult: {revision: a, source: "+application+"}", ""): progressing,
		newer("phase: Failed, syncResult: {revision: a, source: "+application+"}", ""):    progressing,
		newer("", ""): progressing,
		newer("phase: Failed, syncResult: {revision: b, source: "+application+"}", ""): degraded,
		newer("phase: Error", ""): degraded,
		newer("phase: Succeeded, syncResult: {revision: b, source: {repoURL: https://git.example.com/a.git, path: a, targetRevision: main, helm: {skipCrds: true}}}", ""):                                                                                                             progressing,
		newer("phase: Succeeded, syncResult: {revision: a, source: "+application+"}", ", conditions: [{type: SyncError, message: it would be empty}]"):                                                                                                                                degraded,
		"{spec: {syncPolicy: {automated: {}}, sources: [{repoURL: x}, {repoURL: y}]}, status: {health: {status: Healthy}, sync: {status: OutOfSync, revisions: [a, c]}, operationState: {phase: Succeeded, syncResult: {revisions: [a, b], sources: [{repoURL: x}, {repoURL: y}]}}}}": progressing,
		"{spec: {syncPolicy: {automated: {}}, sources: [{repoURL: x}, {repoURL: y}]}, status: {health: {status: Healthy}, sync: {status: OutOfSync, revisions: [a, c]}, operationState: {phase: Succeeded, syncResult: {revisions: [a, c], sources: [{repoURL: x}, {repoURL: y}]}}}}": healthy,
		// Something else writes its objects: no sync will change that.
		newer("phase: Succeeded, syncResult: {revision: b, source: "+application+"}", ""): healthy,
		// The revision changes nothing below its paths, so that nothing is synced.
		"{metadata: {annotations: {argocd.argoproj.io/manifest-generate-paths: .}}, " + automated + ", status: {health: {status: Healthy}, sync: {status: OutOfSync, revision: b}, operationState: {phase: Succeeded, syncResult: {revision: a, source: " + application + "}}}}": healthy,
		// All that is left is to prune, which nobody does.
		newer("phase: Succeeded, syncResult: {revision: a, source: "+application+"}", ", resources: [{kind: A, status: Synced}, {kind: B, status: OutOfSync, requiresPruning: true}]"):    healthy,
		newer("phase: Succeeded, syncResult: {revision: a, source: "+application+"}", ", resources: [{kind: A, status: OutOfSync}, {kind: B, status: OutOfSync, requiresPruning: true}]"): progressing,
		// It is synced and not compared since: what is known is of before.
		newer("phase: Succeeded, finishedAt: '2026-03-04T12:00:09Z', syncResult: {revision: b, source: "+application+"}", ", reconciledAt: '2026-03-04T12:00:08Z'"):                 progressing,
		newer("phase: Succeeded, finishedAt: '2026-03-04T12:00:09Z', syncResult: {revision: b, source: "+application+"}", ", reconciledAt: '2026-03-04T12:00:09Z'"):                 progressing,
		newer("phase: Succeeded, finishedAt: '2026-03-04T12:00:09Z', syncResult: {revision: b, source: "+application+"}", ", reconciledAt: '2026-03-04T12:00:10Z'"):                 healthy,
		newer("phase: Succeeded, finishedAt: '2026-03-04T12:00:09Z', syncResult: {revision: b, source: "+application+"}", ""):                                                       progressing,
		"status: {health: {status: Healthy}, reconciledAt: '2026-03-04T12:00:09Z', sync: {status: Synced}, operationState: {phase: Succeeded, finishedAt: '2026-03-04T12:00:09Z'}}": healthy,
		"status: {health: {status: Healthy}, reconciledAt: '2026-03-04T12:00:08Z', sync: {status: Synced}, operationState: {phase: Succeeded, finishedAt: '2026-03-04T12:00:09Z'}}": progressing,
		// Nobody syncs it but people.
		"status: {health: {status: Healthy}, sync: {status: OutOfSync, revision: b}, operationState: {phase: Succeeded, syncResult: {revision: a}}}": healthy,
		"{spec: {syncPolicy: {automated: {enabled: false}}}, status: {health: {status: Healthy}, sync: {status: OutOfSync, revision: b}}}":           healthy,
	}
	check(t, schema.GroupKind{Group: "argoproj.io", Kind: "Application"}, states, true)
}

// A wave behind an ApplicationSet waits for its Applications; the conditions alone
// say before the first of them is made that the rollout has completed.
func TestApplicationSet(t *testing.T) {
	const made, done = `{type: ResourcesUpToDate, status: "True"}`, `{type: RolloutProgressing, status: "False"}`
	rolling := func(status string) string {
		return "{spec: {strategy: {type: RollingSync}}, status: {" + status + "}}"
	}
	progressing, healthy, degraded := rollout.Progressing, rollout.Healthy, rollout.Degraded
	check(t, schema.GroupKind{Group: "argoproj.io", Kind: "ApplicationSet"}, map[string]rollout.Health{
		"": progressing,
		`status: {conditions: [{type: ErrorOccurred, status: "True", message: no}]}`:                                                                                      degraded,
		`status: {conditions: [{type: ResourcesUpToDate, status: "False", message: no}]}`:                                                                                 degraded,
		`status: {conditions: [{type: ParametersGenerated, status: "True"}]}`:                                                                                             progressing,
		rolling("conditions: [" + made + ", " + done + "], resourcesCount: 2, resources: [{name: a}, {name: b}]"):                                                         progressing,
		rolling("conditions: [" + made + ", " + done + "], resourcesCount: 2, applicationStatus: [{application: a, status: Healthy}]"):                                    progressing,
		rolling("conditions: [" + made + ", " + done + "], resourcesCount: 2, applicationStatus: [{application: a, status: Healthy}, {application: b, status: Waiting}]"): progressing,
		rolling(`conditions: [` + made + `, {type: RolloutProgressing, status: "True"}], resourcesCount: 1, applicationStatus: [{application: a, status: Healthy}]`):      progressing,
		rolling("conditions: [" + made + ", " + done + "], resourcesCount: 2, applicationStatus: [{application: a, status: Healthy}, {application: b, status: Healthy}]"): healthy,
		rolling("conditions: [" + made + ", " + done + "]"):                                                                                                               healthy,
		// The status right after the Applications were made has none of them.
		"{metadata: {annotations: {ladder.rollout-ladder.dev/applications: some}}, spec: {strategy: {type: RollingSync}}, status: {conditions: [" + made + ", " + done + "]}}": progressing,
		"{metadata: {annotations: {ladder.rollout-ladder.dev/applications: none}}, spec: {strategy: {type: RollingSync}}, status: {conditions: [" + made + ", " + done + "]}}": healthy,
		"status: {conditions: [" + made + "], resources: [{name: a, status: Synced, health: {status: Healthy}}]}":                                                              healthy,
		"status: {conditions: [" + made + "], resources: [{name: a, status: OutOfSync, health: {status: Healthy}}]}":                                                           progressing,
		"status: {conditions: [" + made + "], resources: [{name: a, status: Synced, health: {status: Degraded}}]}":                                                             degraded,
		"status: {conditions: [" + made + "], resources: [{name: a}]}":                                                                                                         progressing,
	}, false)
}

// check assesses states with the settings of nested Applications, and natively.
func check(t *testing.T, gk schema.GroupKind, states map[string]rollout.Health, native bool) {
	t.Helper()
	r := build(t, settings.Input{Nested: true})
	argo := assessor(t, r)
	rehearsal := health.New()
	for text, want := range states {
		obj := state(t, gk, text)
		if got := argo.Assess(t.Context(), obj); got.Health != want {
			t.Errorf("%q is %s (%s), want %s", text, got.Health, got.Message, want)
		}
		if got := rehearsal.Assess(t.Context(), obj); native && got.Health != want {
			t.Errorf("a rehearsal says of %q %s (%s), want %s", text, got.Health, got.Message, want)
		}
		if got, message := inArgo(t, r.Settings.Data["resource.customizations.health.argoproj.io_"+gk.Kind], obj.Object); got != string(want) {
			t.Errorf("with the libraries of Argo CD %q is %s (%s), want %s", text, got, message, want)
		}
	}
}

func TestCrossplaneClaims(t *testing.T) {
	gk := schema.GroupKind{Group: "db.example.com", Kind: "Database"}
	r := build(t, settings.Input{Components: []settings.Component{{Name: "a", Waited: true, Objects: rendered(t,
		`{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, metadata: {name: a}, spec: {group: db.example.com, names: {kind: XDatabase}, claimNames: {kind: Database}}}`,
		`{apiVersion: db.example.com/v1, kind: Database, metadata: {name: a}}`)}}})
	argo := assessor(t, r)
	for text, want := range map[string]rollout.Health{
		"": rollout.Progressing,
		`status: {conditions: [{type: Synced, status: "True"}, {type: Ready, status: "False"}]}`: rollout.Progressing,
		`status: {conditions: [{type: Synced, status: "True"}, {type: Ready, status: "True"}]}`:  rollout.Healthy,
		`status: {conditions: [{type: Synced, status: "False"}, {type: Ready, status: "True"}]}`: rollout.Degraded,
	} {
		if got := argo.Assess(t.Context(), state(t, gk, text)); got.Health != want {
			t.Errorf("%q is %s, want %s", text, got.Health, want)
		}
	}
}

func TestRepositories(t *testing.T) {
	got := settings.Repositories("argocd", []settings.Repository{
		{URL: "https://bot:hunter2@git.example.com/acme/platform.git?token=hunter2"},
		{URL: "git@git.example.com:acme/values.git"},
		{URL: "ssh://git:hunter2@git.example.com/acme/keys.git"},
		{URL: "registry.example.com/charts", Helm: true, OCI: true},
		{URL: "https://charts.example.com", Helm: true},
		{URL: "https://git.example.com/acme", Prefix: true},
		{URL: "https://other:secret@charts.example.com", Helm: true},
	})
	for _, want := range []string{
		"# Templates: fill in the lines marked <...> in a copy outside of Git and apply that.\n",
		"  url: 'git@git.example.com:acme/values.git'\n  # sshPrivateKey: <private key of a deploy key that may read>\n",
		"  url: https://charts.example.com\n  # username: <user, or anything where the password is a token>\n  # password: <password or token that may read>\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("there is no %q in %s", want, got)
		}
	}
	if strings.Contains(string(got), "hunter2") || strings.Contains(string(got), "secret@") {
		t.Errorf("a credential is in %s", got)
	}
	var found []string
	for _, document := range bytes.Split(got, []byte("---\n")) {
		var secret struct {
			Kind     string
			Metadata struct {
				Name, Namespace string
				Labels          map[string]string
			}
			StringData map[string]string
		}
		if err := yaml.Unmarshal(document, &secret); err != nil {
			t.Fatal(err)
		}
		for key := range secret.StringData {
			if key != "type" && key != "url" && key != "enableOCI" {
				t.Errorf("%s has %s", secret.Metadata.Name, key)
			}
		}
		if len(secret.Metadata.Name) > 63 || secret.Metadata.Namespace != "argocd" || secret.Kind != "Secret" {
			t.Errorf("got %+v", secret)
		}
		found = append(found, secret.Metadata.Labels["argocd.argoproj.io/secret-type"]+" "+secret.StringData["type"]+" "+secret.StringData["url"])
	}
	if diff := cmp.Diff([]string{
		"repository git git@git.example.com:acme/values.git",
		"repository helm https://charts.example.com",
		"repo-creds git https://git.example.com/acme",
		"repository git https://git.example.com/acme/platform.git",
		"repository helm registry.example.com/charts",
		"repository git ssh://git@git.example.com/acme/keys.git",
	}, found); diff != "" {
		t.Error(diff)
	}
}

// Whatever an address holds before its host stays out of the template.
func FuzzRepositories(f *testing.F) {
	const canary = "h4nter2c4n4ry"
	f.Add("bot", "", "git.example.com/a.git")
	f.Add("", "/x", "git.example.com:8443/a@b?c")
	f.Add("a", "x@y", "git.example.com")
	f.Add("@", "/", "0")
	f.Fuzz(func(t *testing.T, user, password, rest string) {
		if strings.ContainsAny(user, "/?#") || strings.ContainsAny(password, "?") || strings.HasPrefix(password, "/") && rest == "" {
			return // not before a host
		}
		for _, scheme := range []string{"https", "ssh", "oci"} {
			got := settings.Repositories("argocd", []settings.Repository{{URL: scheme + "://" + user + ":" + canary + password + "@" + rest}})
			if bytes.Contains(got, []byte(canary)) {
				t.Errorf("the password is in %s", got)
			}
		}
	})
}
