package llmclient_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

func TestW13_W15_FallbackByCode(t *testing.T) {
	for code, next := range map[llmclient.Code]bool{
		llmclient.CodeRateLimited: true, llmclient.CodeUnavailable: true, llmclient.CodeTimeout: true, llmclient.CodeTruncated: true,
		llmclient.CodeContextLength: true, llmclient.CodeAuth: true, llmclient.CodeQuota: true, llmclient.CodeNotFound: true, llmclient.CodeBadResponse: true,
		llmclient.CodeBadRequest: false, llmclient.CodeContentFilter: false, llmclient.CodeMalformedToolCall: false, llmclient.CodeCanceled: false,
		"": true,
	} {
		err := error(coded(code))
		if code == "" {
			err = errors.New("odd")
		}
		spare := failing(nil)
		resp, got := llmclient.Fallback([]llmclient.Candidate{{Client: failing(err)}, {Client: spare}}, llmclient.FallbackConfig{}).
			Complete(t.Context(), &llmclient.Request{Model: "m"}, nil)
		if !next {
			require.Same(t, err, got, code)
			require.Zero(t, spare.calls(), code)
			continue
		}
		require.NoError(t, got, code)
		require.Equal(t, []llmclient.Attempt{{Model: "m", Code: code, Error: err.Error()}}, resp.Attempts)
	}
}

func TestFallback_OnlyOnTheCodesGiven(t *testing.T) {
	cfg := llmclient.FallbackConfig{On: []llmclient.Code{llmclient.CodeContentFilter}}
	for err, calls := range map[*llmclient.Error]int{coded(llmclient.CodeContentFilter): 1, coded(llmclient.CodeUnavailable): 0} {
		spare := failing(nil)
		_, _ = llmclient.Fallback([]llmclient.Candidate{{Client: failing(err)}, {Client: spare}}, cfg).Complete(t.Context(), &llmclient.Request{}, nil)
		require.Equal(t, calls, spare.calls(), err)
	}
}

func TestFallback_ModelsNoticesAndAttempts(t *testing.T) {
	down := &llmclient.Error{Code: llmclient.CodeUnavailable, Usage: messages.Usage{Input: 2}, Attempts: []llmclient.Attempt{{Error: "before"}}}
	noKey, late := coded(llmclient.CodeAuth), &llmclient.Error{Code: llmclient.CodeTimeout, Model: "theirs"}
	a, b, c := failing(down), failing(noKey), failing(late)
	candidates := []llmclient.Candidate{{Client: a}, {Client: b, Model: "small"}, {Client: c, Model: "tiny"}}
	fallback := llmclient.Fallback(candidates, llmclient.FallbackConfig{})
	candidates[0].Client = nil // later changes of the slice have no effect
	var notices []llmclient.Notice
	req := &llmclient.Request{Model: "big", Stop: []string{"x"}}

	_, err := fallback.Complete(listen(t.Context(), &notices), req, nil)
	require.Equal(t, llmclient.CodeTimeout, llmclient.CodeOf(err))
	e, _ := errors.AsType[*llmclient.Error](err)
	require.Equal(t, []llmclient.Attempt{
		{Error: "before"},
		{Model: "big", Usage: messages.Usage{Input: 2}, Code: llmclient.CodeUnavailable, Error: down.Error()},
		{Model: "small", Code: llmclient.CodeAuth, Error: noKey.Error()},
	}, e.Attempts)
	require.Empty(t, late.Attempts, "the error is a copy")
	require.Equal(t, []llmclient.Notice{
		{Kind: llmclient.NoticeFallback, Model: "big", Attempt: 1, Err: down},
		{Kind: llmclient.NoticeFallback, Model: "small", Attempt: 2, Err: noKey},
	}, notices)
	require.Same(t, req, a.requests[0])
	require.Equal(t, &llmclient.Request{Model: "small", Stop: []string{"x"}}, b.requests[0])
	require.Equal(t, "big", req.Model)
}

