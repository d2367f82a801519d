package sse_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
)

// joined is what a reader makes of the replies of a run, by frame and step.
type joined struct {
	texts, thoughts map[string]string
	calls           map[string]string // by their ids
	last            string            // the id of the last event
	over            bool
}

func newJoined() *joined {
	return &joined{texts: map[string]string{}, thoughts: map[string]string{}, calls: map[string]string{}}
}

// add reads what came of a stream, as far as its events are whole.
func (j *joined) add(t *testing.T, stream []byte) {
	t.Helper()
	if bytes.HasPrefix(stream, []byte("id: 0\n\n")) && j.last == "" {
		j.last = "0"
	}
	whole := stream[:bytes.LastIndex(stream, []byte("\n\n"))+1] // what is cut off is no event
	for b := range blocks(bytes.NewReader(append(bytes.Clone(whole), '\n'))) {
		if b.comment != "" {
			continue
		}
		j.last = b.id
		e := b.event(t)
		step := fmt.Sprint(e.Frame, " ", e.Seq)
		switch d := e.Detail.(type) {
		case nil:
			if e.Kind == machine.EventTextDelta {
				j.texts[step] += e.Text
			} else {
				j.thoughts[step] += e.Text
			}
		case machine.CallDelta:
			j.calls[d.CallID] += e.Text
		case machine.StepSnapshot:
			j.texts[step], j.thoughts[step] = d.Text, d.Thoughts
			for _, c := range d.Calls {
				j.calls[c.CallID] = c.Arguments
			}
		case machine.RetryWaiting:
			clear(j.calls)
			if d.Discard {
				j.texts[step], j.thoughts[step] = "", ""
			}
		case machine.ToolStarted:
			j.calls[d.Call.ID] = d.Call.Arguments
		case machine.RunFinished:
			j.over = true
		default:
		}
	}
	maps.DeleteFunc(j.texts, func(_, text string) bool { return text == "" })
	maps.DeleteFunc(j.thoughts, func(_, text string) bool { return text == "" })
}

// paced is a model with two replies. The first is begun twice. Before each piece it calls pace.
func paced(pace func()) llmclient.Client {
	return llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		say := func(kind llmclient.DeltaKind, pieces ...string) string {
			for _, piece := range pieces {
				pace()
				onDelta(llmclient.Delta{Kind: kind, Text: piece})
			}
			return strings.Join(pieces, "")
		}
		if _, again := req.Messages[len(req.Messages)-1].(messages.Tool); again {
			return &llmclient.Response{Message: messages.AssistantText(say(llmclient.DeltaText, "six ", "seven\n\n", "é "))}, nil
		}
		say(llmclient.DeltaThought, "hm")
		say(llmclient.DeltaText, "no ")
		llmclient.Notify(ctx, llmclient.Notice{Kind: llmclient.NoticeRetry, Attempt: 1, Err: errors.New("busy"), Discard: true})
		call := messages.ToolCall{ID: "c1", Name: "look", Arguments: `{"x":1}`}
		content := []messages.AssistantContent{messages.Thought{Text: say(llmclient.DeltaThought, "first ", "think")}, messages.Text{Text: say(llmclient.DeltaText, "one ", "two ", "three")}, call}
		for _, piece := range []string{`{"x`, `":1}`} {
			pace()
			llmclient.CallDeltas(ctx)(llmclient.CallDelta{ID: call.ID, Tool: call.Name, Text: piece})
		}
		return &llmclient.Response{Message: messages.Assistant{Content: content}}, nil
	})
}

// connection takes so many bytes of a response, and then breaks.
type connection struct {
	mu     sync.Mutex
	header http.Header
	left   int
	got    bytes.Buffer
	moved  func()
	broken bool
}

func (c *connection) Header() http.Header { return c.header }
func (c *connection) WriteHeader(int)     {}
func (c *connection) Flush()              {}

