package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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
	asking := map[string][]string{}
	for dir := range foldersOfTests(t) {
		if found := propertiesOf(t, filepath.Join(root, dir)); len(found) > 0 {
			asking[dir] = found
		}
	}
	delete(asking, "internal/prove")
	delete(asking, "cmd/segue") // make prove runs all of it
	var properties, folders []string
	for folder := range strings.FieldsSeq(string(command[1])) {
		folder = filepath.ToSlash(filepath.Clean(folder))
		require.NotEmpty(t, asking[folder], "%s has none", folder)
		properties, folders = append(properties, asking[folder]...), append(folders, folder)
	}
	slices.Sort(properties)
	require.ElementsMatch(t, strings.Split(string(list[1]), "|"), slices.Compact(properties)) // some are in several folders
	for dir, found := range asking {
		require.Contains(t, folders, dir, "make prove leaves out %q", found)
	}
}

// foldersOfTests returns the folders of all modules that have tests, but for the documents.
func foldersOfTests(t *testing.T) map[string]bool {
	t.Helper()
	folders := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || rel == "docs") {
			return fs.SkipDir
		}
		if strings.HasSuffix(rel, "_test.go") {
			folders[filepath.ToSlash(filepath.Dir(rel))] = true
		}
		return nil
	}))
	return folders
}

// propertiesOf returns the tests of a folder that do less in make test: those that call package
// prove or strategytest.Ways, directly or through a function of these tests.
func propertiesOf(t *testing.T, dir string) (tests []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	texts, asking := map[string][]byte{}, false
	for _, file := range files {
		texts[file], err = os.ReadFile(file)
		require.NoError(t, err)
		asking = asking || bytes.Contains(texts[file], []byte("prove.")) || bytes.Contains(texts[file], []byte("strategytest.Ways"))
	}
	if !asking {
		return nil
	}
	var functions []*ast.FuncDecl
	asks := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, texts[file], parser.SkipObjectResolution)
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
