package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/tools"
)

// A tool whose schema the server refuses is left out, and named.
func TestToolsThatAreRefused(t *testing.T) {
	var bodies []string
	var s *server
	s = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		body, _ := s.sent()
		bodies = append(bodies, body)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(body, `"odd"`) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"tools.1.custom.input_schema: JSON schema is invalid."}}`)
			return
		}
		_, _ = io.WriteString(w, whole(`{"type":"text","text":"ok"}`, "end_turn"))
	})
	client := newClient(t, s)
	req := hello()
	req.Tools = []tools.Definition{
		{Name: "list_team", Parameters: json.RawMessage(`{"type":"object"}`)},
		{Name: "odd", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"nothing"}}}`)},
	}
	var told []llmclient.Notice
	ctx := llmclient.WithNotify(t.Context(), func(n llmclient.Notice) { told = append(told, n) })
	for _, onDelta := range []func(llmclient.Delta){nil, func(llmclient.Delta) {}} {
		resp, err := client.Complete(ctx, req, onDelta)
		require.NoError(t, err)
		require.Equal(t, "ok", resp.Message.Text())
		require.Len(t, told, 1, "only the first request is made twice")
		require.Equal(t, llmclient.NoticeToolLeftOut, told[0].Kind)
		require.ErrorContains(t, told[0].Err, `the tool "odd" is left out`)
		require.Equal(t, onDelta == nil, len(resp.Attempts) == 1)
	}
	require.Len(t, bodies, 3)
	require.Contains(t, bodies[2], `"tools":[{"name":"list_team","input_schema":{"type":"object","properties":{}}}]`)

	req.ToolChoice = llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "odd"}
	_, err := client.Complete(ctx, req, nil)
	require.Equal(t, llmclient.CodeBadRequest, asError(t, err).Code)
	require.Len(t, bodies, 4)
}
