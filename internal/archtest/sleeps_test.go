package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// sleepers are who may sleep where time passes, by the reason: folders, or functions and types of
// one. A bubble holds no process, no database and no browser.
var sleepers = map[string][]string{
	"a broken store looks, and leaps a while later":  {"checkpoint/checkpointtest"},
	"processes die and databases fail at any moment": {"internal/soak", "temporal"},
	"a database takes its time":                      {"checkpoint/pgstore TestAppend_givenUp", "checkpoint/pgstore loader", "checkpoint/pgstore flushes"},
	"a process hangs, or waits for another, or reads what it does not show yet": {
		"cmd/segue mcpTestServer", "cmd/segue turn", "cmd/segue TestChat_screens", "tools/mcptools hostile", "tools/mcptools stay", "tools/mcptools roles",
	},
	"a server, or a person, is silent for a while, and a process looks on": {
		"cmd/segue TestMCPServe_silence", "cmd/segue heardBy", "tools/mcptools TestElicit_time", "tools/mcptools TestHostile_changes",
	},
	"a browser is looked at, or looks on":           {"docs/examples browser", "docs/examples cuttingSite"},
	"a broken client is busy while another asks it": {"llmclient/llmclienttest broken"},
	"a tool and what ends it meet in real time":     {"orchestrator race"},
}

// TestSleeps refuses time.Sleep in tests outside of synctest.Test: a test waits for what happens,
// by require.Eventually, or for a time that passes at once.
func TestSleeps(t *testing.T) {
	var may, do []string
	for _, places := range sleepers {
		may = append(may, places...)
	}
	for folder := range foldersOf(t) {
		for _, place := range sleepsIn(t, folder) {
			if name := filepath.ToSlash(folder); slices.Contains(may, name) {
				place = name
			}
			do = append(do, place)
		}
	}
	slices.Sort(may)
	slices.Sort(do)
	require.Equal(t, may, slices.Compact(do))
}

// sleepsIn returns the functions of the tests in a folder that sleep and may be called outside of
// synctest.Test: what a bubble holds, and what only bubbles name, are left out. A method is named
// where its type is.
func sleepsIn(t *testing.T, folder string) (places []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	require.NoError(t, err)
	sleeps := map[string]bool{}             // by names of functions and types
	outside := map[string]map[string]bool{} // what a function names outside of bubbles
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for name, d := range named(parsed) {
			if outside[name] == nil {
				outside[name] = map[string]bool{}
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if isOf(n.Fun, "synctest", "Test") || isOf(n.Fun, "rapid", "SyncTest") {
						return false
					}
				case *ast.SelectorExpr:
					sleeps[name] = sleeps[name] || isOf(n, "time", "Sleep")
				case *ast.Ident:
					outside[name][n.Name] = n.Name != name
				}
				return true
			})
		}
	}
	for name := range sleeps {
		if sleeps[name] && awake(outside, name, map[string]bool{}) {
			places = append(places, filepath.ToSlash(folder)+" "+name)
		}
	}
	return places
}

// named returns the declarations of a file with the names of their functions, types and variables.
func named(file *ast.File) iter.Seq2[string, ast.Node] {
	return func(yield func(string, ast.Node) bool) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = receiverOf(d)
				}
				if !yield(name, d) {
					return
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					name := ""
					switch s := spec.(type) {
					case *ast.TypeSpec:
						name = s.Name.Name
					case *ast.ValueSpec:
						name = s.Names[0].Name
					}
					if !yield(name, spec) {
						return
					}
				}
			}
		}
	}
}

var entry = regexp.MustCompile("^(Test|Fuzz|Benchmark|Example)")

// awake tells whether time passes where a function is called: it is a test, or a function that is
// awake names it.
func awake(outside map[string]map[string]bool, name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	if entry.MatchString(name) {
		return true
	}
	for by, names := range outside {
		if names[name] && awake(outside, by, seen) {
			return true
		}
	}
	return false
}

func isOf(e ast.Node, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}
