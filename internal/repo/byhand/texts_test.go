package byhand

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// treeOf writes files into a folder.
func treeOf(t *testing.T, files map[string]string) *repofs.Tree {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		writeFile(t, root, name, content)
	}
	return &repofs.Tree{Root: root, Repository: root}
}

// TestFindLeavesOutWhatIsTooLarge: scripts are read before documents, up to a size of all together, and
// those that are left out are named.
func TestFindLeavesOutWhatIsTooLarge(t *testing.T) {
	const line = "a line that is as long as those of documents are, and says nothing of the kind\n"
	prose := "kubectl\n" + strings.Repeat(line, repofs.MaxFileSize/len(line)-1)
	files := map[string]string{"zz/up.sh": "kubectl create namespace kept\n"}
	for i := range maxTexts/repofs.MaxFileSize + 2 {
		files[fmt.Sprintf("docs/%d.md", i)] = prose
	}
	tree := treeOf(t, files)
	if left := Left(tree); left != nil {
		t.Fatalf("left %q before anybody asked", left)
	}
	told := Find(t.Context(), tree)
	if len(told.Namespaces) != 1 || told.Namespaces[0].Name != "kept" {
		t.Errorf("namespaces %v, want that of the script", told.Namespaces)
	}
	if left := Left(tree); len(left) != 2 || left[0] != "docs/3.md" {
		t.Errorf("left %q, want the last two documents", left)
	}
}

// TestFindBoundsComparisons: commands that name many paths behind a variable are compared with the files
// of the repository up to a bound. The scripts behind it are named, and what else they do is read.
func TestFindBoundsComparisons(t *testing.T) {
	var script strings.Builder
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("m/d%d/x.yaml", i)] = "a: 1\n"
	}
	for i := range maxCompared / 1000 {
		fmt.Fprintf(&script, "kubectl apply -f $DIR/a%d/x.yaml\n", i)
	}
	files["a.sh"] = script.String()
	files["b.sh"] = "kubectl create namespace late\nkubectl apply -f m/d1/\n"
	files["c.sh"] = "kubectl create namespace later\n"
	tree := treeOf(t, files)
	told := Find(t.Context(), tree)
	if len(told.Namespaces) != 2 || len(told.Files) != 0 {
		t.Errorf("namespaces %v, files %v, want those that commands create, and none behind the bound", told.Namespaces, told.Files)
	}
	if left := Left(tree); !slices.Equal(left, []string{"a.sh", "b.sh"}) {
		t.Errorf("left %q, want the scripts that apply more", left)
	}
}

// TestFindAfterACancel: what a search that was cut off found is not kept.
func TestFindAfterACancel(t *testing.T) {
	tree := treeOf(t, map[string]string{"a.sh": "kubectl create namespace early\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Find(ctx, tree)
	if told := Find(t.Context(), tree); len(told.Namespaces) != 1 {
		t.Errorf("namespaces %v, want that of the script", told.Namespaces)
	}
}

// TestRepositoryOfTheSurest: the address of a repository of charts is that of a script before that of a
// document.
func TestRepositoryOfTheSurest(t *testing.T) {
	tree := treeOf(t, map[string]string{
		"README.md":     "helm repo add app https://document.example.org\n",
		"scripts/up.sh": "helm repo add app https://script.example.org\nhelm install app app/app\n",
	})
	if told := Find(t.Context(), tree); len(told.Releases) != 1 || told.Releases[0].Repository != "https://script.example.org" {
		t.Errorf("releases %v", told.Releases)
	}
}

// TestClientOfOpenShift is found however it is written, and in no other word.
func TestClientOfOpenShift(t *testing.T) {
	for text, speaks := range map[string]bool{
		"oc create namespace y":          true,
		`"oc" apply -f m/`:               true,
		"$(which oc) apply -f m/":        true,
		"oc\tapply -f m/":                true,
		"see the docs of the local host": false,
		"my_oc apply":                    false,
	} {
		if got := (command{text: text}).speaks(); got != speaks {
			t.Errorf("%s: %v, want %v", text, got, speaks)
		}
	}
}

// TestTrialOfAPlatform: a script that makes a cluster for trial counts where a script of the platform
// runs it, whatever quotes and variables are around its path.
func TestTrialOfAPlatform(t *testing.T) {
	for run, counts := range map[string]bool{
		`"$DIR"/scripts/kind.sh`:        true,
		`bash ./scripts/kind.sh &`:      true,
		`$(${DIR}/kind.sh)`:             true,
		`sh -c "./scripts/kind.sh">log`: true,
		`cmds: ["./scripts/kind.sh"]`:   true,
		`# ./scripts/kind.sh`:           false,
		`echo kind.sh`:                  false,
		`./scripts/kind.sh.old`:         false,
	} {
		tree := treeOf(t, map[string]string{
			"up.sh":           "#!/bin/sh\n# Argo CD\n" + run + "\nkubectl create namespace argocd\n",
			"scripts/kind.sh": "kind create cluster\nkubectl create namespace trial\n",
		})
		if got := len(Find(t.Context(), tree).Namespaces) == 2; got != counts {
			t.Errorf("%s: counts %v, want %v", run, got, counts)
		}
	}
}
