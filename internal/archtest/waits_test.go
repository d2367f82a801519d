package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWaits refuses two ways to wait without end, in the functions of tests and of their subtests
// outside of synctest.Test: a receive that is no case of a select, but from ctx.Done(), and a call
// of a method Wait without arguments. internal/waittest bounds both. What other functions wait for
// is not looked at: they may be of a bubble, or be ended by the test.
func TestWaits(t *testing.T) {
	for folder := range foldersOf(t) {
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			places := token.NewFileSet()
			parsed, err := parser.ParseFile(places, file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for name, d := range named(parsed) {
				if f, ok := d.(*ast.FuncDecl); !ok || f.Recv != nil || !entry.MatchString(name) || strings.HasPrefix(name, "Example") {
					continue
				}
				for _, wait := range waitsIn(d) {
					t.Errorf("%s: %s waits without end; see internal/waittest", places.Position(wait.Pos()), name)
				}
			}
		}
	}
}

// waitsIn returns the waits without end of a function.
func waitsIn(f ast.Node) (waits []ast.Node) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.FuncLit:
			return false
		case *ast.CommClause:
			for _, s := range n.Body {
				waits = append(waits, waitsIn(s)...)
			}
			return false
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			switch {
			case ok && s.Sel.Name == "Wait" && len(n.Args) == 0 && !isOf(s, "synctest", "Wait"):
				waits = append(waits, n)
			case ok && s.Sel.Name == "Run" && len(n.Args) == 2:
				if sub, ok := n.Args[1].(*ast.FuncLit); ok {
					waits = append(waits, waitsIn(sub.Body)...)
				}
			}
		case *ast.UnaryExpr:
			if call, ok := n.X.(*ast.CallExpr); ok && isOf(call.Fun, "ctx", "Done") {
				return true
			}
			if n.Op == token.ARROW {
				waits = append(waits, n)
			}
		}
		return true
	})
	return waits
}
