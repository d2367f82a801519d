package sse_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/tools"
)

// get asks for the run r as an EventSource does, behind the event of that id. The body is closed
// with the test.
func get(ctx context.Context, t *testing.T, server *httptest.Server, last string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"?run=r", http.NoBody)
	require.NoError(t, err)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := server.Client().Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// followed serves the runs of an Orchestrator, to begin and to follow.
func followed(t *testing.T, o *orchestrator.Orchestrator, edit ...func(*sse.Config)) (server *httptest.Server, over chan struct{}) {
	t.Helper()
	cfg := sse.Config{Start: sse.Tasks(o), Follow: o, Authorize: anyRun}
	for _, e := range edit {
		e(&cfg)
	}
	return serve(t, cfg)
}

func inMemory(c *orchestrator.Config) { c.Store = new(checkpoint.Memory) }

// A stream is taken up behind any of its events, with no event lost and none told twice; a client
// that has had them all is told to stop asking.
func TestFollow_fromAnyEvent(t *testing.T) {
	o := agent(t, scripted.New(scripted.Calls(scripted.Call("look", "{}", "1")), scripted.Stream("do", "ne")), with(echo("look")), inMemory)
	server, _ := followed(t, o)
	_, raw := read(t, post(t, t.Context(), server, `{"run": "r", "goal": "go"}`))
	stored := []string{} // what the journal tells, as it was told live
	for i, b := range raw {
		if i == 0 || b.id != raw[i-1].id {
			stored = append(stored, b.id+" "+b.name)
		}
	}
	for i, b := range raw {
		left := []string{}
		for _, s := range stored {
			if i == 0 || !before(s, b.id) {
				left = append(left, s)
			}
		}
		last := b.id
		if i == 0 {
			last = ""
		}
		resp := get(t.Context(), t, server, last)
		if i > 0 && len(left) == 0 {
			require.Equal(t, http.StatusNoContent, resp.StatusCode)
			continue
		}
		again := []string{}
		_, blocks := read(t, resp)
		for _, b := range blocks {
			if b.name != string(machine.EventStepSnapshot) {
				again = append(again, b.id+" "+b.name)
			}
		}
		require.Equal(t, left, again, "behind %q", last)
	}
	require.Equal(t, http.StatusNoContent, get(t.Context(), t, server, fmt.Sprint(headOf(t, o).Last)).StatusCode, "the id of a delta of an older release")
}

// before reports whether an event, "1/2 kind", stands at an id or before it.
func before(event, id string) bool {
	var r, i, record, index int
	_, _ = fmt.Sscanf(event, "%d/%d", &r, &i)
	_, _ = fmt.Sscanf(id, "%d/%d", &record, &index)
	return r < record || r == record && i <= index
}

func headOf(t *testing.T, o *orchestrator.Orchestrator) checkpoint.Head {
	t.Helper()
	head, err := o.Head(t.Context(), checkpoint.Key{Run: "r"})
	require.NoError(t, err)
	return head
}

