package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/segue-go/segue/"
	root   = "../.."
)

// allowed lists, for each package, the packages of the module and the third-party modules that it
// may import. The standard library is always allowed (but see the purity test). A package that is
// not listed may not exist.
var allowed = map[string][]string{
	"messages":                       {"internal/jsonform", "internal/textcut"},
	"checkpoint":                     {},
	"checkpoint/checkpointtest":      {"checkpoint", "pgregory.net/rapid"},
	"checkpoint/sealed":              {"checkpoint"},
	"checkpoint/internal/storetest":  {"checkpoint", "internal/waittest", "github.com/stretchr/testify"},
	"checkpoint/internal/tables":     {"checkpoint"},
	"delegation":                     {"messages", "internal/jsonform"},
	"tools":                          {"messages", "internal/guard", "internal/jsonform", "tools/internal/boundschema", "tools/internal/schemamemo", "tools/internal/typeschema", "github.com/google/jsonschema-go", "github.com/santhosh-tekuri/jsonschema/v6", "golang.org/x/text", "internal/textcut", "internal/toolkey"},
	"tools/filetools":                {"tools"},
	"llmclient":                      {"messages", "tools", "internal/contentsize", "golang.org/x/time"},
	"llmclient/openaichat":           {"messages", "tools", "llmclient", "llmclient/internal/openaiapi", "llmclient/internal/wire", "internal/jsonform", "github.com/openai/openai-go/v3"},
	"llmclient/openairesponses":      {"messages", "tools", "llmclient", "llmclient/internal/openaiapi", "llmclient/internal/wire", "internal/jsonform", "github.com/openai/openai-go/v3"},
	"llmclient/scripted":             {"messages", "tools", "llmclient", "internal/jsonform", "internal/textcut"},
	"llmclient/llmclienttest":        {"messages", "tools", "llmclient", "github.com/stretchr/testify", "go.uber.org/goleak"},
	"llmclient/policyclient":         {"messages", "tools", "llmclient", "markdownpolicy", "internal/prompts"},
	"nextstep":                       {"messages", "delegation", "llmclient", "internal/jsonform"},
	"strategy":                       {"internal/owntool", "messages", "delegation", "tools", "llmclient", "nextstep", "github.com/looplab/fsm"},
	"strategy/completetask":          {"messages", "delegation", "tools", "llmclient", "nextstep", "strategy", "strategy/internal/frame", "strategy/toolsearch", "internal/prompts", "strategy/compaction", "strategy/internal/compact", "strategy/internal/search"},
	"strategy/planreviseexecute":     {"internal/owntool", "messages", "delegation", "tools", "llmclient", "nextstep", "strategy", "strategy/internal/frame", "strategy/internal/verdict", "internal/prompts", "strategy/planreviseexecute/internal/plantext", "strategy/planreviseexecute/internal/planorder"},
	"strategy/react":                 {"messages", "delegation", "markdownpolicy", "tools", "llmclient", "nextstep", "strategy", "strategy/internal/frame", "strategy/toolsearch", "internal/prompts", "strategy/compaction", "strategy/internal/compact", "strategy/internal/search"},
	"strategy/reasonactobserve":      {"messages", "delegation", "markdownpolicy", "tools", "llmclient", "nextstep", "strategy", "strategy/internal/frame", "strategy/toolsearch", "internal/jsonform", "internal/prompts", "strategy/compaction", "strategy/internal/compact", "strategy/internal/search"},
	"strategy/compaction":            {},
	"strategy/reflection":            {"messages", "delegation", "tools", "llmclient", "nextstep", "strategy", "strategy/internal/frame", "strategy/internal/verdict", "internal/prompts"},
	"strategy/retry":                 {"messages", "delegation", "llmclient", "nextstep", "strategy", "strategy/internal/frame", "internal/prompts"},
	"strategy/toolsearch":            {},
	"strategy/workflow":              {"messages", "delegation", "tools", "nextstep", "strategy", "strategy/internal/frame", "strategy/internal/verdict", "strategy/retry"},
	"strategy/stepagent":             {"internal/owntool", "messages", "delegation", "tools", "llmclient", "nextstep", "strategy", "strategy/internal/frame", "internal/prompts"},
	"machine":                        {"messages", "delegation", "tools", "llmclient", "nextstep", "strategy", "internal/guard", "internal/jsonform", "internal/textcut"},
	"machine/bound":                  {"machine", "messages", "delegation", "llmclient", "nextstep", "strategy", "tools"},
	"orchestrator":                   {"machine", "machine/bound", "orchestrator/internal/journals", "checkpoint", "internal/asktime", "internal/guard", "internal/repeats", "internal/similar", "messages", "delegation", "tools", "llmclient", "markdownpolicy", "nextstep", "strategy", "github.com/google/uuid", "internal/textcut", "llmclient/policyclient", "internal/toolrun"},
	"orchestrator/internal/journals": {"checkpoint", "machine"},
	"orchestrator/runs":              {"messages", "delegation", "nextstep", "checkpoint", "machine", "orchestrator", "orchestrator/internal/journals", "github.com/google/uuid"},
	"eval":                           {".", "checkpoint", "delegation", "internal/similar", "internal/textcut", "llmclient", "machine", "messages", "orchestrator", "strategy/reflection", "tools"},
	"orchestrator/sse":               {"messages", "delegation", "nextstep", "checkpoint", "strategy", "machine", "orchestrator", "internal/guard", "internal/textcut"},
	"strategy/builtin":               {"llmclient", "tools", "strategy", "strategy/completetask", "strategy/planreviseexecute", "strategy/reflection", "strategy/retry", "strategy/react", "strategy/reasonactobserve", "strategy/workflow"},
	"strategytest/explore":           {"messages", "delegation", "tools", "llmclient", "nextstep", "strategy", "machine", "strategytest/coverage"},
	"internal/strategytest/alphabet": {"messages", "delegation", "tools", "llmclient", "nextstep", "strategy", "machine", "strategytest/explore", "strategy/completetask", "strategy/planreviseexecute", "strategy/react", "strategy/reasonactobserve", "strategy/reflection", "strategy/toolsearch"},
	"strategytest":                   {"strategytest/explore", "checkpoint", "messages", "delegation", "tools", "llmclient", "llmclient/scripted", "nextstep", "strategy", "strategytest/coverage", "machine", "orchestrator", "github.com/cockroachdb/datadriven", "github.com/stretchr/testify", "internal/toolrun"},
	"strategytest/coverage":          {"strategy", "machine"},
	"strategytest/crash":             {"checkpoint", "messages", "delegation", "tools", "llmclient", "nextstep", "strategy", "machine", "orchestrator", "internal/textcut", "internal/toolrun"},
	"internal/prompts":               {},
	"internal/repeats":               {"internal/textcut"},
	"internal/guard":                 {},
	"internal/asktime":               {},
	"internal/textcut":               {},
	"internal/toolkey":               {},
	"internal/owntool":               {"tools"},
	"internal/toolrun":               {"tools", "messages", "internal/asktime", "internal/guard", "internal/textcut", "internal/toolkey"},
	"internal/jsonform":              {},
	"internal/contentsize":           {"messages"},
	"internal/jsonprefix":            {},
	"internal/archtest":              {},
	"internal/growth":                {},
	"internal/pgtest":                {},
	"internal/prove":                 {},
	"internal/prove/installed":       {},
	"internal/release":               {},
	"internal/similar":               {},
	"internal/wholefile":             {},
	"internal/waittest":              {},
	"internal/scenetest":             {"messages", "delegation", "tools", "llmclient", "nextstep", "strategy"},
	".":                              {"messages", "delegation", "tools", "llmclient", "strategy", "strategy/compaction", "strategy/completetask", "machine", "orchestrator", "internal/guard", "internal/jsonform", "internal/jsonprefix", "internal/wholefile"},
	"strategy/planreviseexecute/internal/planorder": {"delegation", "strategy/planreviseexecute/internal/plantext"},
	"strategy/planreviseexecute/internal/plantext":  {},

	"strategy/internal/frame":            {"messages", "delegation", "tools", "llmclient", "nextstep", "strategy", "internal/prompts", "internal/repeats", "strategy/compaction", "strategy/internal/compact", "strategy/internal/search", "internal/textcut"},
	"strategy/internal/compact":          {"internal/textcut", "messages", "tools", "llmclient", "nextstep", "internal/prompts", "internal/contentsize", "strategy/compaction"},
	"strategy/internal/verdict":          {"delegation"},
	"strategy/internal/search":           {"messages", "tools", "internal/prompts", "strategy/toolsearch"},
	"tools/internal/boundschema":         {"github.com/santhosh-tekuri/jsonschema/v6"},
	"tools/internal/schemamemo":          {},
	"tools/internal/typeschema":          {"github.com/google/jsonschema-go"},
	"llmclient/internal/openaiapi":       {"llmclient", "llmclient/internal/wire", "github.com/openai/openai-go/v3"},
	"llmclient/internal/wire":            {"messages", "tools", "llmclient", "internal/jsonform", "internal/textcut"},
	"markdownpolicy":                     {"messages", "tools", "markdownpolicy/internal/commonmark", "markdownpolicy/internal/jsonrepair", "markdownpolicy/internal/jsonscan", "markdownpolicy/internal/pyliteral", "markdownpolicy/internal/reactscan", "markdownpolicy/internal/textscan"},
	"markdownpolicy/internal/commonmark": {"markdownpolicy/internal/textscan"},
	"markdownpolicy/internal/jsonrepair": {"markdownpolicy/internal/jsonscan", "markdownpolicy/internal/textscan"},
	"markdownpolicy/internal/jsonscan":   {"markdownpolicy/internal/textscan"},
	"markdownpolicy/internal/pyliteral":  {"markdownpolicy/internal/jsonrepair", "markdownpolicy/internal/jsonscan", "markdownpolicy/internal/textscan"},
	"markdownpolicy/internal/reactscan":  {"markdownpolicy/internal/textscan"},
	"markdownpolicy/internal/textscan":   {},
}

