package openaichat_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
)

// callPiece is a chunk with a piece of a tool call.
func callPiece(index int, idAndName, arguments string) string {
	return chunk(`"tool_calls":[{"index":` + strconv.Itoa(index) + `,` + idAndName + `"arguments":` + strconv.Quote(arguments) + `}}]`)
}

// Whoever asks for it hears the arguments of calls as they come, and only what stands.
func TestStream_callDeltas(t *testing.T) {
	const first, more = `"id":"a","function":{"name":"f",`, `"function":{`
	for name, c := range map[string]struct {
		chunks []string
		want   []llmclient.CallDelta
	}{
		"pieces": {
			[]string{callPiece(0, first, ""), callPiece(0, more, `{"x`), callPiece(0, more, `":`), callPiece(0, more, `1}`)},
			[]llmclient.CallDelta{{ID: "a", Tool: "f", Text: `{"x`}, {ID: "a", Tool: "f", Text: `":`}, {ID: "a", Tool: "f", Text: `1}`}},
		},
		"two calls": {
			[]string{callPiece(0, first, `{"x":1}`), callPiece(1, `"id":"b","function":{"name":"g",`, `{"y"`), callPiece(1, more, `:2}`)},
			[]llmclient.CallDelta{{ID: "a", Tool: "f", Text: `{"x":1}`}, {Index: 1, ID: "b", Tool: "g", Text: `{"y"`}, {Index: 1, ID: "b", Tool: "g", Text: `:2}`}},
		},
		"an empty object that is replaced": {
			[]string{callPiece(0, first, `{}`), callPiece(0, more, ` {"x":`), callPiece(0, more, `1}`)},
			[]llmclient.CallDelta{{ID: "a", Tool: "f", Text: ` {"x":`}, {ID: "a", Tool: "f", Text: `1}`}},
		},
		"a name that comes late": {
			[]string{callPiece(0, `"id":"a","function":{`, `{"x":`), callPiece(0, `"function":{"name":"f",`, `1}`)},
			[]llmclient.CallDelta{{ID: "a", Tool: "f", Text: `{"x":1}`}},
		},
		"no id, and the same one twice": {
			[]string{
				callPiece(0, `"function":{"name":"f",`, `{"x"`), callPiece(0, more, `:1}`), callPiece(1, `"id":"b","function":{"name":"g",`, `{"y":2}`),
				callPiece(2, `"id":"b","function":{"name":"g",`, `{"y":3}`),
			},
			[]llmclient.CallDelta{
				{ID: "call_1_0", Tool: "f", Text: `{"x"`},
				{ID: "call_1_0", Tool: "f", Text: `:1}`},
				{Index: 1, ID: "b", Tool: "g", Text: `{"y":2}`},
				{Index: 2, Tool: "g", Text: `{"y":3}`},
			},
		},
		"one piece for the whole": {
			[]string{callPiece(0, first, `{"x":1}`)},
			[]llmclient.CallDelta{{ID: "a", Tool: "f", Text: `{"x":1}`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := sayEvents(t, append(c.chunks, chunk(``, `"finish_reason":"tool_calls"`))...)
			var got []llmclient.CallDelta
			ctx := llmclient.WithCallDeltas(t.Context(), func(d llmclient.CallDelta) { got = append(got, d) })
			resp, err := newClient(t, s).Complete(ctx, hello(), func(llmclient.Delta) {})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			joined := map[int]string{}
			for _, d := range got {
				joined[d.Index] += d.Text
				if d.ID != "" {
					require.Equal(t, resp.Message.Calls()[d.Index].ID, d.ID)
				}
			}
			for i, call := range resp.Message.Calls() {
				require.Equal(t, call.Arguments, joined[i])
			}
		})
	}
}

// They are heard before the reply is there, and not at all of a reply that is not streamed.
func TestStream_callDeltasComeAsTheyArrive(t *testing.T) {
	step := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range []string{callPiece(0, `"id":"a","function":{"name":"f",`, `{"x`), callPiece(0, `"function":{`, `":1}`)} {
			_, _ = io.WriteString(w, events(d))
			w.(http.Flusher).Flush()
			<-step
		}
		_, _ = io.WriteString(w, events(chunk(``, `"finish_reason":"tool_calls"`), "[DONE]"))
	})
	heard := 0
	ctx := llmclient.WithCallDeltas(context.Background(), func(llmclient.CallDelta) {
		heard++
		step <- struct{}{} // the server goes on only once the piece is here
	})
	_, err := newClient(t, s).Complete(ctx, hello(), func(llmclient.Delta) {})
	require.NoError(t, err)
	require.Equal(t, 2, heard)

	reply := sayJSON(t, whole(`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`, `"tool_calls"`))
	_, err = newClient(t, reply).Complete(ctx, hello(), nil)
	require.NoError(t, err)
	require.Equal(t, 2, heard)
}
