package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers are the packages of this module from the bottom up. A package imports only packages of
// lower layers, and so do tests that are part of it. External tests may import anything.
var layers = []struct {
	about    string
	packages []string
}{
	{"what all may use", []string{"internal/textcut", "internal/toolkey", "internal/waittest"}},
	{"what knows nothing of agents", []string{
		"internal/asktime", "internal/guard", "internal/jsonform", "internal/jsonprefix", "internal/prompts", "internal/prove", "internal/prove/installed", "internal/repeats", "internal/similar", "internal/wholefile", "markdownpolicy/internal/textscan", "tools/internal/boundschema", "tools/internal/schemamemo", "tools/internal/typeschema",
	}},
	{"readers of JSON and code in texts", []string{"markdownpolicy/internal/jsonscan", "markdownpolicy/internal/commonmark", "markdownpolicy/internal/reactscan"}},
	{"readers of JSON with mistakes", []string{"markdownpolicy/internal/jsonrepair"}},
	{"readers of Python", []string{"markdownpolicy/internal/pyliteral"}},
	{"conversations and journals as data", []string{"messages", "checkpoint"}},
	{"what strategies are given; what models can call", []string{"delegation", "tools", "checkpoint/checkpointtest", "checkpoint/internal/tables", "checkpoint/sealed", "internal/contentsize"}},
	{"formats of text; tools that are called", []string{"markdownpolicy", "tools/filetools", "internal/toolrun", "internal/owntool"}},
	{"the contract with models", []string{"llmclient"}},
	{"what clients of models share", []string{"llmclient/internal/wire"}},
	{"what clients of OpenAI's APIs share", []string{"llmclient/internal/openaiapi"}},
	{"clients of models", []string{"llmclient/openaichat", "llmclient/openairesponses", "llmclient/scripted", "llmclient/llmclienttest", "llmclient/policyclient"}},
	{"the protocol", []string{"nextstep"}},
	{"the contract of strategies", []string{"strategy"}},
	{"readers of plans, and Configs that strategies share", []string{"strategy/planreviseexecute/internal/plantext", "strategy/compaction", "strategy/toolsearch"}},
	{"what strategies are made of", []string{"strategy/internal/compact", "strategy/internal/search", "strategy/internal/verdict"}},
	{"what strategies share, and plans as data", []string{"strategy/internal/frame", "strategy/planreviseexecute/internal/planorder"}},
	{"strategies", []string{
		"strategy/completetask", "strategy/planreviseexecute", "strategy/reflection", "strategy/react", "strategy/retry",
		"strategy/reasonactobserve", "strategy/stepagent",
	}},
	{"compositions of strategies", []string{"strategy/workflow"}},
	{"strategies by name; a run as data", []string{"strategy/builtin", "machine"}},
	{"what is known of a run before it; readers of journals", []string{"machine/bound", "orchestrator/internal/journals"}},
	{"what is counted of runs", []string{"strategytest/coverage"}},
	{"the loop; everything that can happen to a run", []string{"orchestrator", "strategytest/explore"}},
	{"what stands on the loop", []string{".", "orchestrator/runs", "orchestrator/sse", "strategytest", "strategytest/crash", "internal/strategytest/alphabet"}},
	{"measures of agents", []string{"eval"}},
	{"what nobody imports but tests", []string{"internal/archtest", "internal/growth", "internal/pgtest", "internal/release", "internal/scenetest"}},
	{"what tests of stores share", []string{"checkpoint/internal/storetest"}},
}

// layerOf returns the layer of each package, the lowest first.
func layerOf() map[string]int {
	number := map[string]int{}
	for i, l := range layers {
		for _, p := range l.packages {
			number[p] = i
		}
	}
	return number
}

// imported is a package with the packages of this module that it and its internal tests import.
type imported struct {
	name    string
	imports []string
}

// listed returns the packages of this module as the go command reports them, without the programs
// of the guides.
func listed(t *testing.T) (list []imported) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath           string
			Imports, TestImports []string
		}
		err := packages.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		found := imported{name: short(p.ImportPath)}
		if strings.HasPrefix(found.name, "docs/") {
			continue
		}
		for _, i := range append(p.Imports, p.TestImports...) {
			if strings.HasPrefix(i+"/", module) {
				found.imports = append(found.imports, short(i))
			}
		}
		list = append(list, found)
	}
}

// short returns the path of a package in this module, or "." for the root package.
func short(path string) string {
	if path+"/" == module {
		return "."
	}
	return strings.TrimPrefix(path, module)
}

// Every package is in one layer, and every package of a layer exists.
func TestLayers_haveEveryPackage(t *testing.T) {
	var found, have []string
	for _, p := range listed(t) {
		found = append(found, p.name)
	}
	for _, l := range layers {
		have = append(have, l.packages...)
	}
	require.ElementsMatch(t, found, have)
}

func TestLayers_importDownwards(t *testing.T) {
	require.Empty(t, upwards(listed(t)))
}

// upwards returns the imports that do not go to a lower layer.
func upwards(list []imported) (offences []string) {
	number := layerOf()
	for _, p := range list {
		own, has := number[p.name]
		for _, i := range p.imports {
			if its, ok := number[i]; has && ok && i != p.name && its >= own {
				offences = append(offences, fmt.Sprintf("%s (%s) imports %s (%s)", p.name, layers[own].about, i, layers[its].about))
			}
		}
	}
	return offences
}

func TestFolders_haveNoCircle(t *testing.T) {
	require.Empty(t, circle(listed(t)))
}

// circle returns the top-level folders whose imports form a cycle.
func circle(list []imported) []string {
	needs := map[string]map[string]bool{}
	for _, p := range list {
		own := folder(p.name)
		if needs[own] == nil {
			needs[own] = map[string]bool{}
		}
		for _, i := range p.imports {
			if folder(i) != own {
				needs[own][folder(i)] = true
			}
		}
	}
	for removed := true; removed; {
		removed = false
		for name, others := range needs {
			if len(others) == 0 {
				removed = true
				delete(needs, name)
				for _, rest := range needs {
					delete(rest, name)
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(needs))
}

// folder returns the top-level folder of a package. Each folder below internal counts separately.
func folder(name string) string {
	first, rest, _ := strings.Cut(name, "/")
	if first == "internal" {
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
}

// TestLayers_find shows that these tests can fail.
func TestLayers_find(t *testing.T) {
	up := []imported{{"messages", []string{"tools"}}, {"tools", []string{"messages"}}, {"machine", []string{"strategy", "strategy/builtin"}}}
	require.Len(t, upwards(up), 2)
	require.Equal(t, []string{"messages", "tools"}, circle(up[:2]))
	require.Empty(t, circle(append(up[2:], imported{"strategy", nil})))
	long := []imported{{"tools/filetools", []string{"messages"}}, {"messages", []string{"internal/guard"}}, {"internal/guard", []string{"tools"}}}
	require.Equal(t, []string{"internal/guard", "messages", "tools"}, circle(append(long, imported{"tools", nil})))
}
