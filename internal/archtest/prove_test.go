package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProveRunsEveryProperty finds the tests that do less in make test, and checks that the
// Makefile lists exactly these for make prove.
func TestProveRunsEveryProperty(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	list := regexp.MustCompile(`(?m)^PROPERTIES := (.*)$`).FindSubmatch(makefile)
	require.NotNil(t, list)
	command := regexp.MustCompile(`(?m)-run '\^\(\$\(PROPERTIES\)\)\$\$' (.*)$`).FindSubmatch(makefile)
	require.NotNil(t, command)
	var properties, folders []string
	for folder := range strings.FieldsSeq(string(command[1])) {
		found := propertiesOf(t, filepath.Join(root, folder))
		require.NotEmpty(t, found, "%s has none", folder)
		properties, folders = append(properties, found...), append(folders, filepath.Clean(folder))
	}
	slices.Sort(properties)
	require.ElementsMatch(t, strings.Split(string(list[1]), "|"), slices.Compact(properties)) // some are in several folders
	for dir := range packages(t) {
		if found := propertiesOf(t, filepath.Join(root, dir)); len(found) > 0 && dir != "internal/prove" {
			require.Contains(t, folders, filepath.FromSlash(dir), "make prove leaves out %q", found)
		}
	}
}

// propertiesOf returns the tests of a folder that do less in make test: those that call package
// prove or strategytest.Ways, directly or through a function of these tests.
func propertiesOf(t *testing.T, dir string) (tests []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	var functions []*ast.FuncDecl
	asks := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
				functions = append(functions, fn)
				asks[fn.Name.Name] = calls(fn, func(called ast.Expr) bool {
					selector, ok := called.(*ast.SelectorExpr)
					return ok && (isNamed(selector.X, "prove") || isNamed(selector.X, "strategytest") && selector.Sel.Name == "Ways")
				})
			}
		}
	}
	for _, fn := range functions {
		name := fn.Name.Name
		through := calls(fn, func(called ast.Expr) bool {
			ident, ok := called.(*ast.Ident)
			return ok && asks[ident.Name]
		})
		if strings.HasPrefix(name, "Test") && (asks[name] || through) {
			tests = append(tests, name)
		}
	}
	return tests
}

// calls reports whether a function makes a call that meant accepts.
func calls(fn *ast.FuncDecl, meant func(ast.Expr) bool) (found bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && meant(call.Fun)
		return !found
	})
	return found
}

func isNamed(e ast.Expr, name string) bool {
	ident, ok := e.(*ast.Ident)
	return ok && ident.Name == name
}
