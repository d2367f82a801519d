package coverage_test

import (
	"flag"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/internal/scenetest"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategytest/coverage"
)

// clerks is the table of a strategy that asks, acts, and asks again.
func clerks() *strategy.Table {
	return &strategy.Table{
		Name: "clerk", Initial: "ready",
		States: []strategy.StateRule{
			{Name: "ready"},
			{Name: "asking", Awaits: nextstep.KindGetChatCompletion},
			{Name: "acting", Awaits: nextstep.KindExecuteTools},
			{Name: "done", Awaits: nextstep.KindComplete},
		},
		Rules: []strategy.Rule{
			{From: []strategy.State{"ready"}, On: "started", To: "asking"},
			{From: []strategy.State{"asking"}, On: "reasked", To: "asking", Cap: "asks"},
			{From: []strategy.State{"asking"}, On: "called", To: "acting"},
			{From: []strategy.State{"asking", "acting"}, On: "finished", To: "done"},
		},
	}
}

// tabled is a strategy that shows a machine.
type tabled struct {
	scenetest.Scene
	fsm *strategy.FSM
}

func (t *tabled) FSM() *strategy.FSM { return t.fsm }

// set holds two strategies with tables that are declared alike, one of another table, and two
// without.
func set() strategy.Set {
	clerk := func() strategy.Strategy { return &tabled{fsm: clerks().New(strategy.Caps{"asks": 1})} }
	return strategy.Set{
		"clerk":  clerk,
		"helper": clerk,
		"retry":  retry.New(retry.Config{}),
		"scene":  func() strategy.Strategy { return new(scenetest.Scene) },
		"broken": func() strategy.Strategy { panic("no") },
	}
}

// moved is the event of a move of a strategy.
func moved(name string, m coverage.Move) machine.Event {
	return machine.Event{Kind: machine.EventStateChanged, Detail: machine.StateChanged{Strategy: name, From: m.From, On: m.On, To: m.To}}
}

var (
	starts    = coverage.Move{From: "ready", On: "started", To: "asking"}
	asksAgain = coverage.Move{From: "asking", On: "reasked", To: "asking"}
	calls     = coverage.Move{From: "asking", On: "called", To: "acting"}
	answers   = coverage.Move{From: "asking", On: "finished", To: "done"}
	ends      = coverage.Move{From: "acting", On: "finished", To: "done"}
)

// Whichever transitions are left out, they are the ones that are missing, and their states.
func TestCoverage_namesTheHoles(t *testing.T) {
	all := []coverage.Move{starts, asksAgain, calls, answers, ends}
	for hole := range 1 << len(all) {
		c := coverage.New(set())
		var missing []coverage.Move
		for i, m := range all {
			if hole&(1<<i) != 0 {
				missing = append(missing, m)
				continue
			}
			c.Add(moved("clerk", m))
		}
		got := c.Of(clerks())
		require.Equal(t, missing, got.Missing())
		require.InDelta(t, float64(len(all)-len(missing))/float64(len(all)), got.Share(), 0)
		for _, s := range got.States {
			entered := slices.ContainsFunc(all, func(m coverage.Move) bool {
				return !slices.Contains(missing, m) && (m.To == s.Name || m.From == s.Name && s.Name == "ready")
			})
			require.Equal(t, !entered, slices.Contains(got.MissingStates(), s.Name), "%s, %v", s.Name, missing)
		}
	}
}

func TestCoverage_counts(t *testing.T) {
	c := coverage.New(set())
	for _, name := range []string{"clerk", "helper", "clerk"} {
		c.Add(moved(name, starts))
	}
	c.Add(moved("clerk", asksAgain))
	c.Add(machine.Event{Kind: machine.EventNoted, Detail: machine.Noting{Text: "nothing"}})
	c.Add(machine.Event{Kind: machine.EventTextDelta, Text: "nothing"})
	got := c.Of(clerks())
	require.Equal(t, []string{"clerk", "helper"}, got.Strategies, "their tables are declared alike")
	require.Equal(t, []coverage.State{{"ready", 3}, {"asking", 4}, {"acting", 0}, {"done", 0}}, got.States)
	require.Equal(t, []coverage.Taken{{starts, 3}, {asksAgain, 1}, {calls, 0}, {answers, 0}, {ends, 0}}, got.Moves)
	require.Empty(t, got.Strays)
	require.Equal(t, []string{"broken", "scene"}, c.Untabled())
	require.Empty(t, c.Unknown())
	tables := c.Tables()
	require.Equal(t, []string{"clerk", "retry"}, []string{tables[0].Table.Name, tables[1].Table.Name})
	require.Zero(t, tables[1].Share())
}

