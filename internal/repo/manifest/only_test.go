package manifest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// expanding are the packages that read YAML with the library itself, which expands
// aliases without a limit on the text that they stand for.
var expanding = map[string]string{
	"internal/repo/manifest":               "behind CheckAliases",
	"internal/analysis/catalogue":          "behind CheckAliases",
	"internal/repo/render/helm":            "in a worker",
	"internal/repo/render/kustomize":       "in a worker",
	"internal/repo/render/postbuild":       "in a worker",
	"internal/kube/health/script":          "in a worker",
	"internal/simulate/rule":               "in a worker",
	"internal/argocd/generate/smokejob":    "a file that Ladder wrote, in the cluster",
	"internal/cli/durations":               "a file that the user names",
	"internal/cli/cataloguecmd":            "a chart that the user names",
	"internal/orphans":                     "a plan that the user names",
	"internal/analysis/catalogue/generate": "a tool of this project",
	"internal/operators":                   "files of this project",
}

// TestNothingElseExpandsAliases holds that what a repository wrote is read by Unmarshal,
// by package yamldoc, or in a worker.
func TestNothingElseExpandsAliases(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	seen := map[string]bool{}
	for _, root := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(top, root), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			folder, err := filepath.Rel(top, filepath.Dir(name))
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, imported := range file.Imports {
				if imported.Path.Value == `"sigs.k8s.io/yaml"` && reads(file) {
					seen[folder] = true
					if expanding[folder] == "" {
						t.Errorf("%s reads YAML without a limit: use manifest.Unmarshal", name)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for folder := range expanding {
		if !seen[folder] {
			t.Errorf("%s reads no YAML any more", folder)
		}
	}
}

// reads reports whether a file calls a function of the library that reads.
func reads(file *ast.File) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			of, isName := s.X.(*ast.Ident)
			found = found || isName && of.Name == "yaml" && (strings.HasPrefix(s.Sel.Name, "Unmarshal") || strings.HasPrefix(s.Sel.Name, "YAMLTo"))
		}
		return !found
	})
	return found
}

func TestUnmarshalBoundsAliases(t *testing.T) {
	var into map[string]any
	// Each alias is a few bytes of YAML, and 64 KiB of what the library makes of it.
	bomb := "a: &a " + strings.Repeat("x", 64<<10) + "\nb: [" + strings.Repeat("*a, ", 50_000) + "*a]\n"
	if err := manifest.Unmarshal([]byte(bomb), &into); err == nil {
		t.Error("three gigabytes of text were read")
	}
	if err := manifest.Unmarshal([]byte("a: &a [x]\nb: *a\n"), &into); err != nil || len(into) != 2 {
		t.Errorf("%v, %v", into, err)
	}
}
