package strategy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The package really depends on looplab/fsm: with a machine that allows everything, does nothing or
// forgets its state, tests of this package fail. The tests are built again with a copy of
// looplab/fsm whose methods behave so if an environment variable says so.
func TestFSM_looplabDecides(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the tests of this package a second time")
	}
	tests := buildWith(t, map[string]string{
		"Can":      "return true",
		"Cannot":   "return false",
		"SetState": "return",
		"Event":    "return nil",
		"Current":  `return "ready"`,
	})
	require.NoError(t, runAgainst(t, tests, ""), "unchanged, the copy passes")
	for _, mutant := range []string{"Can Cannot", "SetState Event", "Current"} {
		t.Run(mutant, func(t *testing.T) {
			var failed *exec.ExitError
			require.ErrorAs(t, runAgainst(t, tests, mutant), &failed, "no test notices that looplab/fsm does not decide")
		})
	}
}

// runAgainst runs the tests; the methods that mutant names behave wrongly.
func runAgainst(t *testing.T, tests, mutant string) error {
	cmd := exec.CommandContext(t.Context(), tests, "-test.short", "-test.failfast", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), "LOOPLAB_MUTANT="+mutant)
	out, err := cmd.CombinedOutput()
	if err != nil && mutant == "" {
		t.Logf("%s", out)
	}
	return err
}

// buildWith builds the tests of this package as a program, with looplab/fsm changed by mutate. It
// needs no network.
func buildWith(t *testing.T, mutations map[string]string) string {
	t.Helper()
	env := append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=")
	run := func(args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Env = env
		var problems bytes.Buffer
		cmd.Stderr = &problems
		out, err := cmd.Output()
		require.NoError(t, err, "go %v: %s", args, &problems)
		return out
	}
	var root, looplab struct{ Dir, GoMod string }
	require.NoError(t, json.Unmarshal(run("list", "-m", "-json"), &root))
	require.NoError(t, json.Unmarshal(run("list", "-m", "-json", "github.com/looplab/fsm"), &looplab))

	dir := t.TempDir()
	changed := filepath.Join(dir, "fsm")
	require.NoError(t, os.Mkdir(changed, 0o750))
	files, err := filepath.Glob(filepath.Join(looplab.Dir, "*.go"))
	require.NoError(t, err)
	for _, file := range append(files, looplab.GoMod) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if filepath.Base(file) == "fsm.go" {
			text = mutate(t, text, mutations)
		}
		name := filepath.Base(file)
		if file == looplab.GoMod {
			name = "go.mod" // the module cache stores it under the name of the version
		}
		require.NoError(t, os.WriteFile(filepath.Join(changed, name), text, 0o600))
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root.Dir, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	mod := filepath.Join(dir, "go.mod")
	run("mod", "edit", "-replace=github.com/looplab/fsm="+changed, mod)
	program := filepath.Join(dir, "strategy.test")
	run("test", "-c", "-vet=off", "-mod=mod", "-modfile="+mod, "-o", program, ".")
	return program
}

// mutate changes methods of FSM so that they behave wrongly if LOOPLAB_MUTANT names them.
func mutate(t *testing.T, source []byte, mutations map[string]string) []byte {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "fsm.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	var out bytes.Buffer
	at := 0
	insert := func(pos token.Pos, text string) {
		to := set.Position(pos).Offset
		out.Write(source[at:to])
		out.WriteString(text)
		at = to
	}
	insert(file.Name.End(), "\n\nimport mutantos \"os\"\nimport mutantstrings \"strings\"\n")
	done := 0
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || mutations[f.Name.Name] == "" {
			continue
		}
		if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); !ok || fmt.Sprint(star.X) != "FSM" {
			continue
		}
		insert(f.Body.Lbrace+1, fmt.Sprintf("\nfor _, m := range mutantstrings.Fields(mutantos.Getenv(\"LOOPLAB_MUTANT\")) { if m == %q { %s } }\n",
			f.Name.Name, mutations[f.Name.Name]))
		done++
	}
	require.Equal(t, len(mutations), done, "looplab/fsm has other methods now")
	out.Write(source[at:])
	return out.Bytes()
}
