package strategytest

import (
	"encoding/json"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// replay replays the run from its journal, in another process, and holds the events to those that
// were told when it was made.
func (w *ways) replay() {
	w.t.Helper()
	whole := new(store)
	var told, again []string
	for e, err := range w.first.stream(whole) {
		require.True(w.t, e.Kind != "" || err != nil)
		if e.Index > 0 { // else no record has it
			told = append(told, w.line(&e))
		}
	}
	if len(told) == 0 { // it cannot begin
		return
	}
	w.second.begin(whole)
	defer w.second.stops.cancel(nil)
	for e, err := range w.second.o.Replay(w.t.Context(), checkpoint.Key{Run: storyID}) {
		require.NotEmpty(w.t, e.Kind, "Replay: the run of %q: %v", w.task.Strategy, err)
		again = append(again, w.line(&e))
	}
	require.Equal(w.t, told, again, "Replay: the run of %q", w.task.Strategy)
}

// line is an event as text. Time is that of a bubble, and so the same.
func (w *ways) line(e *machine.Event) string {
	w.t.Helper()
	text, err := json.Marshal(e)
	require.NoError(w.t, err)
	return string(text)
}
