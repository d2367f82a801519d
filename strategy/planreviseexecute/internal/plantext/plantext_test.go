package plantext_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/internal/growth"
	"github.com/segue-go/segue/strategy/planreviseexecute/internal/plantext"
)

// planText is a text and its steps.
type planText struct {
	name string
	text string
	want []string
}

func readAll(t *testing.T, cases []planText) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := plantext.Parse(c.text)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			got, err = plantext.Parse(strings.ReplaceAll(c.text, "\n", "\r\n"))
			require.NoError(t, err)
			require.Equal(t, c.want, got, "with the line ends of Windows")
		})
	}
}

func TestS1_17_steps_of_plan_texts(t *testing.T) {
	readAll(t, []planText{
		{"parentheses", "1) a\n2) b", []string{"a", "b"}},
		{"labels", "Step 1: a\nStep 2: b", []string{"a", "b"}},
		{"bold with a detail", "**1. a**\n   - detail\n**2. b**", []string{"a\n- detail", "b"}},
		{"indented by turns", "1. a\n\n    2. b\n\n3. c", []string{"a", "b", "c"}},
		{"bullets", "- a\n- b", []string{"a", "b"}},
		{"fenced list", "```json\n[\"a\",\"b\"]\n```", []string{"a", "b"}},
		{"fenced object", "```\n{\"steps\":[{\"description\":\"a\"}]}\n```", []string{"a"}},
		{"numbers in a fence", "Run:\n```\n1. x\n2. y\n```", []string{"Run:\n```\n1. x\n2. y\n```"}},
		{"a step with numbers in a fence", "1. a\n```\n2. x\n```\n2. b", []string{"a\n```\n2. x\n```", "b"}},
		{"wrapped lines", "1. a and\nthen b\n2. c and\n   then d", []string{"a and then b", "c and then d"}},
		{"no list", "  Just do it.\nNow.  ", []string{"Just do it.\nNow."}},
		{"a refusal", "I cannot plan this. What is the goal?", []string{"I cannot plan this. What is the goal?"}},
	})
}

func TestS1_17_nothing_to_read(t *testing.T) {
	for _, text := range []string{
		"", " \r\n\t", "<think>1. a\n2. b</think>", "<think>cut off",
		"[]", `{"steps":[]}`, "Here:\n```json\n{\"plan\":{\"steps\":[]}}\n```",
	} {
		steps, err := plantext.Parse(text)
		var problem *plantext.Error
		require.ErrorAs(t, err, &problem, text)
		require.ErrorContains(t, err, "plantext: "+problem.Problem)
		require.Empty(t, steps)
	}
}

func TestParse_markers(t *testing.T) {
	readAll(t, []planText{
		{"headings", "# Plan\n\n## Step 1: a\n\nx\n\n## Step 2 - b\n\ny", []string{"a\nx", "b\ny"}},
		{"headings with numbers", "### 1. a ###\nx\n### **2. b**\n#### y\n### Notes\n- z", []string{"a\nx", "b\n#### y"}},
		{"headings with emoji", "## 🔍 1. a\n## 🛠️ 2. b", []string{"a", "b"}},
		{"headings with labels alone", "## Step 1\na\n## Step 2\nb", []string{"a", "b"}},
		{"phases with steps", "**Phase 1: A**\n1. a\n2. b\n\n**Phase 2: B**\n1. c", []string{"A\n1. a\n2. b", "B\n1. c"}},
		{"bold labels", "**Step 1:** a\n**Step 2**: b\n**Step 3: c** - d\n**Step 4.** e\nSTEP 5) f", []string{"a", "b", "c - d", "e", "f"}},
		{"bold numbers", "**1.** **a**: x\n**2.** b", []string{"a: x", "b"}},
		{"bold titles", "1. **a**: x\n2. **b** y **z**\n3. *c*", []string{"a: x", "b y **z**", "c"}},
		{"asterisks that are text", "1. **kwargs and **opts\n2. __init__ and _x_\n3. 2 * 3", []string{"**kwargs and **opts", "__init__ and _x_", "2 * 3"}},
		{"labels behind bullets", "- Step 1: a\n  - x\n- Step 2: b", []string{"a\n- x", "b"}},
		{"check boxes", "- [ ] a\n- [x] b\n* [X] c", []string{"a", "b", "c"}},
		{"every bullet", "- a\n* b\n• c\n+ d", []string{"a", "b", "c", "d"}},
		{"numbers in parentheses", "(1) a\n(2) b", []string{"a", "b"}},
		{"no markers", "1. a\n2. b costs\n1.5 times c\n2.x is old\n2024. It was", []string{"a", "b costs\n1.5 times c\n2.x is old\n2024. It was"}},
		{"other digits", "١. a\n٢. b", []string{"١. a\n٢. b"}},
		{"text on the next line", "1.\na\n2.\n   b\n-", []string{"a", "b\n-"}},
		{"blank items", "1. a\n2.\n3. c", []string{"a", "c"}},
		{"table", "| 1. | a |\n|---|---|\n| 2. | b |", []string{"| 1. | a |\n|---|---|\n| 2. | b |"}},
		{"a number behind the lead", "Plan: 1. a\n2. b", []string{"a", "b"}},
		{"a number behind a sentence", "This is the plan. 1) a\n\n2) b", []string{"a", "b"}},
		{"a number in an item", "1. a of\nsection 1. of x\n2. b", []string{"a of section 1. of x", "b"}},
		{"indented list", "  - a\n  - b", []string{"a", "b"}},
		{"tabs", "1.\ta\n\t- x\n2.\tb", []string{"a\n- x", "b"}},
	})
}