// coreModules are the third-party modules that a program gets with the orchestrator. No other
// module may be added.
var coreModules = []string{
	"github.com/google/jsonschema-go",
	"github.com/google/uuid",
	"github.com/looplab/fsm",
	"github.com/santhosh-tekuri/jsonschema/v6",
	"golang.org/x/text",
	"golang.org/x/time",
}

// TestImports checks the imports of every package, without tests, against the table.
func TestImports(t *testing.T) {
	for dir, files := range packages(t) {
		may, listed := allowed[dir]
		require.True(t, listed, "package %s is not in the table", dir)
		for _, file := range files {
			for _, imp := range imports(t, file) {
				if !strings.Contains(strings.Split(imp, "/")[0], ".") {
					continue // the standard library
				}
				short := strings.TrimPrefix(imp, module)
				if imp+"/" == module {
					short = "."
				}
				ok := slices.ContainsFunc(may, func(a string) bool {
					return a == short || strings.Contains(a, ".") && strings.HasPrefix(imp, a)
				})
				require.True(t, ok, "%s imports %s, which package %s may not", file, imp, dir)
			}
		}
	}
}

// TestCoreModules checks all imports of the orchestrator, direct and indirect, against the list, as
// the go command reports them.
func TestCoreModules(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./orchestrator")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(out)) {
		if m := strings.TrimSpace(line); m != "" && m+"/" != module {
			found = append(found, m)
		}
	}
	slices.Sort(found)
	require.Subset(t, coreModules, slices.Compact(found))
	require.Contains(t, found, "github.com/looplab/fsm", "the list is of the right package")
}

// packages returns the shipped Go files of each folder of this module, without nested modules and
// without the programs of the guides, which import what they show.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	nested := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || rel == "docs") {
				return fs.SkipDir
			}
			return nil
		}
		if d.Name() == "go.mod" && rel != "go.mod" {
			nested[path.Dir(rel)] = true
		}
		if strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, "_test.go") {
			found[path.Dir(rel)] = append(found[path.Dir(rel)], file)
		}
		return nil
	})
	require.NoError(t, err)
	for dir := range found {
		for n := range nested {
			if dir == n || strings.HasPrefix(dir, n+"/") {
				delete(found, dir)
			}
		}
	}
	require.Greater(t, len(found), 8, "the tree was found")
	return found
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	require.NoError(t, err)
	var paths []string
	for _, imp := range f.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		require.NoError(t, err)
		paths = append(paths, p)
	}
	return paths
}
