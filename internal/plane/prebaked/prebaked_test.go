package prebaked_test

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/plane/prebaked"
)

var update = flag.Bool("update", false, "write etcd.gob.gz from a plane that began with an empty etcd")

// TestPlanes compares a plane that began with an empty etcd with two that did not.
func TestPlanes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts planes")
	}
	plain := start(t, true)
	if *update {
		write(t, plain)
		return
	}
	one, other := start(t, false), start(t, false)

	t.Run("the embedded contents are what a plane comes to have", func(t *testing.T) {
		want, err := prebaked.For(plain.version(t))
		if err != nil {
			t.Fatal(err)
		}
		// Controllers work on after the plane is ready: they add up roles, and judge
		// the API's own groups.
		var got []prebaked.Pair
		if !within(t, func() bool { got = plain.bare(t); return cmp.Equal(want, got) }) {
			t.Errorf("write etcd.gob.gz anew: go test ./internal/plane/prebaked -update\n%s", cmp.Diff(want, got))
		}
	})
	t.Run("the objects of all kinds are the same", func(t *testing.T) {
		var want, got map[string]any
		if !within(t, func() bool { want, got = plain.objects(t), one.objects(t); return cmp.Equal(want, got) }) {
			t.Errorf("(-plain +prebaked):\n%s", cmp.Diff(want, got))
		}
		for _, kind := range []string{"ClusterRole", "Namespace", "PriorityClass", "FlowSchema", "APIService", "ServiceAccount", "Node", "ServiceCIDR"} {
			if !slices.ContainsFunc(keys(got), func(key string) bool { return kindOf(key) == kind }) {
				t.Errorf("no %s was compared", kind)
			}
		}
	})
	t.Run("no two planes share a key, a certificate or a UID", func(t *testing.T) {
		mine, theirs := one.secrets(t), other.secrets(t)
		for _, what := range []string{"certificate", "key", "uid"} {
			if len(mine[what]) == 0 || len(theirs[what]) == 0 {
				t.Errorf("no %s was found: %d and %d", what, len(mine[what]), len(theirs[what]))
			}
			for secret := range mine[what] {
				if theirs[what][secret] {
					t.Errorf("both planes have the %s %q", what, secret)
				}
			}
		}
	})
}

// write writes the embedded contents from a plane that began with an empty etcd.
func write(t *testing.T, plain running) {
	t.Helper()
	var pairs []prebaked.Pair
	if !within(t, func() bool {
		before := pairs
		pairs = plain.bare(t)
		return plain.settled(t) && cmp.Equal(before, pairs)
	}) {
		t.Fatal("the plane does not settle")
	}
	var content bytes.Buffer
	if err := prebaked.Write(&content, prebaked.Contents{Kubernetes: plain.version(t), Pairs: pairs}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("etcd.gob.gz", content.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The contents have no UID, no time, and nothing of a plane's own.
func TestContentsAreBare(t *testing.T) {
	content, err := os.ReadFile("etcd.gob.gz")
	if err != nil {
		t.Fatal(err)
	}
	contents, err := prebaked.Read(content)
	if err != nil {
		t.Fatal(err)
	}
	if len(contents.Pairs) < 150 {
		t.Errorf("only %d pairs", len(contents.Pairs))
	}
	for _, p := range contents.Pairs {
		if !slices.ContainsFunc(prebaked.Prefixes(), func(prefix string) bool {
			return strings.HasPrefix(p.Key, prefix)
		}) {
			t.Errorf("%s is of no kind that is held", p.Key)
		}
		bare, err := p.Bare()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(bare.Value, p.Value) {
			t.Errorf("%s has a UID or a time", p.Key)
		}
		for _, secret := range found(p.Value) {
			t.Errorf("%s has the %s %s", p.Key, secret.what, secret.text)
		}
	}
}

func TestAnotherVersionBeginsPlainly(t *testing.T) {
	pairs, err := prebaked.For("v1.0.0")
	if err != nil || len(pairs) > 0 {
		t.Errorf("%d pairs, %v", len(pairs), err)
	}
}

func TestFresh(t *testing.T) {
	content, err := os.ReadFile("etcd.gob.gz")
	if err != nil {
		t.Fatal(err)
	}
	contents, err := prebaked.Read(content)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, p := range contents.Pairs {
		one, err := p.Fresh(now)
		if err != nil {
			t.Fatal(err)
		}
		other, err := p.Fresh(now)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(one.Value, other.Value) {
			t.Errorf("%s is the same twice", p.Key)
		}
		bare, err := one.Bare()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, bare); diff != "" {
			t.Errorf("%s changes beyond its UID and times (-want +got):\n%s", p.Key, diff)
		}
	}
}
