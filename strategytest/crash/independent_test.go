package crash_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The oracle takes nothing of what it is held against but names, types and constants: not the
// machine, not the loop, no journal.
func TestOracle_isIndependent(t *testing.T) {
	files, err := filepath.Glob("oracle*.go")
	require.NoError(t, err)
	require.Len(t, files, 5)
	used := map[string]map[string]bool{"machine": {}, "orchestrator": {}, "checkpoint": {}}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := s.X.(*ast.Ident); ok && used[of.Name] != nil {
					used[of.Name][s.Sel.Name] = true
				}
			}
			return true
		})
	}
	require.Empty(t, used["checkpoint"])
	for of, does := range map[string][]string{
		"machine":      {"New", "Machine", "Config", "Records", "EncodeRecord", "DecodeRecord"},
		"orchestrator": {"New", "Orchestrator", "Collect", "Resumption"},
	} {
		for _, name := range does {
			require.False(t, used[of][name], "%s.%s", of, name)
		}
	}
}