func TestParse_details(t *testing.T) {
	readAll(t, []planText{
		{"sections", "1. a\n1.1 x\n1.2 y\n2. b", []string{"a\n1.1 x\n1.2 y", "b"}},
		{"sections with labels", "Step 1: a\nStep 1.1: x\nStep 2: b", []string{"a\nStep 1.1: x", "b"}},
		{"sections after a blank line", "1. a\n\n   1.1. x\n   1.2. y\n\n2. b", []string{"a\n1.1. x\n1.2. y", "b"}},
		{"letters", "1. a\n   a) x\n   b) y\n   (ii) z\n2. b", []string{"a\na) x\nb) y\n(ii) z", "b"}},
		{"names", "1. a\n   Tool: x\n   **Expected result:** y\n2. b", []string{"a\nTool: x\n**Expected result:** y", "b"}},
		{"nested numbers", "1. a\n   1. x\n   2. y\n2. b\n   1. z\n3. c", []string{"a\n1. x\n2. y", "b\n1. z", "c"}},
		{"nested bullets", "- a\n  - x\n    - xx\n- b", []string{"a\n- x\n  - xx", "b"}},
		{"bullets that are not indented", "1. a:\n- x\n- y\n\n2. b:\n- z\n\nDone.\n\n- Not this.", []string{"a:\n- x\n- y", "b:\n- z"}},
		{"titles", "1. **a**\n   x\n2. b  \n   y\n3. c\nLonger than the item.", []string{"a\nx", "b\ny", "c\nLonger than the item."}},
		{"paragraphs", "1. a\n\n   x\n   y\n\n2. b", []string{"a\nx\ny", "b"}},
		{"paragraphs that are not indented", "1. a\n\nx\n\n2. b\n\ny\n\nClosing remark.", []string{"a\nx", "b\ny"}},
		{"a step alone", "**Step 1: a**\n\nx\n\ny", []string{"a\nx\ny"}},
		{"closing remark", "I will do this:\n\n1. a\n2. b\n\nShall I?", []string{"a", "b"}},
		{"code", "1. a:\n\n```sh\nmake\n\n  all\n```\n\n2. b:\n\n```sh\nls\n```\n\nDone.", []string{"a:\n```sh\nmake\n\n  all\n```", "b:\n```sh\nls\n```"}},
		{"colons", "1. a:\n\nx:\n\n- xx\n\n2. b\n\ny:\n\n- yy\n\nDone.", []string{"a:\nx:\n- xx", "b\ny:\n- yy"}},
		{"indented code", "1. a\n   ```\n   1. x\n     y\n   ```\n2. b", []string{"a\n```\n1. x\n  y\n```", "b"}},
		{"longer fences", "1. a\n````\n```\n2. x\n```\n````\n2. b", []string{"a\n````\n```\n2. x\n```\n````", "b"}},
		{"tildes", "1. a\n~~~\n```\n2. x\n~~~\n2. b", []string{"a\n~~~\n```\n2. x\n~~~", "b"}},
		{"what is no fence", "1. a\n```x``` y\n2. b", []string{"a\n```x``` y", "b"}},
		{"a fence without an end", "1. a\n2. b\n```\n3. x", []string{"a", "b\n```\n3. x"}},
		{"table", "1. a\n   | x | y |\n   | 1 | 2 |\n2. b", []string{"a\n| x | y |\n| 1 | 2 |", "b"}},
		{"subtitles", "**Step 1: a**\n\n**Why:**\n- x\n\n**Step 2: b**\n\n**Why:**\n- y", []string{"a\n**Why:**\n- x", "b\n**Why:**\n- y"}},
		{"tags", "<plan>\n1. a\n2. b\n</plan>\nDone.", []string{"a", "b"}},
		{"breaks", "1. a\n2. b\n---\nx", []string{"a", "b"}},
	})
}

