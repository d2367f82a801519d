package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// The wait that a provider asks for may stand in a field of the body, or in a sentence.
func TestReadError_waits(t *testing.T) {
	const info = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":`
	for body, want := range map[string]time.Duration{
		`[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[]},` + info + `"2.4s"}]}}]`: 2400 * time.Millisecond,
		`{"error":{"code":429,"message":"Please retry in 9s.","details":[` + info + `"41000s"}]}}`:                                   41000 * time.Second,
		`{"error":{"code":429,"message":"quota","details":[` + info + `"1e300s"}]}}`:                                                 0,
		`{"error":{"code":429,"message":"quota","details":[` + info + `"-3s"}]}}`:                                                    0,
		`{"error":{"code":429,"message":"quota","details":[` + info + `"NaNs"},7,null]}}`:                                            0,
		`{"error":{"code":429,"message":"quota","details":[` + info + `"` + strings.Repeat("9", 400) + `s"}]}}`:                      24 * time.Hour,
		`{"error":{"message":"busy","retry_after":12.5}}`:                                                                            12500 * time.Millisecond,
		`{"error":{"message":"busy","retry_after":-1}}`:                                                                              0,
		`{"error":{"message":"busy","retry_after":1e308}}`:                                                                           24 * time.Hour,
		`{"error":{"message":"p","code":429,"metadata":{"raw":"{\"error\":{\"details\":[{\"retryDelay\":\"44s\"}]}}"}}}`:             44 * time.Second,
		`{"error":{"message":"p - b'{\\n \"retryDelay\": \"21s\"}'","code":429}}`:                                                    21 * time.Second,
		`Please try again in 11.054s.`:                                11054 * time.Millisecond,
		`Please retry in 2.4s.`:                                       2400 * time.Millisecond,
		`Please try again in 6m0s. Visit the page`:                    6 * time.Minute,
		`Please try again in 1h2m3.5s`:                                time.Hour + 2*time.Minute + 3500*time.Millisecond,
		`Try again in 450ms`:                                          450 * time.Millisecond,
		`Try again in 59 seconds.`:                                    59 * time.Second,
		`please try again after 1 seconds`:                            time.Second,
		`Please retry after 300 milliseconds.`:                        300 * time.Millisecond,
		`Please wait 23 seconds before retrying.`:                     23 * time.Second,
		`Wait for about 1 hour and 5 minutes, then ask`:               time.Hour + 5*time.Minute,
		`try again in 2 days`:                                         24 * time.Hour,
		`try again in ` + strings.Repeat("9", 400) + `s`:              24 * time.Hour,
		`try again in -5s`:                                            0,
		`try again in 1e300s`:                                         0,
		`try again in NaNs`:                                           0,
		`try again in 3 attempts`:                                     0,
		`try again later`:                                             0,
		`it waited for an answer, 30s long`:                           0,
		`the limit of 10 requests in 60s is reached`:                  0,
		`Retry with a prompt that is read in less than 5 minutes`:     0,
		`Rate limit reached: Limit 30, Used 30, Requested 1 in 60 s.`: 0,
	} {
		read := wire.ReadError([]byte(body))
		require.Equal(t, want, read.AsError(429).RetryAfter, body)
		require.Equal(t, llmclient.CodeRateLimited, read.AsError(429).Code, body)
	}
}

