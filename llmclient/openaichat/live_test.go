package openaichat_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
)

// hold writes data and then keeps the connection open until the client closes it.
func hold(t *testing.T, data ...string) *server {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(data...))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
}

// abort writes body and then breaks the connection.
func abort(t *testing.T, contentType, body string) *server {
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
}

const openCall = `"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}}]`

func TestStream_EndsWithoutFinishReason(t *testing.T) {
	wholeCall := chunk(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`)
	for name, c := range map[string]struct {
		body   string
		finish llmclient.FinishReason
		code   llmclient.Code
		calls  int
	}{
		"complete calls":             {events(wholeCall), llmclient.FinishToolCalls, "", 1},
		"a call that is cut":         {events(wholeCall, chunk(openCall)), "", llmclient.CodeTruncated, 1},
		"a call without arguments":   {events(chunk(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]`)), "", llmclient.CodeTruncated, 0},
		"text":                       {events(chunk(`"content":"half"`)), "", llmclient.CodeTruncated, 0},
		"text, DONE":                 {events(chunk(`"content":"half"`), "[DONE]"), llmclient.FinishStop, "", 0},
		"calls, DONE":                {events(wholeCall, chunk(openCall), "[DONE]"), llmclient.FinishToolCalls, "", 2},
		"nothing, DONE":              {events(chunk(``), "[DONE]"), llmclient.FinishStop, "", 0},
		"only DONE":                  {events("[DONE]"), "", llmclient.CodeBadResponse, 0},
		"comments alone":             {": hello\n\n: hello\n\n", "", llmclient.CodeTruncated, 0},
		"cut in the middle of event": {events(chunk(`"content":"half"`)) + `data: {"choices":[{"delta":{"conte`, "", llmclient.CodeTruncated, 0},
		"finish, then cut":           {events(chunk(`"content":"half"`, `"finish_reason":"stop"`)) + `data: {"choi`, llmclient.FinishStop, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := say(t, 200, "text/event-stream", c.body)
			for _, read := range []func(testing.TB, *server, ...func(*openaichat.Config)) (*llmclient.Response, *llmclient.Error){ask, askWhole} {
				resp, err := read(t, s)
				if c.code == "" {
					require.Equal(t, c.finish, must(t, resp, err).Finish)
					require.Len(t, resp.Message.Calls(), c.calls)
					continue
				}
				require.Equal(t, c.code, err.Code)
				require.Len(t, err.Partial.Calls(), c.calls, "a cut call is left out")
				require.Equal(t, strings.Contains(c.body, "half"), err.Partial.Text() == "half")
			}
		})
	}
}

func TestStream_ConnectionBreaks(t *testing.T) {
	for contentType, body := range map[string]string{
		"text/event-stream": events(chunk(`"content":"half"`), chunk(openCall)),
		"application/json":  `{"choices":[{"message":{"content":"half`,
		"text/plain":        ``,
	} {
		_, err := ask(t, abort(t, contentType, body))
		require.NotNil(t, err)
		require.Equal(t, llmclient.CodeUnavailable, err.Code, err)
		require.True(t, err.Code.Temporary())
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Empty(t, err.Partial.Calls())
		require.Equal(t, contentType == "text/event-stream", err.Partial.Text() == "half")
	}
	resp, err := ask(t, abort(t, "text/event-stream", events(chunk(`"content":"all"`), chunk(``, `"finish_reason":"stop"`))))
	require.Equal(t, "all", must(t, resp, err).Message.Text(), "a reply that is finished is whole")
}

func TestStream_CanceledFromOnDelta(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := newClient(t, hold(t, chunk(`"content":"half"`))).Complete(ctx, hello(), func(llmclient.Delta) { cancel() })
	e := asError(t, err)
	require.Equal(t, llmclient.CodeCanceled, e.Code)
	require.Equal(t, "half", e.Partial.Text())
}

func TestStream_PanicInOnDeltaLeavesNothingBehind(t *testing.T) {
	client := newClient(t, hold(t, chunk(`"content":"half"`)))
	require.PanicsWithValue(t, "mine", func() {
		_, _ = client.Complete(context.Background(), hello(), func(llmclient.Delta) { panic("mine") })
	})
}

