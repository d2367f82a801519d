package strategy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// BenchmarkFSM_Then is one round of a strategy: it asks whether it may continue, and continues,
// twice.
func BenchmarkFSM_Then(b *testing.B) {
	m, ask, act := rounds()
	b.ReportAllocs()
	for b.Loop() {
		m.Then("call", act)
		if m.Can("acted") {
			m.Then("acted", ask)
		}
	}
}

// BenchmarkTable_New is a frame from its first move to its last.
func BenchmarkTable_New(b *testing.B) {
	table, caps := loop(), strategy.Caps{"rounds": 3}
	var ask, end nextstep.NextStep = nextstep.GetChatCompletion{}, nextstep.Complete{}
	b.ReportAllocs()
	for b.Loop() {
		m := table.New(caps)
		m.Then("start", ask)
		m.Then("end", end)
	}
}

func TestFSM_Then_allocatesNothing(t *testing.T) {
	m, ask, act := rounds()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		m.Then("call", act)
		if m.Can("acted") {
			m.Then("acted", ask)
		}
	}))
}

func rounds() (m *strategy.FSM, ask, act nextstep.NextStep) {
	m = loop().New(strategy.Caps{"rounds": strategy.Unbounded})
	ask, act = nextstep.GetChatCompletion{}, nextstep.ExecuteTools{}
	m.Then("start", ask)
	return m, ask, act
}
