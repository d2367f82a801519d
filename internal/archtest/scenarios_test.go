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

const scenariosPage = root + "/docs/internal/scenarios.md"

// series are the series of scenarios, in the order of the page.
var series = []struct{ name, about string }{
	{"S0", "Strategies, steps, delegation"},
	{"S1", "Reflection, plans, ReAct, retry, streams"},
	{"S2", "Markdown policies"},
	{"S3", "Agents as steps"},
	{"S4", "Reason, act, observe"},
	{"W", "What providers send"},
}

// TestScenariosAreShown finds a test or a story for every scenario, by the numbers in its name, and
// compares docs/internal/scenarios.md with the result. With -rewrite it writes the page.
func TestScenariosAreShown(t *testing.T) {
	all, err := bearing()
	require.NoError(t, err)
	texts := scenarioTexts(t)
	for _, s := range texts {
		require.NotEmpty(t, all[s.scenario], "no test bears the number of %s", s)
	}
	page := scenarioPage(texts, all)
	if *rewrite {
		require.NoError(t, os.WriteFile(scenariosPage, []byte(page), 0o644)) //nolint:gosec // a document
	}
	have, err := os.ReadFile(scenariosPage)
	require.NoError(t, err)
	require.Equal(t, page, string(have), "%s is stale: run make generate", scenariosPage)
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

// described is a scenario with its text.
type described struct {
	scenario
	text string
}

// scenarioTexts returns all scenarios in order, from testdata/scenarios.txt. A line of the file is
// a number and a text.
func scenarioTexts(t *testing.T) (all []described) {
	t.Helper()
	file, err := os.ReadFile("testdata/scenarios.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(file)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		numbers := numbersIn(" " + name)
		require.Len(t, numbers, 1, line)
		require.NotEmpty(t, text, line)
		all = append(all, described{numbers[0], text})
	}
	return all
}

// scenarioPage returns the page that lists the scenarios.
func scenarioPage(texts []described, all map[scenario][]string) string {
	var b strings.Builder
	b.WriteString("<!-- Written by TestScenariosAreShown from internal/archtest/testdata/scenarios.txt and the names of tests; do not edit. -->\n\n# Scenarios\n\n")
	b.WriteString("The requirements of the library are numbered scenarios. The names of tests, and of stories in\n[testdata/stories](../../testdata/stories), contain these numbers.\n\nA scenario is *shown* if a test asserts everything in its text, and fails when the library is broken in the way that the last\ncolumn describes; `make breaks` repeats this. A scenario is *named* if tests have its number, but nobody has checked this: the\ntests may assert all of its text, or only a part.\n")
	for _, s := range series {
		fmt.Fprintf(&b, "\n## %s: %s\n\n| scenario | what holds | | tests | fails when |\n|---|---|---|---|---|\n", s.name, s.about)
		for _, d := range texts {
			if d.series == s.name {
				b.WriteString(scenarioRow(d, all[d.scenario]))
			}
		}
	}
	return b.String()
}

// scenarioRow returns a row of the page. The test that shows a scenario comes first.
func scenarioRow(s described, tests []string) string {
	state := "named"
	var fails []string
	for _, b := range breakages {
		if b.scenario != s.scenario {
			continue
		}
		folder, name, _ := strings.Cut(b.test, " ")
		first := "`" + folder + "` " + name
		tests = append([]string{first}, slices.DeleteFunc(slices.Clone(tests), func(t string) bool { return t == first })...)
		state, fails = "shown", append(fails, b.what)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", s, s.text, state, strings.Join(tests, ", "), strings.Join(fails, "; "))
}