func TestParse_best_list(t *testing.T) {
	readAll(t, []planText{
		{"not below an offer", "1. a\n2. b\n\nIf you approve of this plan, I can also do:\n- x\n- y", []string{"a", "b"}},
		{"numbers before bullets", "- x\n- y\n- z\n\n1. a\n2. b", []string{"a", "b"}},
		{"the longer", "- x\n\nThen there is this:\n\n- a\n- b", []string{"a", "b"}},
		{"the first of the same length", "Some things:\n1. a\n2. b\n\nSome other things too:\n1. x\n2. y", []string{"a", "b"}},
		{"the parts of a plan", "### Set up\n1. a\n2. b\n### Build\n1. c", []string{"a", "b", "c"}},
		{"numbers that go on", "### Set up\n1. a\n2. b\n### Build\n3. c", []string{"a", "b", "c"}},
		{"numbers that go on within labels", "Step 1: a\n\nDo:\n1. x\n2. y\n3. z\n\nStep 2: b\n\nDo:\n4. z", []string{"a\nDo:\n1. x\n2. y\n3. z", "b\nDo:\n4. z"}},
		{"numbers with gaps", "2. a\n4. b", []string{"a", "b"}},
		{"all numbers 1", "1. a\n1. b\n1. c", []string{"a", "b", "c"}},
		{"numbers that start again", "1. x\n2. y\n1. a\n2. b\n3. c", []string{"a", "b", "c"}},
		{"a lone number", "My plan.\n\n1. a", []string{"a"}},
		{"a lone bullet in prose", "I will look.\n\n- It may be large.", []string{"I will look.\n\n- It may be large."}},
		{"thoughts", "<think>\n1. x\n2. y\n</think>\n- a\n- b", []string{"a", "b"}},
		{"a tag in a step", "1. Remove </think> tags\n2. b", []string{"Remove </think> tags", "b"}},
		{"all in a fence of Markdown", "```markdown\n1. a\n2. b\n```", []string{"a", "b"}},
	})
}

func TestParse_json(t *testing.T) {
	readAll(t, []planText{
		{"every key", `[{"goal":"a"},{"title":"b"},{"name":"c"},{"task":"d"},{"step":"e"},{"text":"f"},{"description":"g"}]`, []string{"a", "b", "c", "d", "e", "f", "g"}},
		{"goal and details", `{"steps":[{"id":1,"title":"a","description":"x","substeps":["y",{"goal":"z"}]},{"step":2,"description":"b"}]}`, []string{"a\nx\n- y\n- z", "b"}},
		{"outer key", `{"plan":{"steps":["a"]}}`, []string{"a"}},
		{"plan as a list", "{\n  \"plan\": [\n    \"a\",\n    \"b\"\n  ]\n}", []string{"a", "b"}},
		{"open in the text", "I propose:\n\n[\n\"a\",\n\"b\"\n]\n\nShall I?", []string{"a", "b"}},
		{"a list in a sentence", `Call f(["a", "b"]) and g([]).`, []string{`Call f(["a", "b"]) and g([]).`}},
		{"another tool call", `{"name":"f","arguments":"{\"a\":1}"}`, []string{`{"name":"f","arguments":"{\"a\":1}"}`}},
		{"numbers before a list", "1. a\n2. b\n\nData:\n\n```json\n[\"x\",\"y\",\"z\"]\n```", []string{"a", "b"}},
		{"in an item", "1. Send:\n   ```json\n   {\"steps\":[\"x\"]}\n   ```\n2. b", []string{"Send:\n```json\n{\"steps\":[\"x\"]}\n```", "b"}},
		{"between items", "1. Send:\n\n```json\n{\"steps\":[\"x\"]}\n```\n\n2. b", []string{"Send:\n```json\n{\"steps\":[\"x\"]}\n```", "b"}},
		{"no plan", "{\"a\":1}", []string{"{\"a\":1}"}},
		{"not all are steps", "[\"a\",{\"x\":1}]", []string{"[\"a\",{\"x\":1}]"}},
		{"numbers", "[1,2]", []string{"[1,2]"}},
		{"broken", "{\"steps\":[\"a\",", []string{"{\"steps\":[\"a\","}},
	})
}

