package search_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/internal/search"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

// office are the tools of most tests.
var office = []tools.Definition{
	{Name: "send_mail", Description: "Sends a letter to people.", Parameters: json.RawMessage(`{"type":"object","properties":{"recipient":{},"body":{}}}`)},
	{Name: "readFile", Description: "Reads a file of the project."},
	{Name: "HTTPGet", Description: "Fetches a page of the web."},
	{Name: "weather", Description: "查询天气：返回城市的天气预报。"},
	{Name: "kaffee", Description: "Kocht Kaffee für mehrere Gäste, auch mit Öl."},
	{Name: "list_files", Description: "Lists the files of the project."},
}

func start(t *testing.T, c toolsearch.Config, defs []tools.Definition, o search.Options) *search.Search {
	t.Helper()
	plan, err := search.Compile(c, "p", nil)
	require.NoError(t, err)
	s, err := plan.Start("p", defs, o)
	require.NoError(t, err)
	return s
}

func query(text string) messages.ToolCall {
	arguments, _ := json.Marshal(map[string]string{"query": text})
	return messages.ToolCall{ID: "c", Name: toolsearch.DefaultName, Arguments: string(arguments)}
}

func names(defs []tools.Definition) (list []string) {
	for _, d := range defs {
		list = append(list, d.Name)
	}
	return list
}

// found returns what a search finds, in a new frame.
func found(t *testing.T, text string) []string {
	t.Helper()
	s := start(t, toolsearch.Config{Above: 1}, office, search.Options{})
	require.Len(t, s.Answers([]messages.ToolCall{query(text)}), 1)
	return s.Found()
}

func TestSearch_finds(t *testing.T) {
	for text, want := range map[string][]string{
		"send":                           {"send_mail"},
		"I need a tool to send a letter": {"send_mail"},
		"recipient":                      {"send_mail"},
		"mailing":                        {"send_mail"},
		"file":                           {"readFile", "list_files"},
		"list the files":                 {"list_files", "readFile"},
		"readfile":                       {"readFile"},
		"http":                           {"HTTPGet"},
		"get page":                       {"HTTPGet"},
		"天气":                             {"weather"},
		"天":                              {"weather"},
		"ÖL":                             {"kaffee"},
		"gäste":                          {"kaffee"},
		"the project":                    {"readFile", "list_files"},
		"unicorn":                        nil,
		"!?":                             nil,
	} {
		require.Equal(t, want, found(t, text), text)
	}
}

// Whatever it says, a query that is the name of a tool finds it first.
func TestSearch_exactName(t *testing.T) {
	defs := []tools.Definition{{Name: "a_b", Description: "a a a b b b"}, {Name: "b"}, {Name: "B_a_b"}, {Name: "the"}}
	for _, d := range defs {
		s := start(t, toolsearch.Config{Above: 1, Results: 1}, defs, search.Options{})
		s.Answers([]messages.ToolCall{query(" " + strings.ToUpper(d.Name) + " ")})
		require.Equal(t, []string{d.Name}, s.Found())
	}
}

func TestSearch_offers(t *testing.T) {
	c := toolsearch.Config{Above: 3, Pinned: []string{"weather", "not_here"}, Results: 1}
	s := start(t, c, office, search.Options{Always: []string{"kaffee", "weather", "nor_here"}})
	require.True(t, s.Active())
	first := s.Offered()
	require.Equal(t, []string{"weather", "kaffee", "search_tools"}, names(first))
	require.Contains(t, first[2].Description, "4 tools are not listed here")
	require.Nil(t, s.News(0))

	out := s.Answers([]messages.ToolCall{query("list files")})
	require.Equal(t, []messages.ToolOutput{{
		CallID: "c", ToolName: "search_tools", Status: messages.StatusOK,
		Output: "These tools were found. They can be called from now on:\n- list_files: Lists the files of the project.",
	}}, out)
	require.Equal(t, "tools found: list_files", *s.News(0))
	s.Answers([]messages.ToolCall{query("send mail")})
	s.Answers([]messages.ToolCall{query("files list")})
	require.Equal(t, []string{"weather", "kaffee", "search_tools", "list_files", "send_mail"}, names(s.Offered()))
	require.Equal(t, "tools found: send_mail", *s.News(1))
	require.Equal(t, []string{"weather", "kaffee", "search_tools"}, names(first))
	require.Len(t, s.Callable(), len(office)+1)

	again := start(t, c, office, search.Options{Always: []string{"kaffee"}})
	require.NoError(t, again.Restore(s.Found()))
	require.Equal(t, s.Offered(), again.Offered())
	require.ErrorContains(t, again.Restore([]string{"send_mail"}), `"send_mail", which the frame may not use or which is offered anyway`)
	require.ErrorContains(t, again.Restore([]string{"nothing"}), `"nothing"`)
}

