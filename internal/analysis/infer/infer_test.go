package infer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

func TestDeclared(t *testing.T) {
	got := describe(Declared([]model.Component{
		{Name: "a", Requires: []model.Requirement{{Text: "b"}, {Text: "secret/x/y"}, {Text: "a"}, {Text: "typo"}}},
		{Name: "b"}, {Name: "smoke", Validates: []model.Requirement{{Text: "a"}}, Requires: []model.Requirement{{Text: "a"}}},
	}), nil)
	want := "a -> b hard declared: requires at :0 requires[0]\nsmoke -> a hard declared: requires, and 1 more at :0 requires[0]"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
}

func TestClusterHost(t *testing.T) {
	for address, want := range map[string]string{
		"http://vault.vault:8200": "vault/vault", "https://vault.vault.svc:8200/x": "vault/vault", "http://a.b.svc.cluster.local": "b/a",
		"https://vault.example.com": "", "http://vault:8200": "", "vault.vault": "", "https://a.b.c.d": "", "%": "",
	} {
		name, ns, ok := clusterHost(address)
		got := ""
		if ok {
			got = ns + "/" + name
		}
		if got != want {
			t.Errorf("clusterHost(%q) = %q, want %q", address, got, want)
		}
	}
}
