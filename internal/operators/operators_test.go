package operators

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFiles decodes every file: a kind is in one file, and what its objects belong to is found by the group.
func TestFiles(t *testing.T) {
	var together []Controller
	in := map[string]string{}
	for _, f := range files().all {
		facts, err := decode(f.text)
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		if len(facts.Controllers)+len(facts.Kinds) == 0 && f.rules == "" {
			t.Errorf("%s says nothing", f.name)
		}
		together = append(together, facts.Controllers...)
		of := groups(f.text)
		for name, kind := range facts.Kinds {
			group, plain, _ := strings.Cut(name, "/")
			if in[name] != "" {
				t.Errorf("%s is in %s and %s", name, in[name], f.name)
			}
			in[name] = f.name
			if !slices.Contains(of, group) {
				t.Errorf("%s: %s is not found by its group", f.name, name)
			}
			if only := (Kind{Makes: kind.Makes}); plain == "*" && !cmp.Equal(kind, only) {
				t.Errorf("%s: %s says more than what is made", f.name, name)
			}
			for _, owner := range kind.Belongs {
				if group, _, _ := strings.Cut(owner.To, "/"); !slices.Contains(of, group) {
					t.Errorf("%s: %s belongs to a kind of %s, of which the file has none", f.name, name, group)
				}
			}
			for _, r := range kind.Reads {
				if (r.Secret == "") == (r.ConfigMap == "") {
					t.Errorf("%s: %s reads one of secret and configMap", f.name, name)
				}
			}
			for _, m := range kind.Makes {
				if !slices.Contains([]string{"Secret", "ConfigMap", "Service", "Namespace"}, m.Kind) || m.Name == "" {
					t.Errorf("%s: %s makes %+v", f.name, name, m)
				}
			}
			if kind.Parameters != "" && kind.Parameters != Namespaced && kind.Parameters != Cluster {
				t.Errorf("%s: %s: parameters is %q", f.name, name, kind.Parameters)
			}
		}
	}
	if diff := cmp.Diff(together, Controllers()); diff != "" {
		t.Errorf("controllers (-in their files +decoded alone):\n%s", diff)
	}
}

func TestOf(t *testing.T) {
	if got := Of("k8s.mariadb.com", "MariaDB"); len(got.Makes) != 7 || len(got.Storage) != 1 {
		t.Errorf("MariaDB: %+v", got)
	}
	if got := Of("k8s.mariadb.com", "Backup"); len(got.Makes) != 2 {
		t.Errorf("a kind that only its group knows: %+v", got)
	}
	if !Owns("pkg.crossplane.io", "Function") || Owns("pkg.crossplane.io", "Provider") {
		t.Error("Compositions belong to Functions, nothing to Providers")
	}
}