func TestStream_OnDeltaComesAsItArrives(t *testing.T) {
	step := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range []string{chunk(`"reasoning":"h"`), chunk(`"content":"a"`), chunk(`"content":"b"`)} {
			_, _ = io.WriteString(w, events(d))
			w.(http.Flusher).Flush()
			<-step
		}
		_, _ = io.WriteString(w, events(chunk(``, `"finish_reason":"stop"`), "[DONE]"))
	})
	var got pieces
	resp, err := newClient(t, s).Complete(context.Background(), hello(), func(d llmclient.Delta) {
		got.add(d)
		step <- struct{}{} // the server continues only after the delta has arrived
	})
	require.NoError(t, err)
	require.Equal(t, []llmclient.Delta{{Kind: llmclient.DeltaThought, Text: "h"}, {Kind: llmclient.DeltaText, Text: "a"}, {Kind: llmclient.DeltaText, Text: "b"}}, got.list)
	require.Equal(t, []messages.AssistantContent{messages.Thought{Text: "h"}, messages.Text{Text: "ab"}}, resp.Message.Content)
}

func TestStream_AnswersAreBounded(t *testing.T) {
	bound := func(cfg *openaichat.Config) { cfg.MaxResponse = 100_000 }
	long := strings.Repeat("x", 200_000)
	endless := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, long); err != nil {
				return
			}
		}
	})
	for name, s := range map[string]*server{
		"endless line": endless,
		"long event":   say(t, 200, "text/event-stream", events(chunk(`"content":"a"`), chunk(`"content":"`+long+`"`))),
		"long stream":  say(t, 200, "text/event-stream", strings.Repeat(events(chunk(`"content":"a"`)), 2000)),
		"long body":    sayJSON(t, whole(`"content":"`+long+`"`, `"stop"`)),
		"many blanks":  say(t, 200, "application/json", strings.Repeat("\n", 200_000)+doneBody),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(t, s, bound)
			require.NotNil(t, err)
			require.Equal(t, llmclient.CodeBadResponse, err.Code, err)
			require.Contains(t, err.Message, "100000 bytes")
			require.Less(t, len(err.Error()), 500)
		})
	}
	resp, err := ask(t, say(t, 200, "text/event-stream", events(chunk(`"content":"`+long+`"`), "[DONE]")), func(cfg *openaichat.Config) { cfg.MaxResponse = -1 })
	require.Equal(t, long, must(t, resp, err).Message.Text())

	var many []string
	for i := range 1100 {
		many = append(many, chunk(fmt.Sprintf(`"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"f","arguments":"{}"}}]`, i, i)))
	}
	_, err = ask(t, sayEvents(t, many...))
	require.Equal(t, llmclient.CodeBadResponse, err.Code)
	require.Contains(t, err.Message, "1024 tool calls")
}

func TestStream_ConnectionIsUsedAgain(t *testing.T) {
	addrs := map[string]bool{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		addrs[r.RemoteAddr] = true
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(chunk(`"content":"a"`), "[DONE]"))
		w.(http.Flusher).Flush()
	})
	client := newClient(t, s)
	for range 5 {
		_, err := client.Complete(context.Background(), hello(), func(llmclient.Delta) {})
		require.NoError(t, err)
	}
	require.Len(t, addrs, 1)
}

func TestClient_ManyAtOnceDoNotMix(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name := r.Header.Get("X-Name")
		_, _ = io.WriteString(w, events(chunk(`"content":"`+name+`"`), chunk(`"content":"`+name+`"`), "[DONE]"))
	})
	client := newClient(t, s, func(cfg *openaichat.Config) {
		cfg.Options = []option.RequestOption{option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			r.Header.Set("X-Name", r.Context().Value(nameKey{}).(string))
			return next(r)
		})}
	})
	failed := make(chan error, 8)
	for i := range cap(failed) {
		go func() {
			name := fmt.Sprintf("n%d", i)
			for range 20 {
				var got pieces
				resp, err := client.Complete(context.WithValue(context.Background(), nameKey{}, name), hello(), got.add)
				if err == nil && (resp.Message.Text() != name+name || got.join(llmclient.DeltaText) != name+name) {
					err = errors.New(name + " got " + resp.Message.Text())
				}
				if err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range cap(failed) {
		require.NoError(t, <-failed)
	}
}

type nameKey struct{}
