package archtest

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rewrite is the flag of the stories, with the name that package datadriven gives it.
var rewrite = flag.Bool("rewrite", false, "write the pages anew that tests generate")

const scenariosPage = root + "/docs/scenarios.md"

// series are the series of scenarios, and the number of scenarios of each.
var series = []struct {
	name  string
	count int
	about string
}{
	{"S0", 23, "Strategies, steps, delegation"},
	{"S1", 37, "Reflection, plans, ReAct, retry, streams"},
	{"S2", 22, "Markdown policies"},
	{"S3", 21, "Agents as steps"},
	{"S4", 27, "Reason, act, observe"},
	{"W", 17, "What providers send"},
}

// notBuilt says what is missing for some scenarios. No test shows them yet.
var notBuilt = map[scenario]string{}

// amended says what was changed of a scenario since it was written.
var amended = map[scenario]string{
	{"S3", 6}: "a finish reason of calls without a call is no error if there is a text: the text is the answer, and a notice\ntells it. Without a text the strategy asks once more, as far as its retries allow",
}

// TestScenariosAreShown finds a test or a story for every scenario, by the numbers in its name, and
// compares docs/scenarios.md with the result. With -rewrite it writes the page.
func TestScenariosAreShown(t *testing.T) {
	all, err := bearing()
	require.NoError(t, err)
	for _, s := range scenarios() {
		if notBuilt[s] != "" {
			require.Empty(t, all[s], "%s is built: take it from the list", s)
			continue
		}
		require.NotEmpty(t, all[s], "no test bears the number of %s", s)
	}
	page := scenarioPage(all)
	if *rewrite {
		require.NoError(t, os.WriteFile(scenariosPage, []byte(page), 0o644)) //nolint:gosec // a document
	}
	have, err := os.ReadFile(scenariosPage)
	require.NoError(t, err)
	require.Equal(t, page, string(have), "%s is stale: run make generate", scenariosPage)
}

func TestNumbersIn(t *testing.T) {
	for name, want := range map[string][]scenario{
		"_S1_6_S1_7_abort":  {{"S1", 6}, {"S1", 7}},
		"_W17_conversation": {{"W", 17}},
		"/S0-1-S0-2-a.txt":  {{"S0", 1}, {"S0", 2}},
		" W-3 twice":        {{"W", 3}},
		"_Width":            nil,
		"_HTTPS2_1":         nil,
	} {
		require.Equal(t, want, numbersIn(name), name)
	}
}

// number matches the numbers of scenarios in the names of tests (S1_13, W3), of stories and of
// subtests (S1-13, W-3).
var number = regexp.MustCompile(`(?:^|[^A-Za-z0-9])(S[0-4]|W)[-_]?(\d{1,2})(?:[^0-9]|$)`)

// scenario is a number: its series and its index there.
type scenario struct {
	series string
	n      int
}

func (s scenario) String() string { return s.series + "-" + strconv.Itoa(s.n) }

// numbersIn returns the scenarios in a name.
func numbersIn(name string) []scenario {
	var found []scenario
	for name != "" {
		m := number.FindStringSubmatchIndex(name)
		if m == nil {
			break
		}
		n, _ := strconv.Atoi(name[m[4]:m[5]])
		found = append(found, scenario{name[m[2]:m[3]], n})
		name = name[m[5]:]
	}
	return found
}

// bearing returns for each scenario the tests and stories with its number.
func bearing() (map[scenario][]string, error) {
	found := map[scenario]map[string]bool{}
	add := func(where string, list []scenario) {
		for _, s := range list {
			if found[s] == nil {
				found[s] = map[string]bool{}
			}
			found[s][where] = true
		}
	}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		short := strings.TrimPrefix(filepath.ToSlash(file), root+"/")
		switch {
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin"):
			return filepath.SkipDir
		case strings.HasPrefix(short, "testdata/stories/") && strings.HasSuffix(short, ".txt"):
			add("story `"+strings.TrimPrefix(short, "testdata/stories/")+"`", numbersIn("/"+path.Base(short)))
		case strings.HasSuffix(short, "_test.go") && !strings.HasPrefix(short, "internal/archtest/"):
			return scan(file, func(test string, list []scenario) { add("`"+path.Dir(short)+"` "+test, list) })
		}
		return nil
	})
	all := map[scenario][]string{}
	for s, where := range found {
		all[s] = slices.Sorted(maps.Keys(where))
	}
	return all, err
}

// scan finds the scenarios in the names of the tests of a file, and of their subtests.
func scan(file string, found func(test string, list []scenario)) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range parsed.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") && !strings.HasPrefix(fn.Name.Name, "Example") {
			continue
		}
		name := fn.Name.Name
		found(name, numbersIn("_"+strings.NewReplacer("Test", "_", "Example_", "_").Replace(name)))
		ast.Inspect(fn, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && subtest.MatchString(text) {
					found(name, numbersIn(" "+text))
				}
			}
			return true
		})
	}
	return nil
}

// subtest matches the beginning of the name of a subtest with a number.
var subtest = regexp.MustCompile(`^(S[0-4]|W)-\d{1,2}\b`)

// scenarios returns all scenarios, in order.
func scenarios() (all []scenario) {
	for _, s := range series {
		for n := range s.count {
			all = append(all, scenario{s.name, n + 1})
		}
	}
	return all
}

// scenarioPage returns the page that lists them.
func scenarioPage(all map[scenario][]string) string {
	var b strings.Builder
	b.WriteString("<!-- Written by TestScenariosAreShown from the names of tests; do not edit. -->\n\n# Scenarios\n\n")
	b.WriteString("The requirements of the library were written as numbered scenarios before it was built. The names of tests, and of stories in\n[testdata/stories](../testdata/stories), contain these numbers.\n\nA scenario is *shown* if a test asserts everything in its text, and fails when the library is broken in the way that the last\ncolumn describes; `make breaks` repeats this. A scenario is *named* if tests have its number, but nobody has checked this: the\ntests may assert all of its text, or only a part.\n")
	for _, s := range scenarios() {
		if what := amended[s]; what != "" {
			fmt.Fprintf(&b, "\n%s was amended: %s.\n", s, what)
		}
	}
	for _, s := range series {
		fmt.Fprintf(&b, "\n## %s: %s\n\n| scenario | | tests | fails when |\n|---|---|---|---|\n", s.name, s.about)
		for n := range s.count {
			b.WriteString(scenarioRow(scenario{s.name, n + 1}, all))
		}
	}
	return b.String()
}

// scenarioRow returns a row of the page. The test that shows a scenario comes first.
func scenarioRow(s scenario, all map[scenario][]string) string {
	tests, state := all[s], "named"
	var fails []string
	for _, b := range breakages {
		if b.scenario != s {
			continue
		}
		folder, name, _ := strings.Cut(b.test, " ")
		first := "`" + folder + "` " + name
		tests = append([]string{first}, slices.DeleteFunc(slices.Clone(tests), func(t string) bool { return t == first })...)
		state, fails = "shown", append(fails, b.what)
	}
	if why := notBuilt[s]; why != "" {
		return fmt.Sprintf("| %s | | %s | |\n", s, why)
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", s, state, strings.Join(tests, ", "), strings.Join(fails, "; "))
}
