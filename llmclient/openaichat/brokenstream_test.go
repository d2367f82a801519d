package openaichat_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
)

// Servers report a failure in the middle of a reply in many forms; then they send [DONE], as if the
// reply were whole.
func TestStreamThatFailsAfterTextIsNoSuccess(t *testing.T) {
	for last, want := range map[string]llmclient.Code{
		`{"object":"error","message":"boom","type":"BadRequestError","code":400}`:     llmclient.CodeBadRequest,
		`{"type":"error","message":"overloaded","code":529}`:                          llmclient.CodeUnavailable,
		`{"error":"busy","status_code":429}`:                                          llmclient.CodeRateLimited,
		`{"error":{"message":"slow down","type":"too_many_requests"}}`:                llmclient.CodeRateLimited,
		`{"error":{"message":"slow down","status":"RESOURCE_EXHAUSTED"}}`:             llmclient.CodeRateLimited,
		`{"detail":"Internal Server Error"}`:                                          llmclient.CodeUnavailable,
		`{"errors":[{"message":"AiError: no capacity","code":3040}],"success":false}`: llmclient.CodeUnavailable,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}`:                llmclient.CodeUnavailable,
	} {
		t.Run(last, func(t *testing.T) {
			s := sayEvents(t, `{"choices":[{"index":0,"delta":{"content":"Half an"}}]}`, last)
			_, err := ask(t, s, func(c *openaichat.Config) { c.MaxRetries = -1 })
			require.NotNil(t, err)
			require.Equal(t, want, err.Code)
			require.Equal(t, "Half an", err.Partial.Text())
		})
	}
}

func TestFinishReasonsOfGeminiBehindGateways(t *testing.T) {
	for name, want := range map[string]llmclient.FinishReason{
		"SAFETY": llmclient.FinishContentFilter, "content_filter: OTHER": llmclient.FinishContentFilter,
		"MAX_TOKENS": llmclient.FinishLength, "STOP": llmclient.FinishStop,
	} {
		r, err := ask(t, sayEvents(t, `{"choices":[{"index":0,"delta":{"content":"Half"},"finish_reason":"`+name+`"}]}`))
		require.Nil(t, err)
		require.Equal(t, want, r.Finish, name)
	}
}

// Events without a choice that are no errors.
func TestEventsBesideTheReplyAreNoErrors(t *testing.T) {
	r, err := ask(t, sayEvents(t, `{"type":"ping"}`, `{"object":"","choices":[],"prompt_filter_results":[]}`, `{"detail":null,"errors":[]}`,
		`{"choices":[{"index":0,"delta":{"content":"Whole"},"finish_reason":"stop"}]}`))
	require.Nil(t, err)
	require.Equal(t, "Whole", r.Message.Text())
}
