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

	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
)

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
	var got []llmclient.Delta
	resp, err := newClient(t, s).Complete(context.Background(), hello(), func(d llmclient.Delta) {
		got = append(got, d)
		step <- struct{}{} // the server continues only after the delta has arrived
	})
	require.NoError(t, err)
	require.Equal(t, []llmclient.Delta{{Kind: llmclient.DeltaThought, Text: "h"}, {Kind: llmclient.DeltaText, Text: "a"}, {Kind: llmclient.DeltaText, Text: "b"}}, got)
	require.Equal(t, []messages.AssistantContent{messages.Thought{Text: "h"}, messages.Text{Text: "ab"}}, resp.Message.Content)
}

func TestStream_AnswersAreBounded(t *testing.T) {
	var many []string
	for i := range 1100 {
		many = append(many, chunk(fmt.Sprintf(`"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"f","arguments":"{}"}}]`, i, i)))
	}
	_, err := ask(t, sayEvents(t, many...))
	require.Equal(t, llmclient.CodeBadResponse, err.Code)
	require.Contains(t, err.Message, "1024 tool calls")
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
				heard := ""
				resp, err := client.Complete(context.WithValue(context.Background(), nameKey{}, name), hello(), func(d llmclient.Delta) { heard += d.Text })
				if err == nil && (resp.Message.Text() != name+name || heard != name+name) {
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
		require.NoError(t, waittest.Receive(t, failed))
	}
}

type nameKey struct{}
