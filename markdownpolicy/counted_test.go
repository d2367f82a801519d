package markdownpolicy_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
)

// The tests of linear time count steps: every call of a function of this package and its internal
// packages, every iteration of a loop, and every byte that a function of strings or encoding/json
// examines. The counter is not part of the package: counts builds the tests again, from files with
// the counter inserted. So everything that the package does is counted, and other builds pay
// nothing.

// counts reports whether steps are counted in this binary. If not, it runs the test in a binary
// that counts them, and the calling test has nothing left to do.
func counts(t *testing.T) bool {
	t.Helper()
	if markdownpolicy.Steps != nil {
		return true
	}
	binary, err := countingBinary()
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), binary, "-test.v", "-test.run=^"+t.Name()+"$").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	return false
}

// steps returns the number of steps that a function takes.
func steps(f func()) int {
	before := markdownpolicy.Steps()
	f()
	return markdownpolicy.Steps() - before
}

// countingDir is the folder in which the binary is built; "" if it is not.
var countingDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if countingDir != "" {
		_ = os.RemoveAll(countingDir)
	}
	os.Exit(code)
}

// countingBinary builds the tests of this package with a counter.
var countingBinary = sync.OnceValues(func() (binary string, err error) {
	if countingDir, err = os.MkdirTemp("", "counted"); err != nil {
		return "", err
	}
	replace, err := overlay(countingDir)
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlayFile := filepath.Join(countingDir, "overlay.json")
	if err := os.WriteFile(overlayFile, list, 0o600); err != nil {
		return "", err
	}
	binary = filepath.Join(countingDir, "counted.test")
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlayFile, "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
})

// overlay writes the files of this package and its internal packages, with a counter inserted, into
// a folder. It returns the replacement of each file, and the files of the counter itself.
func overlay(dir string) (map[string]string, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	counter := filepath.Join(here, "testdata", "counted")
	replace := map[string]string{filepath.Join(here, "steps_test.go"): filepath.Join(counter, "steps_test.go")}
	for _, name := range []string{"counted.go", "strings/strings.go", "encoding/json/json.go"} {
		replace[filepath.Join(here, "internal", "counted", name)] = filepath.Join(counter, name)
	}
	files, err := filepath.Glob(filepath.Join(here, "*.go"))
	if err != nil {
		return nil, err
	}
	below, err := filepath.Glob(filepath.Join(here, "internal", "*", "*.go"))
	if err != nil {
		return nil, err
	}
	for i, file := range append(files, below...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := withCounter(file)
		if err != nil {
			return nil, err
		}
		to := filepath.Join(dir, strconv.Itoa(i)+".go")
		if err := os.WriteFile(to, source, 0o600); err != nil {
			return nil, err
		}
		replace[file] = to
	}
	return replace, nil
}

// insertion is a text to be inserted into a file before a position.
type insertion struct {
	at   int
	text string
}

// withCounter returns a Go file with a counter inserted. It counts at the beginning of each
// function and of each iteration of a loop, where texts are copied, and in packages that read
// texts.
func withCounter(file string) ([]byte, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	const counted = "github.com/segue-go/segue/markdownpolicy/internal/counted"
	var all []insertion
	insert := func(at token.Pos, text string) {
		all = append(all, insertion{fset.Position(at).Offset, text})
	}
	insert(parsed.Name.End(), `; import "`+counted+`"`)
	insert(parsed.FileEnd, "\nvar _ = counted.Step\n")
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if n.Path.Value == `"strings"` || n.Path.Value == `"encoding/json"` {
				insert(n.Path.Pos()+1, counted+"/")
			}
		case *ast.FuncDecl:
			insert(n.Body.Lbrace+1, "counted.Step();")
		case *ast.FuncLit:
			insert(n.Body.Lbrace+1, "counted.Step();")
		case *ast.ForStmt:
			insert(n.Body.Lbrace+1, "counted.Step();")
		case *ast.RangeStmt:
			insert(n.Body.Lbrace+1, "counted.Step();")
		case *ast.CallExpr:
			if isConversion(n) || n.Ellipsis.IsValid() {
				last := n.Args[len(n.Args)-1]
				insert(last.Pos(), "counted.Copied(")
				insert(last.End(), ")")
			}
		case *ast.AssignStmt:
			if n.Tok == token.ADD_ASSIGN {
				left := string(source[fset.Position(n.Lhs[0].Pos()).Offset:fset.Position(n.Lhs[0].End()).Offset])
				insert(n.Rhs[0].Pos(), "counted.Added("+left+", ")
				insert(n.Rhs[0].End(), ")")
			}
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b insertion) int { return a.at - b.at })
	var out []byte
	done := 0
	for _, i := range all {
		out = append(append(out, source[done:i.at]...), i.text...)
		done = i.at
	}
	return append(out, source[done:]...), nil
}

// isConversion reports whether a call converts a text, as string(b) and []byte(s) do.
func isConversion(call *ast.CallExpr) bool {
	to := call.Fun
	if list, ok := to.(*ast.ArrayType); ok && list.Len == nil {
		to = list.Elt
	}
	name, ok := to.(*ast.Ident)
	return ok && len(call.Args) == 1 && (name.Name == "string" || name.Name == "byte")
}
