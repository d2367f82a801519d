package archtest

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const apiListing = "testdata/api.txt"

// TestAPI compares what programs can import with testdata/api.txt, so that a change of the API is
// seen in a review. With -rewrite it writes the file.
func TestAPI(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}} {{.Name}} {{.Dir}}", module+"...")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		found := strings.Fields(line)
		name := short(found[0])
		if found[1] == "main" || strings.Contains("/"+name+"/", "/internal/") || strings.HasPrefix(name, "docs/") || strings.HasPrefix(name, "bench") {
			continue
		}
		if all := declared(t, found[2], found[0]); all != nil {
			fmt.Fprintf(&b, "package %s // %s\n\n%s\n", found[1], found[0], strings.Join(all, "\n"))
		}
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(apiListing, []byte(b.String()), 0o600))
	}
	have, err := os.ReadFile(apiListing)
	require.NoError(t, err)
	is, was := strings.Split(b.String(), "\n"), strings.Split(string(have), "\n")
	require.Empty(t, lacking(was, is), "lines of %s are no longer so: run make api, and look at the difference", apiListing)
	require.True(t, slices.Equal(was, is), "the API has more, such as %q: run make api, and look at the difference", lacking(is, was))
}

// lacking returns the lines that another text does not have.
func lacking(lines, other []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(other, line) })
}

// declared returns the exported declarations of a package without their comments, sorted.
func declared(t *testing.T, dir, path string) (all []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	fset := token.NewFileSet()
	var files []*ast.File
	for _, p := range paths {
		if !strings.HasSuffix(p, "_test.go") {
			f, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, f)
		}
	}
	p, err := doc.NewFromFiles(fset, files, path)
	require.NoError(t, err)
	show := func(decl any) {
		var b strings.Builder
		require.NoError(t, format.Node(&b, fset, decl))
		all = append(all, b.String()+"\n")
	}
	funcs := func(list []*doc.Func) {
		for _, f := range list {
			show(f.Decl)
		}
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			show(v.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs)
	for _, typ := range p.Types {
		show(typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
