package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutSecretsTakesCredentialsOutOfAddresses(t *testing.T) {
	object := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{
		"args": []any{"--from=https://me:word@example.org/x", int64(1)},
		"url":  "postgres://app:word@db/x",
	}}
	want := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{
		"args": []any{"--from=https://***@example.org/x", int64(1)},
		"url":  "postgres://***@db/x",
	}}
	if diff := cmp.Diff(want, WithoutSecrets(object)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	if spec := object["spec"].(map[string]any); spec["url"] != "postgres://app:word@db/x" {
		t.Error("the object itself was changed")
	}
}
