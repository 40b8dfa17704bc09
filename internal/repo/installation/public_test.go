package installation_test

import (
	"slices"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/installation"
)

// TestPublic: what is not known to be public is not.
func TestPublic(t *testing.T) {
	for _, test := range []struct {
		configMap, key, value string
		public                bool
	}{
		{installation.Settings, "kustomize.buildOptions", "--enable-helm", true},
		{installation.Settings, "kustomize.buildOptions.v5.0.0", "--enable-helm", true},
		{installation.Settings, "resource.customizations.health.external-secrets.io_ExternalSecret", "", true},
		{installation.Settings, "application.resourceTrackingMethod", "annotation", true},
		{installation.Settings, "globalProjects", "", true},
		{installation.Settings, "dex.config", "", false},
		{installation.Settings, "oidc.config", "", false},
		{installation.Settings, "repositories", "", false},
		{installation.Settings, "repository.credentials", "", false},
		{installation.Settings, "webhook.github.secret", "", false},
		{installation.Settings, "accounts.ci", "apiKey", false},
		{installation.Settings, "something.new", "", false},
		{installation.Parameters, "applicationsetcontroller.enable.progressive.syncs", "true", true},
		{installation.Parameters, "applicationsetcontroller.enable.tokenref.strict.mode", "false", true},
		{installation.Parameters, "application.namespaces", "team-*", true},
		{installation.Parameters, "redis.server", "redis:6379", true},
		{installation.Parameters, "redis.password", "text", false},
		{installation.Parameters, "otlp.headers", "authorization=text", false},
		{installation.Parameters, "server.token", "text", false},
		{installation.Parameters, "something.new", "true", false},
		{installation.Policies, "policy.csv", "g, a, role:admin", true},
		{installation.Policies, "scopes", "[groups]", true},
		{installation.Policies, "something.new", "", false},
		{"argocd-secret", "policy.csv", "", false},
	} {
		if got := installation.Public(test.configMap, test.key, test.value); got != test.public {
			t.Errorf("%s of %s: public is %v", test.key, test.configMap, got)
		}
	}
}

// TestArguments: of arguments only those are taken that are settings.
func TestArguments(t *testing.T) {
	got := installation.Arguments([]string{
		"argocd-applicationset-controller", "--enable-progressive-syncs", "--token", "hunter2", "--application-namespaces", "a,b",
		"--enable-new-git-file-globbing=false", "--application-namespaces=c", "--sync-timeout", "300", "--application-namespaces",
	})
	want := []string{"--enable-progressive-syncs", "--application-namespaces=a,b", "--enable-new-git-file-globbing=false", "--application-namespaces=c", "--sync-timeout=300", "--application-namespaces"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
