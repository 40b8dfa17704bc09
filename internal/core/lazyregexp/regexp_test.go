package lazyregexp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every expression that the module gives to New can be compiled. A constant in one stands
// for a text without a meaning of its own.
func TestAllCompile(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 || !isNew(call.Fun) {
				return true
			}
			found++
			if _, err := regexp.Compile(text(call.Args[0])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 100 {
		t.Errorf("%d expressions found: the module has more", found)
	}
}

func isNew(e ast.Expr) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "New" {
		return false
	}
	in, ok := selector.X.(*ast.Ident)
	return ok && in.Name == "lazyregexp"
}

func text(e ast.Expr) string {
	switch v := e.(type) {
	case *ast.BasicLit:
		if unquoted, err := strconv.Unquote(v.Value); err == nil {
			return unquoted
		}
	case *ast.BinaryExpr:
		return text(v.X) + text(v.Y)
	}
	return "x"
}

// What is compiled is compiled once, and found as package regexp finds it.
func TestCompilesAtFirstUse(t *testing.T) {
	broken := New("(")
	defer func() {
		if recover() == nil {
			t.Error("an expression that cannot be compiled does not panic when it is used")
		}
	}()
	if got := New(`(a+)(b)`).FindStringSubmatch("xaab"); len(got) != 3 || got[1] != "aa" {
		t.Errorf("got %q", got)
	}
	broken.MatchString("x")
}
