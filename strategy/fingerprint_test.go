package strategy_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy"
)

func TestTable_Fingerprint(t *testing.T) {
	want := loop().Fingerprint()
	require.Len(t, want, 32)
	require.Equal(t, want, loop().Fingerprint())

	for name, change := range map[string]func(*strategy.Table){
		"another phase": func(tb *strategy.Table) { tb.States[1].Phase = "Pondering" },
		"another order": func(tb *strategy.Table) { slices.Reverse(tb.States); slices.Reverse(tb.Rules) },
	} {
		changed := loop()
		change(changed)
		require.Equal(t, want, changed.Fingerprint(), name)
	}

	seen := map[string]string{want: "the table as it was"}
	for name, change := range map[string]func(*strategy.Table){
		"name":    func(tb *strategy.Table) { tb.Name = "hoop" },
		"initial": func(tb *strategy.Table) { tb.Initial = "asking" },
		"state":   func(tb *strategy.Table) { tb.States = tb.States[:3] },
		"renamed": func(tb *strategy.Table) { tb.States[2].Name = "moving" },
		"awaits":  func(tb *strategy.Table) { tb.States[2].Awaits = chat },
		"rule":    func(tb *strategy.Table) { tb.Rules = tb.Rules[:3] },
		"from":    func(tb *strategy.Table) { tb.Rules[2].From = append(tb.Rules[2].From, "asking") },
		"trigger": func(tb *strategy.Table) { tb.Rules[0].On = "begin" },
		"to":      func(tb *strategy.Table) { tb.Rules[3].To = "acting" },
		"cap":     func(tb *strategy.Table) { tb.Rules[2].Cap = "" },
		"quotes":  func(tb *strategy.Table) { tb.Rules[2].Cap = `rounds" cap "` },
	} {
		changed := loop()
		change(changed)
		other, twice := seen[changed.Fingerprint()]
		require.False(t, twice, "%s is like %s", name, other)
		seen[changed.Fingerprint()] = name
	}
}

func TestFSM_Table(t *testing.T) {
	table := loop()
	require.Same(t, table, table.New(strategy.Caps{"rounds": 1}).Table())
	require.Nil(t, new(strategy.FSM).Table())
	require.Nil(t, (*strategy.FSM)(nil).Table())
}

// Making an Orchestrator asks for the fingerprint of each table: it is taken once.
func TestTable_FingerprintIsTakenOnce(t *testing.T) {
	table := loop()
	table.Fingerprint()
	require.Zero(t, testing.AllocsPerRun(10, func() { table.Fingerprint() }))
}
