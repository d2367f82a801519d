package machine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// tabled is a strategy with a table, which may be none.
type tabled struct {
	planned
	fsm *strategy.FSM
}

func (t *tabled) FSM() *strategy.FSM { return t.fsm }

// broken panics when it is asked for its table.
type broken struct{ planned }

func (broken) FSM() *strategy.FSM { panic("no") }

func TestFingerprints(t *testing.T) {
	table := &strategy.Table{
		Name: "short", Initial: "ready",
		States: []strategy.StateRule{{Name: "ready"}, {Name: "done", Awaits: nextstep.KindComplete}},
		Rules:  []strategy.Rule{{From: []strategy.State{"ready"}, On: "start", To: "done"}},
	}
	got := Fingerprints(strategy.Set{
		"tabled":  func() strategy.Strategy { return &tabled{fsm: table.New(nil)} },
		"without": plan(),
		"empty":   func() strategy.Strategy { return &tabled{} },
		"zero":    func() strategy.Strategy { return &tabled{fsm: new(strategy.FSM)} },
		"broken":  func() strategy.Strategy { return &broken{} },
		"panics":  func() strategy.Strategy { panic("no") },
		"nothing": func() strategy.Strategy { return nil },
		"none":    nil,
	})
	require.Equal(t, map[string]string{"tabled": table.Fingerprint()}, got)
	require.Empty(t, Fingerprints(nil))
}
