package sse_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/tools"
)

// What a client reads is what Stream yields, whatever stands in the texts.
func TestStream_isWhatStreamYields(t *testing.T) {
	script := func() *orchestrator.Orchestrator {
		first := scripted.Stream("one\ntwo", "\r\n\nevent: run_finished\ndata: {}\n\n", "\u2028 <b> &")
		first.Thought = "hm\n"
		first.Calls = []messages.ToolCall{scripted.Call("a", "{\"x\":\n1}", "1"), scripted.Call("nope", "{}", "2")}
		return agent(t, scripted.New(first, scripted.Text("done")), with(echo("a")))
	}
	for _, http2 := range []bool{false, true} {
		server, _ := serve(t, sse.Config{Start: sse.Tasks(script()), Authorize: anyRun}, func(s *httptest.Server) { s.EnableHTTP2 = http2 })
		resp := post(t, t.Context(), server, `{"strategy": "solve", "run": "r", "goal": "go", "messages": {"v":1,"messages":[{"role":"user","content":[{"type":"text","text":"before"}]}]}, "data": [1]}`)
		require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
		require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
		got, raw := read(t, resp)

		var want []machine.Event
		task := orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go", Messages: messages.History{messages.UserText("before")}, Data: []byte("[1]")}}
		for e, err := range script().Stream(t.Context(), task) {
			require.NoError(t, err)
			want = append(want, e)
		}
		require.Equal(t, timeless(t, want), timeless(t, got))
		require.Equal(t, machine.EventRunFinished, got[len(got)-1].Kind)
		last := ""
		for i, b := range raw {
			last = position(got[i], last)
			require.Equal(t, last, b.id)
			require.Equal(t, string(got[i].Kind), b.name)
			require.Equal(t, "r", got[i].Run)
			require.False(t, got[i].Time.IsZero())
		}
	}
}

// A run that fails after its start has status 200 and says so in its last event.
func TestStream_failureIsAnEvent(t *testing.T) {
	o := agent(t, scripted.New(scripted.Error(&llmclient.Error{Code: llmclient.CodeUnavailable, Message: "down"})))
	server, _ := serve(t, sse.Config{Start: sse.Tasks(o)})
	got, _ := read(t, post(t, t.Context(), server, `{"goal": "go"}`))
	end := got[len(got)-1].Detail.(machine.RunFinished)
	require.Equal(t, machine.StatusFailed, end.Status)
	require.Equal(t, "unavailable", string(end.Output.Err.Code))
}

// position is the id of an event: the record, and the place among those of the record. One that no
// record has brought about has that of the last one before it that has one.
func position(e machine.Event, last string) string {
	if e.Index == 0 {
		return last
	}
	return fmt.Sprint(e.Record, "/", e.Index)
}

// The ids of a run's events are its own: a stream in which the run goes on does not begin anew, and
// no two events have the same one, but for those that no record brought about.
func TestStream_ids(t *testing.T) {
	model := scripted.New(scripted.Calls(scripted.Call("ask_user", `{"question":"Which file?"}`, "1")), scripted.Stream("do", "ne"))
	o := agent(t, model, with(tools.AskUser()), func(c *orchestrator.Config) { c.Store = new(checkpoint.Memory) })
	start, _ := serve(t, sse.Config{Start: sse.Tasks(o), Authorize: anyRun})
	resume, _ := serve(t, sse.Config{Start: sse.Replies(o), Authorize: anyRun})
	first, ids := read(t, post(t, t.Context(), start, `{"run": "r", "goal": "go"}`))
	wait := first[len(first)-1].Detail.(machine.RunFinished).Waits[0].ID
	second, more := read(t, post(t, t.Context(), resume, fmt.Sprintf(`{"run": "r", "replies": [{"wait_id": %q, "text": "a.txt"}]}`, wait)))
	require.Equal(t, "1/1", ids[0].id)
	known := map[string]bool{}
	deltas, last := map[string]bool{}, ""
	for i, e := range append(first, second...) {
		id := append(ids, more...)[i].id
		require.NotEmpty(t, id)
		if e.Index == 0 {
			deltas[id] = e.Kind == machine.EventTextDelta
			require.Equal(t, last, id, e.Kind)
			continue
		}
		require.False(t, known[id], "%s %s", id, e.Kind)
		known[id], last = true, id
	}
	require.Len(t, deltas, 2, "of the deltas of a step, and of the event that says what is waited for")
}