// Servers say in many words that a request is too long for the model.
func TestW14_tooLong(t *testing.T) {
	for _, body := range []string{
		`{"error":{"code":"invalid_parameter_error","message":"Range of input length should be [1, 30720]","type":"invalid_request_error"}}`,
		`{"error":{"code":"1261","message":"Prompt exceeds max length"}}`,
		`{"error":{"code":"1261","message":"Prompt 超长"}}`,
		`{"code":20015,"message":"length of prompt_tokens (51000) must be less than max_seq_len (32768).","data":null}`,
		`{"code":20015,"message":"max_total_tokens (51000) must be less than or equal to max_seq_len (32768)","data":null}`,
		"{\"error\":\"Input validation error: `inputs` must have less than 4096 tokens. Given: 5000\",\"error_type\":\"validation\"}",
		"{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500 `max_new_tokens`\"}",
		`{"error":{"code":"OutofContextError","message":"refused","type":"BadRequest"}}`,
		`{"error":{"code":"InvalidParameter","message":"Total tokens of image and text exceed max message tokens. Request id: 1"}}`,
		`{"object":"error","message":"The sum of prompt length (40000.0), query length (0) should not exceed max_num_tokens (32768)","code":400}`,
		`{"object":"error","message":"Prompt length (5000) exceeds maximum input length (4096)","code":400}`,
		`{"object":"error","message":"Prompt length (5000) exceeds maximum sequence length (4096)","code":400}`,
		`{"object":"error","message":"The decoder prompt (length 40000) is longer than the maximum model length of 32768."}`,
		`{"object":"error","message":"The prompt (total length 40000) is too long to fit into the model (context 32768)."}`,
		`{"object":"error","message":"Input prompt (40000 tokens) is too long and exceeds limit of 32768"}`,
		`{"object":"error","message":"max_tokens must be at least 1, got -7232."}`,
		`{"object":"error","message":"Input length (40000 tokens) exceeds the maximum allowed length (32768 tokens)."}`,
		`{"error":{"message":"total message token length exceed model limit","type":"invalid_request_error"}}`,
		`{"error_code":336103,"error":"Prompt tokens too long"}`,
		`{"error":{"message":"Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576, but got a string with length 2000000 instead.","code":"string_above_max_length"}}`,
		`{"error":{"message":"Invalid 'input[2].content': string too long. Expected a string with maximum length 10485760, but got one of 12000000.","code":"string_above_max_length"}}`,
		`{"error":{"message":"Invalid 'messages': array too long. Expected an array with maximum length 2048, but got one of 3000.","code":"array_above_max_length"}}`,
	} {
		read := wire.ReadError([]byte(body))
		require.Equal(t, llmclient.CodeContextLength, read.AsError(400).Code, body)
		require.Equal(t, llmclient.CodeContextLength, read.AsError(0).Code, body)
	}
	for body, status := range map[string]int{ // what is too long is not the conversation
		`{"error":{"message":"Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got one of 70.","code":"string_above_max_length"}}`:       400,
		`{"error":{"message":"Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got one of 46.","code":"string_above_max_length"}}`: 400,
		`{"error":{"message":"Invalid 'tools': array too long. Expected an array with maximum length 128, but got one of 200.","code":"array_above_max_length"}}`:                        400,
		"{\"error\":{\"message\":\"`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model\"}}":           400,
		`{"code":20015,"message":"max_tokens (40000) must be less than max_seq_len (32768)"}`:                                                                                            400,
		`{"error":{"message":"Range of max_tokens should be [1, 8192]","code":"invalid_parameter_error"}}`:                                                                               400,
		`{"error":{"message":"max_tokens must be at least 1, got 0"}}`:                                                                                                                   400,
		`{"error":{"message":"The encoder prompt (length 9000) is longer than the maximum model length of 8000"}}`:                                                                       400,
		`{"error":{"message":"Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000","code":"rate_limit_exceeded"}}`:                                       429,
		`{"error":{"message":"Too many tokens, please wait"}}`:                                                                                                                           429,
	} {
		read := wire.ReadError([]byte(body))
		want := map[int]llmclient.Code{400: llmclient.CodeBadRequest, 429: llmclient.CodeRateLimited}[status]
		require.Equal(t, want, read.AsError(status).Code, body)
	}
	read := wire.ReadError([]byte("{\"error\":{\"message\":\"Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7000\",\"code\":\"rate_limit_exceeded\"}}"))
	require.Equal(t, llmclient.CodeContextLength, read.AsError(413).Code)
	require.Equal(t, llmclient.CodeContextLength, read.AsError(429).Code)
}

// The words for a request that is too long may be those of a rate limit, too.
func TestReadError_tooManyNow(t *testing.T) {
	for _, body := range []string{
		`{"type":"throttlingException","message":"Too many tokens, please wait before trying again."}`,
		`{"error":{"type":"rate_limit_error","message":"Too many tokens"}}`,
		`{"error":{"type":"error","code":"too_many_requests","message":"This exceeds token limit of the minute."}}`,
	} {
		require.Equal(t, llmclient.CodeRateLimited, wire.ErrorFromJSON([]byte(body)).Code, body)
	}
	require.Equal(t, llmclient.CodeContextLength, wire.ErrorFromJSON([]byte(`{"error":{"type":"error","message":"Too many tokens"}}`)).Code)
}