// What fits no rule is neither lost nor counted as a transition.
func TestCoverage_strays(t *testing.T) {
	c := coverage.New(set())
	skips := coverage.Move{From: "ready", To: "done"}
	wrong := coverage.Move{From: "asking", On: "called", To: "done"}
	for _, m := range []coverage.Move{skips, wrong, skips} {
		c.Add(moved("clerk", m))
	}
	c.Add(moved("scene", starts))
	c.Add(moved("stranger", starts))
	c.Add(moved("", starts))
	got := c.Of(clerks())
	require.Len(t, got.Missing(), 5)
	require.Equal(t, []coverage.Taken{{wrong, 1}, {skips, 2}}, got.Strays)
	require.Contains(t, c.String(), "no rule: ready -> done without a trigger, 2 times\n")
	require.Equal(t, []string{"", "stranger"}, c.Unknown(), "an older event names no strategy")
	require.Contains(t, c.String(), `not in the set: ["" "stranger"]`)
}

func TestCoverage_ofNothing(t *testing.T) {
	var c coverage.Coverage
	require.Empty(t, c.Tables())
	require.Empty(t, c.String())
	require.Len(t, c.Of(clerks()).Missing(), 5)
	require.InDelta(t, 1, c.Of(&strategy.Table{}).Share(), 0)
	c.Add(moved("clerk", starts))
	require.Equal(t, []string{"clerk"}, c.Unknown())
}

// Coverages that were counted apart, in whatever pieces, and are merged in whatever order, are the
// one that was counted at once.
func TestCoverage_Merge_anyOrder(t *testing.T) {
	names := []string{"clerk", "helper", "retry", "scene", "stranger"}
	moves := []coverage.Move{starts, asksAgain, calls, answers, ends, {From: "ready", To: "done"}, {From: "ready", On: "started", To: "attempting"}}
	rapid.Check(t, func(t *rapid.T) {
		parts := make([]*coverage.Coverage, rapid.IntRange(1, 4).Draw(t, "parts"))
		for i := range parts {
			parts[i] = coverage.New(set())
		}
		whole := coverage.New(set())
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			e := moved(rapid.SampledFrom(names).Draw(t, "name"), rapid.SampledFrom(moves).Draw(t, "move"))
			whole.Add(e)
			rapid.SampledFrom(parts).Draw(t, "part").Add(e)
		}
		var merged coverage.Coverage
		for _, i := range rapid.Permutation(indexes(len(parts))).Draw(t, "order") {
			before := parts[i].String()
			merged.Merge(parts[i])
			require.Equal(t, before, parts[i].String(), "what is merged does not change")
		}
		require.Equal(t, counted(whole), counted(&merged))
		require.Equal(t, whole.String(), merged.String())
		twice := coverage.New(set())
		twice.Merge(whole)
		twice.Merge(twice)
		for i, m := range twice.Of(clerks()).Moves {
			require.Equal(t, 2*whole.Of(clerks()).Moves[i].Times, m.Times)
		}
	})
}

// counted returns the tables without their declarations, whose caches differ.
func counted(c *coverage.Coverage) []coverage.Table {
	tables := c.Tables()
	for i := range tables {
		tables[i].Table = nil
	}
	return tables
}

func indexes(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// Tests add to one Coverage at the same time, while it is read.
func TestCoverage_concurrently(t *testing.T) {
	c := coverage.New(set())
	skips := coverage.Move{From: "ready", To: "done"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				c.Add(moved("clerk", starts))
				c.Add(moved("helper", skips))
				c.Add(moved("stranger", starts))
			}
			_ = c.String()
			_ = c.Of(clerks()).Mermaid()
		})
	}
	waittest.All(t, &all)
	got := c.Of(clerks())
	require.Equal(t, coverage.Taken{Move: starts, Times: 800}, got.Moves[0])
	require.Equal(t, []coverage.Taken{{skips, 800}}, got.Strays)
}

// An exploration adds a hundred thousand events a second.
func TestCoverage_Add_allocatesNothing(t *testing.T) {
	c := coverage.New(set())
	events := []machine.Event{moved("clerk", starts), moved("scene", starts), {Detail: machine.StepTaken{}}}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, e := range events {
			c.Add(e)
		}
	}))
}

func BenchmarkAdd(b *testing.B) {
	c, e := coverage.New(set()), moved("clerk", starts)
	b.ReportAllocs()
	for b.Loop() {
		c.Add(e)
	}
}

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// The text and the diagram are compared with testdata.
func TestCoverage_golden(t *testing.T) {
	c := coverage.New(set())
	for _, m := range []coverage.Move{starts, starts, asksAgain, answers, {From: "ready", To: "done"}} {
		c.Add(moved("clerk", m))
	}
	for file, have := range map[string]string{"text.golden": c.String(), "mermaid.golden": c.Of(clerks()).Mermaid()} {
		if *rewrite {
			require.NoError(t, os.WriteFile("testdata/"+file, []byte(have), 0o600))
		}
		want, err := os.ReadFile("testdata/" + file)
		require.NoError(t, err)
		require.Equal(t, string(want), have, file)
	}
}