// A result that is kept says how to read on, so the tool that reads must be there.
func TestSearch_readResultIsOffered(t *testing.T) {
	defs := append(slices.Clip(office), tools.Definition{Name: tools.ReadResultName})
	s := start(t, toolsearch.Config{Above: 1, Pinned: []string{"weather"}}, defs, search.Options{Always: []string{"kaffee"}})
	require.Equal(t, []string{"weather", "kaffee", "read_result", toolsearch.DefaultName}, names(s.Offered()))
	require.False(t, s.Own(messages.ToolCall{Name: "read_result"}))
}

// Without enough tools everything is offered, and nothing is answered.
func TestSearch_off(t *testing.T) {
	for name, c := range map[string]toolsearch.Config{
		"few tools": {}, "never": {Above: -1}, "all pinned": {Above: 1, Pinned: names(office)},
	} {
		s := start(t, c, office, search.Options{})
		require.False(t, s.Active(), name)
		require.Equal(t, office, s.Offered(), name)
		require.Equal(t, office, s.Callable(), name)
		calls := []messages.ToolCall{query("mail"), {ID: "d", Name: "send_mail"}}
		require.Equal(t, calls, s.Rest(calls), name)
		require.Empty(t, s.Answers(calls), name)
		require.NoError(t, s.Restore(nil), name)
		require.Error(t, s.Restore([]string{"send_mail"}), name)
	}
	var none *search.Search
	require.Empty(t, none.Offered())
	require.Empty(t, none.Found())
	require.False(t, none.Own(query("mail")))
}

// A tool that exists and was not offered yet is found by its call, which is not run. The other
// calls of the reply are, and the results are in the order of the calls.
func TestSearch_earlyCall(t *testing.T) {
	s := start(t, toolsearch.Config{Above: 1, Pinned: []string{"weather"}}, office, search.Options{})
	calls := []messages.ToolCall{
		{ID: "1", Name: "weather"}, {ID: "2", Name: "send_mail"}, {ID: "3", Name: "no_such_tool"}, query("mail"), {ID: "4", Name: "send_mail"},
	}
	require.Equal(t, []messages.ToolCall{calls[0], calls[2]}, s.Rest(calls))
	out := s.Complete(calls, []messages.ToolOutput{{CallID: "1"}, {CallID: "3"}})
	require.Len(t, out, 5)
	for i, c := range calls {
		require.Equal(t, c.ID, out[i].CallID)
	}
	require.Equal(t, search.ReasonEarly, out[1].Reason)
	require.Contains(t, out[1].Output, "This call was not run")
	require.Contains(t, out[1].Output, "- send_mail: Sends a letter")
	require.Equal(t, search.ReasonEarly, out[4].Reason, "it was not offered when the call was made")
	require.Equal(t, []string{"send_mail"}, s.Found())
	require.Equal(t, calls[1:3], s.Rest(calls[1:3]))
}

// In a text format the results describe the tools in full.
func TestSearch_written(t *testing.T) {
	s := start(t, toolsearch.Config{Above: 1, Results: 1}, office, search.Options{Written: true})
	out := s.Answers([]messages.ToolCall{query("mail"), {ID: "d", Name: "HTTPGet"}})
	require.Contains(t, out[0].Output, `Arguments, as a JSON Schema: {"type":"object","properties":{"recipient":{},"body":{}}}`)
	require.Contains(t, out[1].Output, `Arguments, as a JSON Schema: {"type":"object","properties":{}}`)
}

func TestSearch_withoutQuery(t *testing.T) {
	s := start(t, toolsearch.Config{Above: 1}, office, search.Options{})
	for _, arguments := range []string{"", "{}", `{"query":"  "}`, `{"query":3}`, `{"que`, "null"} {
		out := s.Answers([]messages.ToolCall{{ID: "c", Name: "search_tools", Arguments: arguments}})
		require.Equal(t, messages.StatusFailed, out[0].Status, arguments)
		require.Equal(t, tools.ReasonArguments, out[0].Reason)
	}
	out := s.Answers([]messages.ToolCall{query("unicorn\n\"")})
	require.Equal(t, messages.StatusOK, out[0].Status)
	require.Contains(t, out[0].Output, `No tool fits "unicorn "". There are 6 tools`)
	require.Empty(t, s.Found())
}