// A filter leaves events out, and may change them; the ids are those that they would have anyway.
func TestStream_filter(t *testing.T) {
	o := agent(t, scripted.New(scripted.Stream("a", "b")))
	server, _ := serve(t, sse.Config{Start: sse.Tasks(o), Filter: func(e *machine.Event) bool {
		if end, ok := e.Detail.(machine.RunFinished); ok {
			end.Output.Messages = nil
			e.Detail = end
			return true
		}
		return e.Kind == machine.EventTextDelta
	}})
	got, raw := read(t, post(t, t.Context(), server, `{"goal": "secret"}`))
	require.Len(t, got, 3)
	require.Regexp(t, `^1/\d+$`, raw[0].id, "behind what was left out")
	require.Equal(t, []string{raw[0].id, position(got[2], "")}, []string{raw[1].id, raw[2].id})
	require.Equal(t, "ab", got[2].Detail.(machine.RunFinished).Output.Text())
	require.NotContains(t, raw[2].data, "secret")
}

// A browser that asks again says the last id that it was sent. There is one even where it has seen
// no event: otherwise its request would start a second run.
func TestStream_idBeforeTheFirstEvent(t *testing.T) {
	model := scripted.New(scripted.Text("done"), scripted.Text("done again"))
	o := agent(t, model)
	server, _ := serve(t, sse.Config{
		Methods: []string{http.MethodGet},
		Filter:  func(*machine.Event) bool { return false },
		Start: func(r *http.Request) (iter.Seq2[machine.Event, error], error) {
			return o.Stream(r.Context(), orchestrator.Task{Input: delegation.Input{Goal: "go"}}), nil
		},
	})
	last := ""
	for _, want := range []int{http.StatusOK, http.StatusNoContent} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		require.NoError(t, err)
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		resp, err := server.Client().Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, "%s", body)
		if want == http.StatusOK {
			require.Equal(t, "id: 0\n\n", string(body), "a block without data, of which a browser tells nobody")
		}
		last = "0"
	}
	require.Len(t, model.Requests(), 1)
}

// A kind of one's own cannot end its line.
func TestStream_kindsOfOnesOwn(t *testing.T) {
	o := agent(t, scripted.New(scripted.Text("a")), func(c *orchestrator.Config) {
		c.Middleware = []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler {
			return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
				orchestrator.Emit(ctx, machine.Event{Kind: "mine\n\ndata: {}\r\n", Text: "x"})
				return next(ctx, e)
			}
		}}
	})
	server, _ := serve(t, sse.Config{Start: sse.Tasks(o)})
	got, raw := read(t, post(t, t.Context(), server, `{"goal": "go"}`))
	for i, e := range got {
		if e.Text == "x" {
			require.Equal(t, "mine  data: {}  ", raw[i].name)
			require.Equal(t, machine.EventKind("mine\n\ndata: {}\r\n"), e.Kind)
			return
		}
	}
	require.Fail(t, "the event is missing")
}

// When the client goes away the run is stopped, whether it is asking a model or running a tool.
func TestDisconnect_stopsTheRun(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		for _, at := range []machine.EventKind{machine.EventTextDelta, machine.EventToolProgress} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %v", at, http2), func(t *testing.T) {
				ended := make(chan struct{})
				client := hanging(ended)
				hang := tools.NewRaw(tools.Definition{Name: "hang"}, func(ctx context.Context, _ string) (string, error) {
					tools.Progress(ctx, "it has begun")
					<-ctx.Done()
					close(ended)
					return "", ctx.Err()
				})
				if at == machine.EventToolProgress {
					client = scripted.New(scripted.Calls(scripted.Call("hang", "{}", "1")))
				}
				server, over := serve(t, sse.Config{Start: sse.Tasks(agent(t, client, with(hang)))}, func(s *httptest.Server) { s.EnableHTTP2 = http2 })
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for b := range blocks(post(t, ctx, server, `{"goal": "go"}`).Body) {
					if b.name == string(at) {
						cancel()
						break
					}
				}
				waittest.Receive(t, ended)
				waittest.Receive(t, over)
			})
		}
	}
}

// However it is found out that the client has gone, the journal says that the run was stopped.
func TestDisconnect_isStored(t *testing.T) {
	for name, client := range map[string]llmclient.Client{"while it waits": hanging(make(chan struct{})), "while it writes": flood(nil)} {
		t.Run(name, func(t *testing.T) {
			o := agent(t, client, func(c *orchestrator.Config) { c.Store = new(checkpoint.Memory) })
			server, over := serve(t, sse.Config{Start: sse.Tasks(o), Authorize: anyRun, WriteTimeout: 100 * time.Millisecond})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for b := range blocks(post(t, ctx, server, `{"run": "r", "goal": "go"}`).Body) {
				if b.name == string(machine.EventTextDelta) {
					break
				}
			}
			if name == "while it waits" {
				cancel()
			}
			waittest.Receive(t, over)
			res, err := orchestrator.Collect(o.Resume(t.Context(), orchestrator.Resumption{Run: "r"}))
			require.Error(t, err)
			require.Equal(t, machine.StatusStopped, res.Status, "%v", err)
		})
	}
}

