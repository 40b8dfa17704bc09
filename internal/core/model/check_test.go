package model_test

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// TestChecksForPeople: a check of all objects of a kind has no name to show.
func TestChecksForPeople(t *testing.T) {
	for want, c := range map[string]model.Check{
		"cel Deployment in shop":       {Kind: model.CheckCEL, ObjectKind: "Deployment", Namespace: "shop"},
		"cel Deployment shop/web":      {Kind: model.CheckCEL, ObjectKind: "Deployment", Namespace: "shop", Name: "web"},
		"cel Node":                     {Kind: model.CheckCEL, ObjectKind: "Node"},
		"http https://web.shop/health": {Kind: model.CheckHTTP, URL: "https://web.shop/health", Namespace: "shop"},
	} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