func TestConfig_mistakes(t *testing.T) {
	_, err := search.Compile(toolsearch.Config{
		Name: "a b", Results: -1, Pinned: []string{"x", "x", "y"}, Prompts: toolsearch.Prompts{Found: "{{.Nothing}}"},
	}, "p", []string{"x"})
	for _, want := range []string{
		`p: Search: the Name "a b"`, "p: Search: Results is -1", `p: Search: Pinned names "x" more than once`,
		`p: Search: Pinned names "y", which is not among the Tools`, "p: Search: Prompts: ",
	} {
		require.ErrorContains(t, err, want)
	}
	plan, err := search.Compile(toolsearch.Config{Name: "weather", Above: 2}, "p", nil)
	require.NoError(t, err)
	_, err = plan.Start("p", office, search.Options{})
	require.EqualError(t, err, `p: Search: the run has a tool "weather" of its own: give the search another Name`)
	_, err = plan.Start("p", office[2:4], search.Options{})
	require.NoError(t, err, "nothing is searched for")
}

// Ten thousand tools and descriptions of ten megabytes are read in part, once.
func TestSearch_hugeTools(t *testing.T) {
	defs := make([]tools.Definition, 10_000)
	long := strings.Repeat("lorem ipsum dolor ", 600_000)
	schema := json.RawMessage(long)
	for i := range defs {
		defs[i] = tools.Definition{
			Name: fmt.Sprintf("tool_%d", i), Description: long, Parameters: schema,
		}
	}
	defs[7_000].Description = "Finds the needle. " + long
	s := start(t, toolsearch.Config{}, defs, search.Options{Written: true})
	out := s.Answers([]messages.ToolCall{query("needle " + long)})
	more := s.Answers([]messages.ToolCall{query("tool lorem"), query(long), query("needle")})
	require.Equal(t, "tool_7000", s.Found()[0])
	for _, o := range append(out, more...) {
		require.Less(t, len(o.Output), 32<<10)
	}
}

// For any tools and any calls: the results answer the Own calls in order, what is offered only
// grows at its end, a Search that is restored goes on in the same way, and no text is longer than
// allowed.
func TestSearch_laws(t *testing.T) {
	word := rapid.SampledFrom([]string{"mail", "Mail", "file", "天気", "x", "é", "\xff", "\n", "the", "a"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 0, 5).Draw(t, "words"), rapid.SampledFrom([]string{" ", "_", ""}).Draw(t, "by"))
	})
	rapid.Check(t, func(t *rapid.T) {
		var defs []tools.Definition
		for i := range rapid.IntRange(0, 8).Draw(t, "tools") {
			defs = append(defs, tools.Definition{Name: fmt.Sprint("t", i), Description: text.Draw(t, "description")})
		}
		c := toolsearch.Config{
			Above: rapid.IntRange(-1, 3).Draw(t, "above"), Results: rapid.IntRange(0, 2).Draw(t, "results"),
			Pinned: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"t0", "t5", "gone"}), 0, 2, rapid.ID[string]).Draw(t, "pinned"),
		}
		plan, err := search.Compile(c, "p", nil)
		require.NoError(t, err)
		s, err := plan.Start("p", defs, search.Options{})
		require.NoError(t, err)
		for range rapid.IntRange(1, 4).Draw(t, "replies") {
			var calls []messages.ToolCall
			for i := range rapid.IntRange(1, 4).Draw(t, "calls") {
				call := query(text.Draw(t, "query"))
				if rapid.Bool().Draw(t, "of another tool") {
					call = messages.ToolCall{Name: fmt.Sprint("t", rapid.IntRange(0, 9).Draw(t, "tool"))}
				}
				call.ID = fmt.Sprint(i)
				calls = append(calls, call)
			}
			twin, err := plan.Start("p", defs, search.Options{})
			require.NoError(t, err)
			require.NoError(t, twin.Restore(s.Found()))

			earlier, rest := s.Offered(), s.Rest(calls)
			kept := slices.Clone(names(earlier))
			var results []messages.ToolOutput
			for _, c := range rest {
				results = append(results, messages.ToolOutput{CallID: c.ID})
			}
			all := s.Complete(calls, results)
			require.Len(t, all, len(calls))
			for i := range calls {
				require.Equal(t, calls[i].ID, all[i].CallID)
				require.Less(t, len(all[i].Output), 2000)
			}
			require.Equal(t, kept, names(earlier))
			require.Equal(t, kept, names(s.Offered()[:len(kept)]))
			require.LessOrEqual(t, len(s.Offered()), len(defs)+1)
			require.Equal(t, all, twin.Complete(calls, results))
			require.Equal(t, s.Offered(), twin.Offered())
		}
	})
}