func TestFallback_AfterOutput(t *testing.T) {
	cut := coded(llmclient.CodeTruncated)
	for _, also := range []bool{false, true} {
		first := &fake{outcomes: []outcome{{deltas: []llmclient.Delta{text("par")}, err: cut}}}
		spare := &fake{outcomes: []outcome{{deltas: []llmclient.Delta{text("ok")}}}}
		var notices []llmclient.Notice
		streamed := ""
		_, err := llmclient.Fallback([]llmclient.Candidate{{Client: first}, {Client: spare}}, llmclient.FallbackConfig{AfterOutput: also}).
			Complete(listen(t.Context(), &notices), &llmclient.Request{}, func(d llmclient.Delta) { streamed += d.Text })
		if !also {
			require.Same(t, cut, err)
			require.Equal(t, "par", streamed)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "parok", streamed)
		require.True(t, notices[0].Discard)
	}
}

func TestFallback_StopsWhenTheContextIsDone(t *testing.T) {
	for _, err := range []error{coded(llmclient.CodeUnavailable), &llmclient.Error{Code: llmclient.CodeTimeout, Err: context.DeadlineExceeded}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			spare := failing(nil)
			slow := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
				<-ctx.Done()
				return nil, err
			})
			_, got := llmclient.Fallback([]llmclient.Candidate{{Client: slow}, {Client: spare}}, llmclient.FallbackConfig{}).Complete(ctx, &llmclient.Request{}, nil)
			require.ErrorIs(t, got, context.DeadlineExceeded)
			require.ErrorIs(t, got, err)
			require.Equal(t, llmclient.CodeTimeout, llmclient.CodeOf(got))
			require.Zero(t, spare.calls())
		})
	}
}

func TestFallback_NothingToAsk(t *testing.T) {
	_, err := llmclient.Fallback(nil, llmclient.FallbackConfig{}).Complete(t.Context(), &llmclient.Request{}, nil)
	require.Equal(t, llmclient.CodeNotFound, llmclient.CodeOf(err))
	resp, err := llmclient.Fallback([]llmclient.Candidate{{}, {Client: failing(nil)}}, llmclient.FallbackConfig{}).Complete(t.Context(), &llmclient.Request{}, nil)
	require.NoError(t, err, "a nil candidate is one that fails")
	require.Len(t, resp.Attempts, 1)
}

// In any nest of wrappers, the number of listed attempts is the number of calls without the last,
// in order of time.
func TestWrappers_AttemptsLaw(t *testing.T) {
	codes := []llmclient.Code{"", llmclient.CodeRateLimited, llmclient.CodeUnavailable, llmclient.CodeAuth, llmclient.CodeTruncated}
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			script := rapid.SliceOfN(rapid.SampledFrom(codes), 1, 12).Draw(t, "script") // "" is a reply
			var calls []llmclient.Code
			model := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
				code := script[min(len(calls), len(script)-1)]
				calls = append(calls, code)
				if code == "" {
					return reply("ok"), nil
				}
				return nil, coded(code)
			})
			c := nest(t, model, rapid.IntRange(0, 3).Draw(t, "depth"))

			resp, err := c.Complete(context.Background(), &llmclient.Request{}, nil)
			var attempts []llmclient.Attempt
			if err != nil {
				e, _ := errors.AsType[*llmclient.Error](err)
				attempts = e.Attempts
			} else {
				attempts = resp.Attempts
			}
			require.Len(t, attempts, len(calls)-1)
			for i, a := range attempts {
				require.Equal(t, calls[i], a.Code)
			}
			require.Equal(t, calls[len(calls)-1], llmclient.CodeOf(err))
		})
	})
}

func nest(t *rapid.T, c llmclient.Client, depth int) llmclient.Client {
	if depth == 0 {
		return c
	}
	inner := nest(t, c, depth-1)
	switch rapid.IntRange(0, 3).Draw(t, "wrapper") {
	case 0:
		return llmclient.Retry(inner, llmclient.RetryConfig{MaxAttempts: rapid.IntRange(1, 3).Draw(t, "tries")})
	case 1:
		return llmclient.Fallback([]llmclient.Candidate{{Client: inner}, {Client: inner, Model: "other"}}, llmclient.FallbackConfig{})
	case 2:
		return llmclient.Router{"": inner}
	default:
		return llmclient.RateLimit(inner, llmclient.RateLimitConfig{RequestsPerMinute: 60})
	}
}