// A run with a context of its own goes on without its client.
func TestDisconnect_ofARunOfItsOwn(t *testing.T) {
	released := make(chan struct{})
	o := agent(t, waiting(released), func(c *orchestrator.Config) { c.Store = new(checkpoint.Memory) })
	gone := make(chan struct{})
	server, over := serve(t, sse.Config{KeepAlive: time.Millisecond, Start: func(r *http.Request) (iter.Seq2[machine.Event, error], error) {
		context.AfterFunc(r.Context(), func() { close(gone) })
		return o.Stream(context.WithoutCancel(r.Context()), orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}}), nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range blocks(post(t, ctx, server, "").Body) {
		break
	}
	cancel()
	waittest.Receive(t, gone)
	close(released)
	waittest.Receive(t, over)
	ended, _ := serve(t, sse.Config{Start: sse.Replies(o), Authorize: anyRun})
	events, _ := read(t, post(t, t.Context(), ended, `{"run": "r"}`))
	require.Len(t, events, 1)
	require.Equal(t, "at last", events[0].Detail.(machine.RunFinished).Output.Text())
}

// While the run has nothing to tell, comments come; they are no events.
func TestKeepAlive(t *testing.T) {
	released := make(chan struct{})
	o := agent(t, waiting(released))
	server, _ := serve(t, sse.Config{Start: sse.Tasks(o), KeepAlive: time.Millisecond})
	comments, last := 0, ""
	for b := range blocks(post(t, t.Context(), server, `{"goal": "go"}`).Body) {
		if b.comment == "" {
			last = b.name
			continue
		}
		require.Equal(t, "nothing new", b.comment)
		if comments++; comments == 3 {
			close(released)
		}
	}
	require.GreaterOrEqual(t, comments, 3)
	require.Equal(t, "run_finished", last)
}

// slowComment is a ResponseWriter that takes its time for comments.
type slowComment struct {
	*httptest.ResponseRecorder
	begun chan struct{}
	ended atomic.Bool
}

func (w *slowComment) Write(p []byte) (int, error) {
	if !strings.HasPrefix(string(p), ":") {
		return w.ResponseRecorder.Write(p)
	}
	close(w.begun)
	time.Sleep(20 * time.Millisecond)
	w.ended.Store(true)
	return 0, http.ErrHandlerTimeout
}

// Nothing is written when the handler has returned: the ResponseWriter is the server's again.
func TestKeepAlive_endsWithTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowComment{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{})}
		handler, err := sse.New(sse.Config{KeepAlive: time.Millisecond, Start: func(r *http.Request) (iter.Seq2[machine.Event, error], error) {
			return func(yield func(machine.Event, error) bool) {
				yield(machine.Event{Kind: "mine"}, nil)
				<-w.begun
			}, nil
		}})
		require.NoError(t, err)
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
		require.True(t, w.ended.Load())
	})
}

// A client that cannot be reached with a comment has gone.
func TestKeepAlive_failsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowComment{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{})}
		handler, err := sse.New(sse.Config{KeepAlive: time.Millisecond, Start: func(r *http.Request) (iter.Seq2[machine.Event, error], error) {
			return func(yield func(machine.Event, error) bool) {
				yield(machine.Event{Kind: "mine"}, nil)
				<-r.Context().Done()
				require.True(t, yield(machine.Event{Kind: "mine"}, nil), "whether it ends now is for the run to say")
			}, nil
		}})
		require.NoError(t, err)
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
		require.Equal(t, 1, strings.Count(w.Body.String(), "event:"))
	})
}

// The server's own deadlines are for requests that are short: neither that for reading nor that for
// writing ends a stream, and WriteTimeout is for each event.
func TestDeadlines(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		for _, keepAlive := range []time.Duration{5 * time.Millisecond, -1} {
			t.Run(fmt.Sprintf("HTTP/2 %v, keep-alive %v", http2, keepAlive), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const limit = 200 * time.Millisecond
					released := make(chan struct{})
					server := servePiped(t, sse.Config{Start: sse.Tasks(agent(t, waiting(released))), KeepAlive: keepAlive, WriteTimeout: limit}, func(s *httptest.Server) {
						s.EnableHTTP2 = http2
						s.Config.ReadTimeout, s.Config.WriteTimeout = limit, limit
					})
					resp := post(t, t.Context(), server, `{"goal": "go"}`)
					time.AfterFunc(2*limit, func() { close(released) })
					got, _ := read(t, resp)
					require.Equal(t, machine.StatusDone, got[len(got)-1].Detail.(machine.RunFinished).Status)
				})
			})
		}
	}
}

