package bench_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// TestRowsAreRight shows that each row of each workload gives the answer, makes the calls and
// leaves the history of its script.
func TestRowsAreRight(t *testing.T) {
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			for _, r := range w.rows(t) {
				t.Run(r.name, func(t *testing.T) { requireRight(t, r) })
			}
		})
	}
}

func requireRight(t *testing.T, r row) {
	before := r.adder.ran.Load()
	run := func() error {
		o, err := r.run(t.Context())
		if err != nil {
			return err
		}
		return r.script.prove(o)
	}
	if r.server == nil {
		require.NoError(t, run())
	} else {
		t.Cleanup(http.DefaultClient.CloseIdleConnections)
		requireRequests(t, r, run)
	}
	require.EqualValues(t, r.calls, r.adder.ran.Load()-before, "calls to add")
}

// requireRequests requires that each request contains the whole conversation so far.
func requireRequests(t *testing.T, r row, run func() error) {
	bodies, err := r.server.record(run)
	require.NoError(t, err)
	require.Len(t, bodies, r.script.steps())
	told := r.script.transcript()
	for i, body := range bodies {
		lines, err := spoken(body)
		require.NoError(t, err)
		require.NoError(t, same(lines, told[:1+2*i]), "request %d", i)
	}
}

// TestProofFails shows that a wrong row would be found.
func TestProofFails(t *testing.T) {
	s := adding(goal, 3, 1)
	a := new(adder)
	good := func() []message {
		history, err := a.loop(s.model()).run(t.Context(), goal)
		require.NoError(t, err)
		return history
	}
	for name, spoil := range map[string]func(o *outcome){
		"answer":    func(o *outcome) { o.answer = "no" },
		"length":    func(o *outcome) { o.loop = o.loop[:len(o.loop)-1] },
		"result":    func(o *outcome) { o.loop[2].Content = "7" },
		"call id":   func(o *outcome) { o.loop[2].CallID = "other" },
		"arguments": func(o *outcome) { o.loop[1].Calls = []toolCall{{ID: "call_0_0", Name: "add", Arguments: "{}"}} },
		"order":     func(o *outcome) { o.loop[1], o.loop[3] = o.loop[3], o.loop[1] },
	} {
		t.Run(name, func(t *testing.T) {
			o := outcome{answer: finalTxt, loop: good()}
			require.NoError(t, s.prove(o))
			spoil(&o)
			require.Error(t, s.prove(o))
		})
	}
}
