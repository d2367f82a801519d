package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pure lists the packages that only decide and have no effects.
var pure = []string{
	"messages",
	"delegation",
	"markdownpolicy",
	"markdownpolicy/internal/commonmark",
	"markdownpolicy/internal/jsonrepair",
	"markdownpolicy/internal/jsonscan",
	"markdownpolicy/internal/pyliteral",
	"markdownpolicy/internal/reactscan",
	"markdownpolicy/internal/textscan",
	"nextstep",
	"strategy",
	"strategy/compaction",
	"strategy/completetask",
	"strategy/planreviseexecute",
	"tools/internal/typeschema",
	"strategy/planreviseexecute/internal/planorder",
	"strategy/planreviseexecute/internal/plantext",
	"strategy/react",
	"strategy/reasonactobserve",
	"strategy/reflection",
	"strategy/retry",
	"strategy/stepagent",
	"strategy/toolsearch",
	"strategy/workflow",
	"strategy/internal/compact",
	"strategy/internal/frame",
	"strategy/internal/search",
	"strategy/internal/verdict",
	"internal/contentsize",
	"internal/textcut",
	"internal/toolkey",
	"internal/guard",
	"internal/jsonform",
	"internal/jsonprefix",
	"internal/prompts",
	"internal/repeats",
	"internal/scenetest",
	"internal/similar",
	"machine",
	"machine/bound",
}

// acting lists the packages with effects, or that only tests run. A package that is in neither list
// may not exist.
var acting = []string{
	".",
	"checkpoint",
	"checkpoint/checkpointtest",
	"checkpoint/internal/storetest",
	"checkpoint/internal/tables",
	"checkpoint/sealed",
	"eval",
	"tools",
	"tools/filetools",
	"tools/internal/boundschema",
	"tools/internal/schemamemo",
	"llmclient",
	"llmclient/llmclienttest",
	"llmclient/internal/openaiapi",
	"llmclient/internal/wire",
	"llmclient/openaichat",
	"llmclient/openairesponses",
	"llmclient/policyclient",
	"llmclient/scripted",
	"strategy/builtin",
	"orchestrator",
	"orchestrator/internal/journals",
	"orchestrator/runs",
	"orchestrator/sse",
	"strategytest",
	"strategytest/coverage",
	"strategytest/crash",
	"strategytest/explore",
	"internal/strategytest/alphabet",
	"internal/archtest",
	"internal/asktime",
	"internal/growth",
	"internal/owntool",
	"internal/pgtest",
	"internal/waittest",
	"internal/prove",
	"internal/prove/installed",
	"internal/release",
	"internal/toolrun",
	"internal/wholefile",
}

// forbidden imports, with the reason.
var forbidden = map[string]string{
	"context":      "nothing in pure code waits",
	"crypto/rand":  "chance",
	"log":          "output",
	"log/slog":     "output",
	"math/rand":    "chance",
	"math/rand/v2": "chance",
	"net":          "the network",
	"net/http":     "the network",
	"os":           "the environment",
	"os/exec":      "the environment",
	"os/signal":    "the environment",
	"syscall":      "the environment",
	"unsafe":       "memory",
}

// clock are the functions of package time that read or wait for the clock. Its types and constants
// are data, and allowed.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// grants are the exceptions, each with its reason. The list does not grow.
var grants = map[string]string{
	"strategy/table.go: import sync": "a Table is compiled once, by whoever uses it first",
}

// clientTypes are names that pure code may not use: data of llmclient and tools is allowed, clients
// are not.
var clientTypes = []string{"Client", "ClientFunc", "Router", "Retry", "Fallback", "RateLimit"}

func TestPurity(t *testing.T) {
	used := map[string]bool{}
	for dir, files := range packages(t) {
		require.NotEqual(t, slices.Contains(pure, dir), slices.Contains(acting, dir), "package %s must stand in one of the lists, pure or acting", dir)
		for _, file := range files {
			rel := filepath.ToSlash(strings.TrimPrefix(file, root+"/"))
			if !slices.Contains(pure, dir) {
				continue
			}
			for _, offence := range impurities(t, file) {
				offence = rel + ": " + offence
				if _, granted := grants[offence]; granted {
					used[offence] = true
					continue
				}
				t.Error(offence)
			}
		}
	}
	for grant := range grants {
		require.True(t, used[grant], "grant %q is not needed any more", grant)
	}
}

// TestPurity_finds shows that the test can fail.
func TestPurity_finds(t *testing.T) {
	src := `package p
import ("context"; "time"; "sync"; "github.com/google/uuid"; "github.com/segue-go/segue/llmclient")
func f(c llmclient.Client, ch chan int) { go f(nil, nil); ch <- 1; <-ch; select {}; _ = time.Now(); _ = uuid.NewString(); _ = time.Second }`
	found := inspect(t, "p.go", src)
	for _, want := range []string{"import context", "import sync", "names llmclient.Client", "a channel type", "a go statement", "sends on a channel", "receives from a channel", "a select statement", "calls time.Now", "names uuid.NewString"} {
		require.Contains(t, found, want)
	}
	require.NotContains(t, found, "calls time.Second", "a constant")
}

func impurities(t *testing.T, file string) []string {
	t.Helper()
	return inspect(t, file, nil)
}

func inspect(t *testing.T, name string, src any) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	require.NoError(t, err)
	var found []string
	for _, imp := range f.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		require.NoError(t, err)
		if _, bad := forbidden[p]; bad || p == "sync" || p == "sync/atomic" {
			found = append(found, "import "+p)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if o := offence(n); o != "" {
			found = append(found, o)
		}
		return true
	})
	return found
}

func offence(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a go statement"
	case *ast.SelectStmt:
		return "a select statement"
	case *ast.SendStmt:
		return "sends on a channel"
	case *ast.ChanType:
		return "a channel type"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "receives from a channel"
		}
	case *ast.SelectorExpr:
		pkg, ok := n.X.(*ast.Ident)
		switch {
		case !ok:
		case pkg.Name == "time" && slices.Contains(clock, n.Sel.Name):
			return "calls time." + n.Sel.Name
		case pkg.Name == "uuid":
			return "names uuid." + n.Sel.Name
		case pkg.Name == "llmclient" && slices.Contains(clientTypes, n.Sel.Name):
			return fmt.Sprintf("names llmclient.%s", n.Sel.Name)
		}
	}
	return ""
}
