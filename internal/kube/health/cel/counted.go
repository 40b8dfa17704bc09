package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// listVariable is the variable that holds a list, whatever there is.
const listVariable = "objects"

// counted makes true of "objects.size() >= 0" and of what says the same: a list has a length,
// and none has less.
type counted struct{}

// Optimize is cel.ASTOptimizer.
func (counted) Optimize(ctx *cel.OptimizerContext, a *ast.AST) *ast.AST {
	root := ast.NavigateAST(a)
	if len(ast.MatchDescendants(root, ast.KindMatcher(ast.ComprehensionKind))) > 0 {
		return a // its variable may have the same name
	}
	for _, call := range ast.MatchDescendants(root, ast.KindMatcher(ast.CallKind)) {
		args := call.AsCall().Args()
		if len(args) != 2 {
			continue
		}
		var least int64
		size, bound := args[0], args[1]
		switch call.AsCall().FunctionName() {
		case operators.GreaterEquals:
		case operators.Greater:
			least = -1
		case operators.LessEquals:
			size, bound = bound, size
		case operators.Less:
			size, bound, least = bound, size, -1
		default:
			continue
		}
		if isSize(size) && bound.Kind() == ast.LiteralKind {
			if n, ok := bound.AsLiteral().Value().(int64); ok && n <= least {
				ctx.UpdateExpr(call, ctx.NewLiteral(types.True))
			}
		}
	}
	return a
}

// isSize reports whether an expression is the length of the list of all objects.
func isSize(e ast.Expr) bool {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "size" {
		return false
	}
	call := e.AsCall()
	of := call.Args()
	if call.IsMemberFunction() {
		of = append([]ast.Expr{call.Target()}, of...)
	}
	return len(of) == 1 && of[0].Kind() == ast.IdentKind && of[0].AsIdent() == listVariable
}
