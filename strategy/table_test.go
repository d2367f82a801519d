package strategy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

const (
	chat   = nextstep.KindGetChatCompletion
	tools  = nextstep.KindExecuteTools
	finish = nextstep.KindComplete
)

func rule(from strategy.State, on strategy.Trigger, to strategy.State) strategy.Rule {
	return strategy.Rule{From: []strategy.State{from}, On: on, To: to}
}

// loop is a valid table: ask, run tools, ask again, end.
func loop() *strategy.Table {
	back := rule("acting", "acted", "asking")
	back.Cap = "rounds"
	return &strategy.Table{
		Name:    "loop",
		Initial: "ready",
		States: []strategy.StateRule{
			{Name: "ready"},
			{Name: "asking", Awaits: chat, Phase: "Thinking"},
			{Name: "acting", Awaits: tools},
			{Name: "done", Awaits: finish},
		},
		Rules: []strategy.Rule{
			rule("ready", "start", "asking"),
			rule("asking", "call", "acting"),
			back,
			rule("asking", "end", "done"),
		},
	}
}

func TestTable_Validate(t *testing.T) {
	require.NoError(t, loop().Validate())
	for _, test := range []struct {
		name   string
		breakT func(*strategy.Table)
		want   string
	}{
		{"no name", func(tb *strategy.Table) { tb.Name = "" }, "has no name"},
		{"unnamed state", func(tb *strategy.Table) { tb.States = append(tb.States, strategy.StateRule{Awaits: chat}) }, "a state has no name"},
		{"state twice", func(tb *strategy.Table) { tb.States = append(tb.States, tb.States[1]) }, `state "asking": is declared twice`},
		{"awaits nothing", func(tb *strategy.Table) { tb.States[2].Awaits = 0 }, `state "acting": awaits nothing`},
		{"initial unknown", func(tb *strategy.Table) { tb.Initial = "nowhere" }, `state "nowhere": is the initial state and not declared`},
		{"initial awaits", func(tb *strategy.Table) { tb.Initial = "asking" }, `must await nothing`},
		{"unknown target", func(tb *strategy.Table) { tb.Rules[1].To = "lost" }, `state "lost": trigger "call": leads to a state that is not declared`},
		{"unknown source", func(tb *strategy.Table) { tb.Rules[1].From = []strategy.State{"lost"} }, `starts from a state that is not declared`},
		{"no source", func(tb *strategy.Table) { tb.Rules[1].From = nil }, `starts from no state`},
		{"no trigger", func(tb *strategy.Table) { tb.Rules[1].On = "" }, `has no trigger`},
		{"back to the start", func(tb *strategy.Table) { tb.Rules[3].To = "ready" }, `leads back to the initial state`},
		{"out of the end", func(tb *strategy.Table) { tb.Rules = append(tb.Rules, rule("done", "again", "asking")) }, `leads out of a final state`},
		{"two rules", func(tb *strategy.Table) { tb.Rules = append(tb.Rules, rule("asking", "call", "done")) }, `state "asking": trigger "call": has two rules`},
		{"unreachable", func(tb *strategy.Table) {
			tb.States = append(tb.States, strategy.StateRule{Name: "island", Awaits: finish})
		}, `state "island": cannot be reached`},
		{"dead end", func(tb *strategy.Table) {
			tb.States = append(tb.States, strategy.StateRule{Name: "swamp", Awaits: chat})
			tb.Rules = append(tb.Rules, rule("asking", "sink", "swamp"))
		}, `state "swamp": is a dead end`},
		{"cycle", func(tb *strategy.Table) { tb.Rules[2].Cap = "" }, `closes a cycle through "asking" that no cap bounds`},
		{"self loop", func(tb *strategy.Table) { tb.Rules = append(tb.Rules, rule("asking", "again", "asking")) }, `closes a cycle through "asking"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			table := loop()
			test.breakT(table)
			err := table.Validate()
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestTable_Validate_reportsEverything(t *testing.T) {
	table := loop()
	table.Rules[1].To, table.Rules[3].To = "lost", "gone"
	err := table.Validate()
	require.ErrorContains(t, err, `"lost"`)
	require.ErrorContains(t, err, `"gone"`)
}

func TestTable_New_broken(t *testing.T) {
	table := loop()
	table.Rules[2].Cap = ""
	for name, fsm := range map[string]*strategy.FSM{
		"table":         table.New(nil),
		"cap missing":   loop().New(nil),
		"cap negative":  loop().New(strategy.Caps{"rounds": -2}),
		"cap not named": loop().New(strategy.Caps{"rounds": 1, "circles": 1}),
	} {
		t.Run(name, func(t *testing.T) {
			require.False(t, fsm.Can("start"))
			require.ErrorContains(t, fsm.Check(), `strategy: table "loop": `)
			step := fsm.Then("start", nextstep.GetChatCompletion{})
			require.EqualError(t, step.(nextstep.ReportError).Err, fsm.Check().Error())
			require.Equal(t, strategy.State("ready"), fsm.State())
		})
	}
}

func TestTable_diagrams(t *testing.T) {
	require.Equal(t, `stateDiagram-v2
    ready: ready
    asking: asking (Thinking)<br/>get_chat_completion
    acting: acting<br/>execute_tools
    done: done<br/>complete
    [*] --> ready
    ready --> asking: start
    asking --> acting: call
    acting --> asking: acted [rounds]
    asking --> done: end
    done --> [*]
`, loop().Mermaid())
	dot := loop().DOT()
	require.Contains(t, dot, `"acting" -> "asking" [label="acted [rounds]"];`)
	require.Contains(t, dot, `"done" [label="done\ncomplete", peripheries=2];`)
}

// The strategies that may take over are drawn behind the states in which a frame hands off,
// whatever they are called.
func TestTable_diagramsOfHandoffs(t *testing.T) {
	require.Equal(t, loop().Mermaid()+`    state "books" as successor_1
    done --> successor_1: hands off
    state "a #quot;b#quot; #35;1 c" as successor_2
    done --> successor_2: hands off
`, loop().Mermaid("books", "a \"b\" #1\nc"))
	dot := loop().DOT("books", "done")
	require.Equal(t, strings.TrimSuffix(loop().DOT(), "}\n")+`    "successor 1" [label="books", style="rounded,dashed"];
    "done" -> "successor 1" [label="hands off", style=dashed];
    "successor 2" [label="done", style="rounded,dashed"];
    "done" -> "successor 2" [label="hands off", style=dashed];
}
`, dot)
}
