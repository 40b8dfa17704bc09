package git_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// programs that are not git are run by these packages only.
var runsPrograms = map[string]string{
	"internal/repo/git":        "git",
	"internal/confine":         "ladder itself, as a worker",
	"internal/plane":           "ladder itself, as the process of a plane",
	"internal/plane/planetest": "a test itself, as a stranger",
	"internal/testbuild":       "go, for tests",
	"internal/plane/argocd":    "ladder-argocd",
	"internal/run/bootstrap":   "k3d or kind, as its configuration says",
}

// TestNothingElseRunsGit holds that the command runs programs in the packages
// above alone, and that none but this one names git.
func TestNothingElseRunsGit(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	seen := map[string]bool{}
	for _, root := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(top, root), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			folder, err := filepath.Rel(top, filepath.Dir(name))
			if err != nil {
				return err
			}
			for _, imported := range file.Imports {
				if imported.Path.Value != `"os/exec"` {
					continue
				}
				seen[folder] = true
				if runsPrograms[folder] == "" {
					t.Errorf("%s runs programs", name)
				}
				if folder != "internal/repo/git" && names(file, "git") {
					t.Errorf("%s runs git", name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for folder := range runsPrograms {
		if !seen[folder] {
			t.Errorf("%s runs no program any more", folder)
		}
	}
}

// names reports whether a file has a text as a literal.
func names(file *ast.File, text string) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			value, err := strconv.Unquote(l.Value)
			found = found || err == nil && value == text
		}
		return !found
	})
	return found
}
