package planorder_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/strategy/planreviseexecute/internal/planorder"
	"github.com/segue-go/segue/strategy/planreviseexecute/internal/plantext"
)

// What models write about the order of steps, and what reads like it and is not.
func TestStated(t *testing.T) {
	for goal, want := range map[string]struct {
		rest  string
		after []int
	}{
		"Compare the prices (after 1, 2)":                  {"Compare the prices", []int{1, 2}},
		"Compare the prices (After steps 1 and 2).":        {"Compare the prices.", []int{1, 2}},
		"Compare [depends on: step 1, step 3]":             {"Compare", []int{1, 3}},
		"Compare (depends on #1 & #2)":                     {"Compare", []int{1, 2}},
		"Compare (needs 1-3, 5)":                           {"Compare", []int{1, 2, 3, 5}},
		"Compare (requires: 2 to 4)":                       {"Compare", []int{2, 3, 4}},
		"Compare (dependencies: none)":                     {"Compare", []int{}},
		"Find the price (after none)":                      {"Find the price", []int{}},
		"Find the price (no dependencies)":                 {"Find the price", []int{}},
		"Find the price [independent]":                     {"Find the price", []int{}},
		"Find the price\nDepends on: 1, 2":                 {"Find the price", []int{1, 2}},
		"Find the price\n- **Dependencies:** None\nin EUR": {"Find the price\nin EUR", []int{}},
		"Find the price\nafter that, say it":               {"Find the price\nafter that, say it", nil},
		"Find the price (after tax)":                       {"Find the price (after tax)", nil},
		"Find the price after 2020":                        {"Find the price after 2020", nil},
		"Find the price (after 2020)":                      {"Find the price (after 2020)", nil},
		"Find the 3 prices (needs care)":                   {"Find the 3 prices (needs care)", nil},
		"":                                                 {"", nil},
	} {
		rest, after := planorder.Stated(goal)
		require.Equal(t, want.rest, rest, goal)
		require.Equal(t, want.after, after, goal)
	}
}

// written reads a text as the plan that follows the old one.
func written(t *testing.T, old planorder.Plan, text string) planorder.Plan {
	t.Helper()
	items, err := plantext.ParseItems(text)
	require.NoError(t, err)
	p, err := old.Revise(old.Written(items), planorder.Rules{MaxSteps: 20, Parallel: true})
	require.NoError(t, err)
	return p
}

func orders(p planorder.Plan) string {
	var b strings.Builder
	for _, s := range p.Steps {
		b.WriteString(s.ID + " " + s.Goal)
		switch {
		case s.Free():
			b.WriteString(" after none")
		case s.DependsOn != nil:
			b.WriteString(" after " + strings.Join(s.DependsOn, ","))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestPlan_Written(t *testing.T) {
	done := planorder.Plan{Steps: []planorder.Step{{ID: "1", Goal: "A", Status: planorder.StepDone}, {ID: "2", Goal: "B"}}}
	for name, test := range map[string]struct {
		old    planorder.Plan
		text   string
		want   string
		unread []string
	}{
		"a diamond":                  {text: "1. A (after none)\n2. B (after 1)\n3. C (after 1)\n4. D (after 2-3)", want: "1 A after none\n2 B after 1\n3 C after 1\n4 D after 2,3\n"},
		"nothing is said":            {text: "1. A\n2. B", want: "1 A\n2 B\n"},
		"a step that is later":       {text: "1. A (after 2)\n2. B (after none)", want: "1 A after 2\n2 B after none\n"},
		"no such step":               {text: "1. A (after 7)\n2. B (after 1)", want: "1 A\n2 B after 1\n", unread: []string{`step "1" waits for "7", which is no step`}},
		"itself":                     {text: "1. A\n2. B (after 1, 2)", want: "1 A\n2 B\n", unread: []string{`step "2" waits for "2", which is the step itself`}},
		"a cycle":                    {text: "1. A (after 3)\n2. B (after 1)\n3. C (after 2)\n4. D (after 1)", want: "1 A\n2 B\n3 C\n4 D after 1\n", unread: []string{"steps wait for each other: 1 -> 3 -> 2 -> 1"}},
		"bullets have no numbers":    {text: "- A (after none)\n- B (after none)\n- C (after 1, 2)", want: "1 A after none\n2 B after none\n3 C after 1,2\n"},
		"JSON":                       {text: `[{"id":"a","goal":"A","depends_on":[]},{"id":"b","goal":"B","after":"a"},{"goal":"C","needs":["a",2]}]`, want: "a A after none\nb B after a\n1 C after a,b\n"},
		"what is left, its own list": {old: done, text: "1. B2 (after none)\n2. C (after 1)", want: "1 A\n2 B2 after none\n3 C after 2\n"},
		"what is left, going on":     {old: done, text: "2. B2 (after 1)\n3. C (after 1, 2)", want: "1 A\n2 B2 after 1\n3 C after 1,2\n"},
		"what is done, once more":    {old: done, text: "1. A\n2. B2 (after 1)\n3. C (after none)", want: "1 A\n2 B2 after 1\n3 C after none\n"},
		"the same step twice":        {text: "1. A\n2. B (after 1 and 1)", want: "1 A\n2 B after 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := written(t, test.old, test.text)
			require.Equal(t, test.want, orders(p))
			require.Equal(t, test.unread, p.Unread)
		})
	}
}

// A plan of very many steps is read without its order, at once.
func TestPlan_Written_huge(t *testing.T) {
	items := make([]plantext.Item, 100_000)
	for i := range items {
		items[i].Goal = "A (after 1-999)"
	}
	require.Len(t, planorder.Plan{}.Written(items).Steps, len(items))
	_, after := planorder.Stated("A (after " + strings.Repeat("1-999, ", 10_000) + "1)")
	require.LessOrEqual(t, len(after), 2000)
}

// Whatever a plan says, its steps become ready until all are done, each once, those that it waits
// for before it, and no more at once than may be.
func TestPlan_Ready(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, most := rapid.IntRange(1, 7).Draw(t, "steps"), rapid.IntRange(0, 4).Draw(t, "most")
		var p planorder.Plan
		for i := range n {
			s := planorder.Step{Goal: string(rune('A' + i))}
			if rapid.Bool().Draw(t, "says") {
				s.DependsOn = []string{}
				for _, j := range rapid.SliceOfNDistinct(rapid.IntRange(1, n), 0, 3, rapid.ID[int]).Draw(t, "after") {
					s.DependsOn = append(s.DependsOn, string(rune('0'+j)))
				}
			}
			p.Steps = append(p.Steps, s)
		}
		p, err := planorder.Plan{}.Revise(p, planorder.Rules{MaxSteps: 9, Parallel: true})
		if err != nil { // steps wait for each other
			t.Skip()
		}
		for rounds := 0; p.Next() >= 0; rounds++ {
			require.Less(t, rounds, n)
			ready := p.Ready(most)
			require.Equal(t, p.Next(), ready[0])
			require.LessOrEqual(t, len(ready), max(1, most))
			for k, i := range ready {
				require.NotEqual(t, planorder.StepDone, p.Steps[i].Status)
				require.True(t, k == 0 || p.Steps[i].DependsOn != nil, "it says for which others it waits")
				for _, id := range p.Steps[i].DependsOn {
					require.Equal(t, planorder.StepDone, p.Steps[p.Index(id)].Status)
				}
			}
			for _, i := range ready {
				p.Steps[i].Status = planorder.StepDone
			}
		}
		require.Empty(t, p.Ready(most))
	})
}
