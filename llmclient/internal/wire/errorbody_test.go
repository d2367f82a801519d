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