func (c *connection) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(p), c.left)
	c.left -= n
	c.got.Write(p[:n])
	c.moved()
	if n < len(p) || c.left == 0 {
		c.broken = true
		return n, errors.New("the connection is broken")
	}
	return n, nil
}

// cutting is a run whose client's connections break, each after its number of bytes.
type cutting struct {
	t       *testing.T
	handler *sse.Handler
	join    *joined
	steps   chan struct{} // the model may write a piece for each
	done    chan struct{}
}

// begin starts the run, and returns when its connection breaks.
func (c *cutting) begin(left int, free bool) {
	c.steps, c.done = make(chan struct{}, 1000), make(chan struct{})
	o := agent(c.t, paced(func() { <-c.steps }), with(echo("look")), inMemory, func(cfg *orchestrator.Config) { cfg.CallDeltas = true })
	var err error
	c.handler, err = sse.New(sse.Config{Start: sse.Tasks(o), Follow: o, Detached: true, Authorize: anyRun, KeepAlive: -1})
	require.NoError(c.t, err)
	c.join = newJoined()
	req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"run": "r", "goal": "go"}`))
	req.Header.Set("Content-Type", "application/json")
	first := c.connect(left, free)
	go func() {
		defer close(c.done)
		c.handler.ServeHTTP(first, req)
	}()
	require.Eventually(c.t, func() bool {
		first.mu.Lock()
		defer first.mu.Unlock()
		select {
		case <-c.done:
			return true
		default:
			return first.broken
		}
	}, 10*time.Second, 50*time.Microsecond)
	first.mu.Lock()
	c.join.add(c.t, first.got.Bytes())
	first.mu.Unlock()
}

// connect returns a connection. The model writes a piece for each block that comes over it and, if
// it is free, for the one that breaks it.
func (c *cutting) connect(left int, free bool) *connection {
	conn := &connection{header: http.Header{}, left: left}
	conn.moved = func() {
		if conn.left > 0 || free {
			c.steps <- struct{}{}
		}
	}
	return conn
}

// again connects again behind the last event.
func (c *cutting) again(left int, free bool) {
	req := httptest.NewRequest(http.MethodGet, "/?run=r", http.NoBody)
	if c.join.last != "" {
		req.Header.Set("Last-Event-ID", c.join.last)
	}
	conn := c.connect(left, free)
	c.handler.ServeHTTP(conn, req)
	c.join.add(c.t, conn.got.Bytes())
}

// A client whose connection breaks at any byte of its stream, and of the next one, has the whole
// text in the end: whether the model writes on meanwhile, waits, or is done.
func TestFollow_cutAnywhere(t *testing.T) {
	t.Parallel()
	const all = 1 << 20
	c := cutting{t: t}
	c.begin(all, true)
	<-c.done
	want := *c.join
	require.Equal(t, map[string]string{"0 1": "one two three", "0 3": "six seven\n\né "}, want.texts)
	require.Equal(t, map[string]string{"0 1": "first think"}, want.thoughts)
	require.Equal(t, map[string]string{"c1": `{"x":1}`}, want.calls)
	for cut := 1; cut < 6000; cut++ {
		c.begin(cut, cut%3 == 0)
		if c.join.over {
			require.Greater(t, cut, 1000)
			break
		}
		if cut%3 == 1 { // the model goes on while nobody listens
			for range 1 + cut%11 {
				c.steps <- struct{}{}
			}
		}
		if cut%2 == 0 {
			c.again(1+cut*7%900, false)
		}
		if !c.join.over {
			c.again(all, true)
		}
		for range 20 {
			c.steps <- struct{}{}
		}
		<-c.done
		require.True(t, c.join.over, "cut behind byte %d", cut)
		require.Equal(t, want.texts, c.join.texts, "cut behind byte %d", cut)
		require.Equal(t, want.thoughts, c.join.thoughts, "cut behind byte %d", cut)
		require.Equal(t, want.calls, c.join.calls, "cut behind byte %d", cut)
	}
}
