package policyclient_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// replies is a client that returns one message, and keeps the request.
type replies struct {
	message messages.Assistant
	asked   *llmclient.Request
}

func (r *replies) Complete(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
	r.asked = req
	return &llmclient.Response{Message: r.message, Finish: llmclient.FinishStop}, nil
}

// Sources that the model names stand at the text that was read from the text they were for.
func TestCitations_standAtTheirText(t *testing.T) {
	calls := markdownpolicy.Fenced.Render([]messages.AssistantContent{
		messages.Text{Text: "First."}, messages.ToolCall{Name: "add", Arguments: `{"a":1}`}, messages.Text{Text: "Last é."},
	})
	end := len(calls)
	inner := &replies{message: messages.Assistant{Content: []messages.AssistantContent{
		messages.Thought{Text: "hm", Extras: messages.Extras{"signature": []byte(`"s"`)}},
		messages.Text{Text: calls, Citations: []messages.Citation{
			{URL: "first", Start: 0, End: 5}, {URL: "last", Start: end - 8, End: end - 4}, {URL: "call", Start: 10, End: 12}, {URL: "across", Start: 1, End: end}, {URL: "whole"},
		}},
	}}}
	resp, err := policyclient.Wrap(inner, markdownpolicy.Fenced).Complete(t.Context(), question(), nil)
	require.NoError(t, err)
	content := resp.Message.Content
	require.Len(t, content, 4)
	require.Equal(t, inner.message.Content[0], content[0], "the thought keeps its signature")
	require.Equal(t, messages.Text{Text: "First.", Citations: []messages.Citation{{URL: "first", Start: 0, End: 5}, {URL: "call"}, {URL: "across"}, {URL: "whole"}}}, content[1])
	require.Equal(t, messages.Text{Text: "Last é.", Citations: []messages.Citation{{URL: "last", Start: 0, End: 4}}}, content[3])
	require.Len(t, inner.message.Content[1].(messages.Text).Citations, 5, "what the client returned is left as it was")
}

// The tools stand in the system message, so the cache mark of the tools does, too.
func TestCache_ofTools(t *testing.T) {
	inner := &replies{message: messages.AssistantText("ok")}
	req := question()
	req.Tools[0].Cache = messages.Cache1h
	_, err := policyclient.Wrap(inner, markdownpolicy.Hermes).Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, messages.Cache1h, inner.asked.Messages[0].(messages.System).Cache)
	require.Empty(t, inner.asked.Tools)
}

// A place that is not in the text, as a wrong client or server names it, becomes the whole text.
func TestCitations_outsideTheirText(t *testing.T) {
	odd := []messages.Citation{
		{URL: "before", Start: -2, End: 2},
		{URL: "behind", Start: 0, End: 5},
		{URL: "backwards", Start: 2, End: 1},
		{URL: "far", Start: math.MaxInt - 1, End: math.MaxInt},
		{URL: "least", Start: math.MinInt, End: math.MinInt},
	}
	inner := &replies{message: messages.Assistant{Content: []messages.AssistantContent{
		messages.Text{Text: "He"}, messages.Text{Text: "llo", Citations: odd}, messages.Text{Text: " world"},
	}}}
	resp, err := policyclient.Wrap(inner, markdownpolicy.Fenced).Complete(t.Context(), question(), nil)
	require.NoError(t, err)
	require.Equal(t, []messages.AssistantContent{messages.Text{Text: "Hello world", Citations: []messages.Citation{
		{URL: "before"}, {URL: "behind"}, {URL: "backwards"}, {URL: "far"}, {URL: "least"},
	}}}, resp.Message.Content)
}