// A client whose connection breaks comes back, while the server still lets go of the old one: the
// run goes on, is not begun again, and is told to its end.
func TestFollow_detached(t *testing.T) {
	released, asked := make(chan struct{}), make(chan struct{}, 9)
	model := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		asked <- struct{}{}
		onDelta(llmclient.Delta{Text: "well"})
		select {
		case <-released:
			onDelta(llmclient.Delta{Text: " then"})
			return &llmclient.Response{Message: messages.AssistantText("well then")}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	o := agent(t, model, inMemory)
	server, over := followed(t, o, func(c *sse.Config) { c.Detached = true })
	ctx, cancel := context.WithCancel(t.Context())
	resp := post(t, ctx, server, `{"run": "r", "goal": "go"}`)
	last := ""
	for b := range blocks(resp.Body) {
		if last = b.id; b.name == "text_delta" {
			break
		}
	}
	cancel() // the connection breaks
	back := get(t.Context(), t, server, last)
	require.Equal(t, http.StatusOK, back.StatusCode)
	waittest.Receive(t, asked)
	close(released)
	got, raw := read(t, back)
	require.NotEqual(t, last, raw[len(raw)-1].id)
	end := got[len(got)-1].Detail.(machine.RunFinished)
	require.Equal(t, machine.StatusDone, end.Status)
	require.Equal(t, "well then", end.Output.Text())
	waittest.Receive(t, over)
	waittest.Receive(t, over)
	require.Empty(t, asked, "one run, one request")
	require.Equal(t, http.StatusNoContent, get(t.Context(), t, server, raw[len(raw)-1].id).StatusCode)
}

// Without Detached the run is stopped when its client goes away: who comes back hears of that, and
// gets no error. Who follows stops nothing.
func TestFollow_stopped(t *testing.T) {
	o := agent(t, hanging(make(chan struct{})), inMemory)
	server, over := followed(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	resp := post(t, ctx, server, `{"run": "r", "goal": "go"}`)
	for b := range blocks(resp.Body) {
		if b.name == "text_delta" {
			break
		}
	}
	following, leave := context.WithCancel(t.Context())
	for b := range blocks(get(following, t, server, "").Body) {
		if b.id != "" {
			break
		}
	}
	leave()
	waittest.Receive(t, over)
	require.Equal(t, checkpoint.StatusRunning, headOf(t, o).Header.Status)
	cancel()
	got, _ := read(t, get(t.Context(), t, server, "1/1"))
	require.Equal(t, machine.StatusStopped, got[len(got)-1].Detail.(machine.RunFinished).Status)
}

// A run that has nothing to tell is answered at once, and kept alive; what is left of it comes once
// somebody has answered.
func TestFollow_waits(t *testing.T) {
	o := agent(t, asking, with(tools.AskUser()), inMemory)
	res, err := o.Run(t.Context(), orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}})
	require.NoError(t, err)
	server, _ := followed(t, o, func(c *sse.Config) { c.KeepAlive = 10 * time.Millisecond })
	_, raw := events(t, o)
	resp := get(t.Context(), t, server, raw)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	alive := false
	for b := range blocks(resp.Body) {
		if b.comment != "" && !alive {
			alive = true
			_, err = orchestrator.Collect(o.Resume(t.Context(), orchestrator.Resumption{Run: "r", Replies: []machine.Reply{{WaitID: res.Waits[0].ID, Text: "a.txt"}}}))
			require.NoError(t, err)
		}
		if b.name == "run_finished" {
			break
		}
	}
	require.True(t, alive)
}

// events returns what a run tells from its journal, and the id of the last.
func events(t *testing.T, o *orchestrator.Orchestrator) (list []machine.Event, last string) {
	t.Helper()
	for e, err := range o.Replay(t.Context(), checkpoint.Key{Run: "r"}) {
		require.NoError(t, err)
		list, last = append(list, e), orchestrator.PositionOf(e).String()
	}
	return list, last
}

// Who may not name a run, names none, or asks for what there is not, is refused; a HEAD starts
// nothing.
func TestFollow_refuses(t *testing.T) {
	o := agent(t, scripted.New(scripted.Text("done")), inMemory)
	_, err := o.Run(t.Context(), orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}})
	require.NoError(t, err)
	server, _ := serve(t, sse.Config{Follow: o})
	refused(t, get(t.Context(), t, server, ""), http.StatusForbidden, "run", "no such run or session")
	require.Equal(t, http.StatusMethodNotAllowed, post(t, t.Context(), server, "{}").StatusCode)

	server, _ = serve(t, sse.Config{Follow: o, Authorize: anyRun})
	refused(t, get(t.Context(), t, server, "nonsense"), http.StatusBadRequest, "bad_request", "Last-Event-ID")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	require.NoError(t, err)
	resp, err := server.Client().Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	refused(t, resp, http.StatusBadRequest, "bad_request", "names no run")
	server, _ = serve(t, sse.Config{Follow: agent(t, scripted.New(), inMemory), Authorize: anyRun})
	refused(t, get(t.Context(), t, server, ""), http.StatusForbidden, "run", "no such run or session")

	for _, cfg := range []sse.Config{
		{Start: sse.Tasks(o), Detached: true},
		{Start: sse.Tasks(o), Follow: o, Methods: []string{http.MethodGet}},
	} {
		_, err := sse.New(cfg)
		require.ErrorContains(t, err, "Config.Follow")
	}
}

// damaged is a store whose records cannot be read.
type damaged struct{ *checkpoint.Memory }

func (damaged) Read(context.Context, checkpoint.Key, int) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) { yield(checkpoint.Record{}, checkpoint.ErrCorrupt) }
}

// Who follows a run that cannot be read is told that it broke off.
func TestFollow_damaged(t *testing.T) {
	store := new(checkpoint.Memory)
	in := func(s checkpoint.Store) func(*orchestrator.Config) {
		return func(c *orchestrator.Config) { c.Store = s }
	}
	_, err := agent(t, scripted.New(scripted.Text("done")), in(store)).Run(t.Context(), orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}})
	require.NoError(t, err)
	server, _ := serve(t, sse.Config{Follow: agent(t, scripted.New(), in(damaged{store})), Authorize: anyRun})
	refused(t, get(t.Context(), t, server, ""), http.StatusInternalServerError, "internal", "the run could not be read")
}