// A numbered list of goals of one line is read as it was written.
func TestParse_round_trip(t *testing.T) {
	goal := rapid.StringMatching(`[A-Za-z][A-Za-z0-9 ,.()'-]{0,40}[a-z]`).Filter(func(s string) bool {
		return !strings.Contains(strings.ToLower(s), "step") && !strings.Contains(s, "  ")
	})
	rapid.Check(t, func(t *rapid.T) {
		goals := rapid.SliceOfN(goal, 1, 30).Draw(t, "goals")
		mark := rapid.SampledFrom([]string{"%d. ", "%d) ", "Step %d: ", "**%d.** ", "### %d. "}).Draw(t, "mark")
		between := rapid.SampledFrom([]string{"\n", "\n\n", "\r\n"}).Draw(t, "between")
		var b strings.Builder
		b.WriteString(rapid.SampledFrom([]string{"", "Here it is:\n\n", "Plan:\n"}).Draw(t, "lead"))
		for i, g := range goals {
			b.WriteString(strings.Replace(mark, "%d", strconv.Itoa(i+1), 1) + g + between)
		}
		got, err := plantext.Parse(b.String())
		require.NoError(t, err)
		require.Equal(t, goals, got, b.String())
	})
}

// planWords are the pieces of texts that look like plans.
var planWords = []string{
	"\n", "\n\n", "\r\n", " ", "   ", "\t", "a ", "b", "1. ", "2. ", "3) ", "10. ", "1.1 ", "Step 1: ", "**Step 2", "**", "*", "- ", "* ", "• ",
	"[ ] ", "#", "## ", "```", "~~~~", "json", "[", "]", "{", "}", `"steps":`, `"goal":"x"`, ",", `"`, `\"`, ":", "Plan:", "Notes:", "---", "|", "<think>",
	"</think>", "<plan>", "</plan>", "Phase 1", "(1) ", "\u00a0", "é", "\xff",
}

func TestParse_laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkLaws(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(planWords), 0, 60).Draw(t, "words"), ""))
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"1. a\n\n    2. b\n\n3. c", "**1. a**\n   - detail\n**2. b**", "```json\n[\"a\"]\n```", `{"plan":"1. a"}`, "## Step 1\na\n\nb\n## Step 2", "- \na\n\n- b:\n\n```\nx", "* a\xdd\r* \x82b", "a Step 1: \nStep 1: \n\n:\n1. a "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkLaws(t, text) })
}

// checkLaws checks what is true of any text: there are steps or an Error, no step is blank, and
// everything that is not JSON keeps its order and occurs only once.
func checkLaws(t require.TestingT, text string) {
	steps, err := plantext.Parse(text)
	if err != nil {
		var problem *plantext.Error
		require.ErrorAs(t, err, &problem)
		require.Empty(t, steps)
		return
	}
	require.NotEmpty(t, steps)
	for _, s := range steps {
		require.NotEmpty(t, s)
		require.Equal(t, strings.TrimSpace(s), s)
	}
	if strings.ContainsAny(text, "[{") {
		return
	}
	rest := text
	for _, c := range []byte(strings.Join(steps, "")) {
		if c == ' ' || c == '\n' {
			continue // it may replace other blanks
		}
		at := strings.IndexByte(rest, c)
		require.GreaterOrEqual(t, at, 0, "%q of %q is not in %q in this order", c, steps, text)
		rest = rest[at+1:]
	}
}

// The work grows linearly with the length of the text, whatever its content.
func TestParse_linear(t *testing.T) {
	costs := growth.Of(t)
	for _, text := range [][2]string{
		// The beginning, and the repeated part.
		{"", "1. a\n"},
		{"", "- a\n  - b\n"},
		{"1. a\n", "a\n"},
		{"1. a\n", "```\n"},
		{"", "[\n"},
		{"", `{"plan":`},
		{"1. a\n", "x:\n- a\n\n"},
		{"", "1. "},
		{"1. *a", " **a"},
		{"", "- a\n\n**b**\n"},
		{"", "1. a\n\n---\n\n2. b\n\n"},
		{"", "</think>\n"},
		{"", "1. a\n\n```\n[\"a\"]\n```\n2. b\n"},
	} {
		t.Run(strconv.Quote(text[1]), func(t *testing.T) {
			costs.AreLinear(t, 1<<12, func(length int) {
				_, _ = plantext.Parse(text[0] + strings.Repeat(text[1], length/len(text[1])))
			})
		})
	}
}
