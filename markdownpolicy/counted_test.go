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

// Tests of laws of time count steps: every call of a function of this package and of those below
// it, every turn of a loop, and every byte that a function of strings or encoding/json looks at.
// The counter is not in the package: counts builds the tests anew, of files into which it was
// written. So it counts whatever the package does, and costs nothing where nobody looks at it.

// counts reports whether steps are counted. Where they are not, it runs the test in a binary in
// which they are, and the test has nothing left to do.
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

// steps returns how many steps a function makes.
func steps(f func()) int {
	before := markdownpolicy.Steps()
	f()
	return markdownpolicy.Steps() - before
}

// countingDir is where the binary is built; "": it is not.
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

// overlay writes the files of this package and of those below it with a counter into a folder. It
// returns by which file each is replaced, and the files of the counter itself.
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

// insertion is a text that is written into a file before a place.
type insertion struct {
	at   int
	text string
}

// withCounter returns a Go file with a counter in it. It counts at the beginning of each function
// and of each turn of a loop, where texts are copied, and in packages that read texts.
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

// isConversion reports whether a call converts a text: string(b) or []byte(s).
func isConversion(call *ast.CallExpr) bool {
	to := call.Fun
	if list, ok := to.(*ast.ArrayType); ok && list.Len == nil {
		to = list.Elt
	}
	name, ok := to.(*ast.Ident)
	return ok && len(call.Args) == 1 && (name.Name == "string" || name.Name == "byte")
}
