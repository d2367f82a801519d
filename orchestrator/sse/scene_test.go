package sse_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// block is one event of a stream as a browser sees it, or a comment.
type block struct {
	id, name, data string
	comment        string
}

// event reads the data of a block.
func (b block) event(t *testing.T) (e machine.Event) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(b.data), &e), "%s", b.data)
	return e
}

// blocks reads a stream by the rules of the specification: fields up to an empty line, of which the
// data are joined, lines ended by CR, LF or both.
func blocks(body io.Reader) iter.Seq[block] {
	return func(yield func(block) bool) {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 10<<20)
		var b block
		var data []string
		for lines.Scan() {
			for line := range strings.SplitSeq(lines.Text(), "\r") {
				field, value, _ := strings.Cut(line, ":")
				value = strings.TrimPrefix(value, " ")
				switch {
				case line == "" && data == nil:
					b = block{id: b.id}
				case line == "":
					b.data = strings.Join(data, "\n")
					if !yield(b) {
						return
					}
					b, data = block{id: b.id}, nil
				case field == "":
					if !yield(block{comment: value}) {
						return
					}
				case field == "id":
					b.id = value
				case field == "event":
					b.name = value
				case field == "data":
					data = append(data, value)
				}
			}
		}
	}
}

func agent(t *testing.T, client llmclient.Client, edit ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
	t.Helper()
	cfg := orchestrator.Config{Client: client, Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})}}
	for _, e := range edit {
		e(&cfg)
	}
	o, err := orchestrator.New(cfg)
	require.NoError(t, err)
	return o
}

func with(list ...tools.Tool) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Tools = append(c.Tools, list...) }
}

func echo(name string) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: name}, func(_ context.Context, args string) (string, error) { return name + args, nil })
}

// serve starts a server for a handler, and returns it with what its handlers have returned from.
func serve(t *testing.T, cfg sse.Config, edit ...func(*httptest.Server)) (server *httptest.Server, over chan struct{}) {
	t.Helper()
	handler, err := sse.New(cfg)
	require.NoError(t, err)
	over = make(chan struct{}, 100)
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { over <- struct{}{} }()
		handler.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, e := range edit {
		e(server)
	}
	if server.EnableHTTP2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server, over
}

// post posts JSON. The body of the response is closed with the test, and the request ends with ctx.
func post(t *testing.T, ctx context.Context, server *httptest.Server, body string) *http.Response { //nolint:revive // t comes first
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := server.Client().Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// read reads a stream to its end.
func read(t *testing.T, resp *http.Response) (events []machine.Event, raw []block) {
	t.Helper()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	for b := range blocks(resp.Body) {
		if b.comment != "" {
			continue
		}
		raw, events = append(raw, b), append(events, b.event(t))
	}
	return events, raw
}

// timeless is what is the same in two runs of the same script.
func timeless(t *testing.T, events []machine.Event) (list []string) {
	t.Helper()
	for _, e := range events {
		e.Run, e.Time = "", time.Time{}
		switch d := e.Detail.(type) {
		case machine.StepTaken:
			d.Elapsed = 0
			e.Detail = d
		case machine.ToolFinished:
			d.Output.Elapsed = 0
			e.Detail = d
		case machine.FrameLeft:
			d.Elapsed = 0
			e.Detail = d
		case machine.RunFinished:
			d.Output = still(d.Output)
			e.Detail = d
		}
		data, err := json.Marshal(e)
		require.NoError(t, err)
		list = append(list, string(data))
	}
	return list
}

func still(out delegation.Output) delegation.Output {
	out.Elapsed, out.Messages = 0, out.Messages.Clip()
	for i, m := range out.Messages {
		if tool, ok := m.(messages.Tool); ok {
			tool.Elapsed = 0
			out.Messages = append(out.Messages[:i:i], append(messages.History{tool}, out.Messages[i+1:]...)...)
		}
	}
	return out
}

// hanging is a model that says something and then nothing more until its context ends; ended is
// closed then.
func hanging(ended chan struct{}) llmclient.Client {
	return llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		onDelta(llmclient.Delta{Text: "well"})
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
}

// waiting is a model that answers once it is released.
func waiting(released <-chan struct{}) llmclient.Client {
	return llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		select {
		case <-released:
			return &llmclient.Response{Message: messages.AssistantText("at last")}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}
