package temporal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// A model call and a tool call cost six events each, and a kilobyte.
func TestCost(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, connect(t))
	work(t, e)
	cost := func(rounds int) (events, bytes int64) {
		key, err := e.Start(soon(t), task(rounds, "look"))
		require.NoError(t, err)
		_, err = e.Result(soon(t), key)
		require.NoError(t, err)
		_, events, bytes = history(t, e.Client, key)
		return events, bytes
	}
	const rounds = 50 // of two steps
	fewEvents, fewBytes := cost(1)
	events, bytes := cost(1 + rounds)
	events, bytes = (events-fewEvents)/(2*rounds), (bytes-fewBytes)/(2*rounds)
	t.Logf("a step takes %d events and %d bytes", events, bytes)
	require.LessOrEqual(t, events, int64(7))
	require.Less(t, bytes, int64(1200))
}

// A long run goes on in one workflow after the other. The last steps take no longer than the first.
func TestLongRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	var times []time.Time
	s := &scene{store: new(checkpoint.Memory), steps: func() { times = append(times, time.Now()) }}
	e := s.engine(t, connect(t))
	work(t, e)
	key, err := e.Start(soon(t), task(2500, "look"))
	require.NoError(t, err)
	res, err := e.Result(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
	_, events, bytes := history(t, e.Client, key)
	require.Less(t, events, int64(10_000))
	const part = 400
	first, last := times[part].Sub(times[0]), times[len(times)-1].Sub(times[len(times)-1-part])
	t.Logf("%d steps; the last workflow has %d events and %d bytes; %d steps took %v first and %v last",
		len(times)*2, events, bytes, 2*part, first, last)
	require.Less(t, last, 3*first)
}