// flood is a model that does not end by itself; it counts the pieces that were taken.
func flood(taken chan<- struct{}) llmclient.Client {
	var numbers []byte // a text that repeats itself would be cut off
	for n := 0; len(numbers) < 64<<10; n++ {
		numbers = strconv.AppendInt(numbers, int64(n), 10)
	}
	piece := string(numbers)
	return llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		for ctx.Err() == nil {
			onDelta(llmclient.Delta{Text: piece})
			select {
			case taken <- struct{}{}:
			default:
			}
		}
		return nil, ctx.Err()
	})
}

// A client that does not read holds the run up, and after WriteTimeout ends it.
func TestSlowClient(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		taken := make(chan struct{}, 1_000_000)
		server, over := serve(t, sse.Config{Start: sse.Tasks(agent(t, flood(taken))), WriteTimeout: 200 * time.Millisecond, KeepAlive: time.Millisecond},
			func(s *httptest.Server) { s.EnableHTTP2 = http2 })
		resp := post(t, t.Context(), server, `{"goal": "go"}`)
		waittest.Receive(t, over)
		require.Less(t, len(taken), 10_000, "what the network holds, and no more")
		require.NoError(t, resp.Body.Close())
	}
}

// A panic of the filter is the server's to deal with; the run is not left going.
func TestFilterPanics(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	hang := tools.NewRaw(tools.Definition{Name: "hang"}, func(ctx context.Context, _ string) (string, error) {
		close(begun)
		<-ctx.Done()
		close(ended)
		return "", ctx.Err()
	})
	quick := tools.NewRaw(tools.Definition{Name: "quick"}, func(context.Context, string) (string, error) {
		<-begun
		return "", nil
	})
	calls := scripted.Calls(scripted.Call("hang", "{}", "1"), scripted.Call("quick", "{}", "2"))
	o := agent(t, scripted.New(calls), with(hang, quick))
	server, over := serve(t, sse.Config{Start: sse.Tasks(o), KeepAlive: time.Millisecond, Filter: func(e *machine.Event) bool {
		if e.Kind == machine.EventToolFinished {
			panic("the filter's own")
		}
		return true
	}})
	last := ""
	for b := range blocks(post(t, t.Context(), server, `{"goal": "go"}`).Body) {
		if b.comment == "" {
			last = b.name
		}
	}
	waittest.Receive(t, ended)
	waittest.Receive(t, over)
	require.Equal(t, "tool_started", last)
}

// A run that waits for a person goes on in a stream of its own.
func TestReplies(t *testing.T) {
	model := scripted.New(scripted.Calls(scripted.Call("ask_user", `{"question":"Which file?"}`, "1")), scripted.Text("done"))
	o := agent(t, model, with(tools.AskUser()), func(c *orchestrator.Config) { c.Store = new(checkpoint.Memory) })
	start, _ := serve(t, sse.Config{Start: sse.Tasks(o), Authorize: anyRun})
	resume, _ := serve(t, sse.Config{Start: sse.Replies(o), Authorize: anyRun})

	got, _ := read(t, post(t, t.Context(), start, `{"run": "r", "goal": "go"}`))
	end := got[len(got)-1].Detail.(machine.RunFinished)
	require.Equal(t, machine.StatusWaiting, end.Status)
	require.Equal(t, "Which file?", end.Waits[0].Text)

	refused(t, post(t, t.Context(), start, `{"run": "r", "goal": "go"}`), http.StatusConflict, "in_use", "the run exists already, or is in progress")
	refused(t, post(t, t.Context(), resume, `{"run": "other"}`), http.StatusForbidden, "run", "there is no such run or session for you")
	refused(t, post(t, t.Context(), start, `{"run": "a\u0000b", "goal": "go"}`), http.StatusForbidden, "run", "there is no such run or session for you")
	refused(t, post(t, t.Context(), resume, `{"run": "r", "replies": [{"wait_id": "x"}]}`), http.StatusConflict, "reply", "the run does not wait for it")
	refused(t, post(t, t.Context(), resume, `{"replies": []}`), http.StatusBadRequest, "bad_request", "the body has no run")

	got, _ = read(t, post(t, t.Context(), resume, fmt.Sprintf(`{"run": "r", "replies": [{"wait_id": %q, "text": "a.txt"}]}`, end.Waits[0].ID)))
	require.Equal(t, machine.EventRunResumed, got[0].Kind)
	require.Equal(t, machine.StatusDone, got[len(got)-1].Detail.(machine.RunFinished).Status)
	requests := model.Requests()
	require.Equal(t, "a.txt", requests[len(requests)-1].Messages.Last().(messages.Tool).Output)
}
