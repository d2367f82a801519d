package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostCalls is the greatest number of calls from an approval policy to a person, and back.
const mostCalls = 8

// outsiders are the types whose methods are user code: a line of a walk may end there.
var outsiders = []string{"Client", "Config", "Running", "Strategy"}

// TestWalk checks the walks of docs/internal/design.md against the code: each function of a line
// exists and calls the next, and none calls an earlier one of the line.
func TestWalk(t *testing.T) {
	calls := callsOf(t, "machine", "orchestrator", "orchestrator/internal/journals")
	lines := walks(t, "A walk")
	require.Greater(t, len(lines), 20)
	for _, line := range lines {
		for i, name := range line {
			receiver, method, ok := strings.Cut(name, ".")
			require.True(t, ok, name)
			if i > 0 {
				require.Contains(t, calls[line[i-1]], method, "%s does not call %s", line[i-1], name)
			}
			if slices.Contains(outsiders, receiver) {
				require.Equal(t, len(line)-1, i, "%s is not ours to walk on from", name)
				continue
			}
			_, there := calls[name]
			require.True(t, there, "there is no function %s", name)
			for _, before := range line[:i] {
				_, earlier, _ := strings.Cut(before, ".")
				if earlier != method { // a function with that name on another type
					require.NotContains(t, calls[name], earlier, "%s goes back to %s", name, before)
				}
			}
		}
	}
}

// TestWalk_approval counts the calls of an approval, from the policy to the person and back.
func TestWalk_approval(t *testing.T) {
	lines := walks(t, "An approval")
	require.Len(t, lines, 4)
	out := 0
	for _, line := range lines[:3] {
		out += len(line) - 1
	}
	require.Equal(t, "Config.Reply", lines[2][len(lines[2])-1])
	require.LessOrEqual(t, out, mostCalls, "%s", lines[:3])
	require.LessOrEqual(t, len(lines[3])-1, mostCalls, "%s", lines[3])
}

// walks returns the lines of the walks below a heading of docs/internal/design.md.
func walks(t *testing.T, heading string) (lines [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/internal/design.md"))
	require.NoError(t, err)
	before, section, found := strings.Cut(string(text), " "+heading+"\n")
	require.True(t, found)
	marks := before[strings.LastIndex(before, "\n")+1:]
	section, _, _ = strings.Cut(section, "\n"+marks+" ")
	for i, block := range strings.Split(section, "```") {
		if i%2 == 0 {
			continue
		}
		for line := range strings.Lines(strings.TrimSpace(block)) {
			lines = append(lines, strings.Split(strings.TrimSpace(line), " → "))
		}
	}
	return lines
}

// callsOf returns the names that each method of the packages calls, by receiver and name.
func callsOf(t *testing.T, packages ...string) map[string][]string {
	t.Helper()
	calls := map[string][]string{}
	for _, p := range packages {
		files, err := filepath.Glob(filepath.Join(root, p, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
					name := receiverOf(f) + "." + f.Name.Name
					calls[name] = append(calls[name], calledIn(f)...)
				}
			}
		}
	}
	return calls
}

func receiverOf(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// calledIn returns the names of the methods and functions that a function calls.
func calledIn(f *ast.FuncDecl) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch fun := call.Fun.(type) {
		case *ast.SelectorExpr:
			names = append(names, fun.Sel.Name)
		case *ast.Ident:
			names = append(names, fun.Name)
		}
		return true
	})
	return names
}
