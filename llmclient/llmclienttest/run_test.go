package llmclienttest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/llmclienttest"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model returns a scripted model that follows the script.
func model(script []llmclienttest.Turn) *scripted.Client {
	replies := make([]scripted.Reply, len(script))
	for i, turn := range script {
		replies[i] = scripted.Reply{Thought: turn.Thought, Deltas: turn.Text, Calls: turn.Calls, Finish: turn.Finish, Usage: turn.Usage}
		if turn.Err != nil {
			replies[i].Err = turn.Err
		}
		if turn.Hang {
			replies[i].Delay = time.Hour
		}
	}
	return scripted.New(replies...)
}

func TestConformance(t *testing.T) {
	for name, wrap := range map[string]func(llmclient.Client) llmclient.Client{
		"scripted": func(c llmclient.Client) llmclient.Client { return c },
		"router":   func(c llmclient.Client) llmclient.Client { return llmclient.Router{"": c} },
		"retry":    func(c llmclient.Client) llmclient.Client { return llmclient.Retry(c, llmclient.RetryConfig{}) },
		"fallback": func(c llmclient.Client) llmclient.Client {
			return llmclient.Fallback([]llmclient.Candidate{{Client: c, Model: "other"}}, llmclient.FallbackConfig{})
		},
		"rate limit": func(c llmclient.Client) llmclient.Client {
			return llmclient.RateLimit(c, llmclient.RateLimitConfig{RequestsPerMinute: 1e6, TokensPerMinute: 1e9})
		},
		"recorder": func(c llmclient.Client) llmclient.Client { return scripted.Record(c, &bytes.Buffer{}) },
	} {
		t.Run(name, func(t *testing.T) {
			llmclienttest.Run(t, llmclienttest.Config{New: func(_ *testing.T, script []llmclienttest.Turn) llmclient.Client {
				return wrap(model(script))
			}})
		})
	}
}

func TestConformance_WithOwnRequestAndNoThoughts(t *testing.T) {
	llmclienttest.Run(t, llmclienttest.Config{
		New: func(t *testing.T, script []llmclienttest.Turn) llmclient.Client {
			for _, turn := range script {
				require.Empty(t, turn.Thought)
			}
			return llmclient.Router{"mine": model(script)}
		},
		Request:    func() *llmclient.Request { return &llmclient.Request{Model: "mine"} },
		NoThoughts: true,
	})
}

// middle is a client that stands between a caller and a correct client, and does one thing wrong.
type middle func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error)

// broken are clients that each break one promise, by the check that finds it.
var broken = map[string]middle{
	"whole reply": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		if onDelta == nil {
			return nil, errors.New("I only stream")
		}
		return good.Complete(ctx, req, onDelta)
	},
	"streamed reply": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		return good.Complete(ctx, req, nil)
	},
	"calls": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		resp, err := good.Complete(ctx, req, onDelta)
		if err != nil || len(resp.Message.Calls()) == 0 {
			return resp, err
		}
		own := *resp
		own.Message = messages.Assistant{Content: resp.Message.Content[:len(resp.Message.Content)-1]}
		return &own, nil
	},
	"empty reply": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		resp, err := good.Complete(ctx, req, onDelta)
		if err == nil && len(resp.Message.Content) == 0 {
			return nil, errors.New("empty")
		}
		return resp, err
	},
	"error": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		resp, err := good.Complete(ctx, req, onDelta)
		if e, ok := errors.AsType[*llmclient.Error](err); ok && e.Code == llmclient.CodeAuth {
			return resp, errors.New(e.Message)
		}
		return resp, err
	},
	"context done before": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		if ctx.Err() != nil {
			return good.Complete(context.WithoutCancel(ctx), req, onDelta)
		}
		return good.Complete(ctx, req, onDelta)
	},
	"context done while waiting": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		resp, err := good.Complete(ctx, req, onDelta)
		if errors.Is(err, context.Canceled) && !errors.Is(context.Cause(ctx), context.Canceled) {
			return nil, context.Canceled
		}
		return resp, err
	},
	"context done while streaming": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		if onDelta == nil {
			return good.Complete(ctx, req, nil)
		}
		late := make(chan struct{})
		resp, err := good.Complete(ctx, req, func(d llmclient.Delta) {
			if onDelta(d); ctx.Err() != nil {
				go func() { <-late; onDelta(d) }()
			}
		})
		time.AfterFunc(50*time.Millisecond, func() { close(late) })
		return resp, err
	},
	"concurrent use": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		select {
		case busy <- struct{}{}:
			defer func() { <-busy }()
			time.Sleep(time.Millisecond)
			return good.Complete(ctx, req, onDelta)
		default:
			return nil, errors.New("busy")
		}
	},
	"request unchanged": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		_ = append(req.Messages, messages.UserText("for me"))
		return good.Complete(ctx, req, onDelta)
	},
	"on another goroutine": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		done := make(chan struct{})
		var resp *llmclient.Response
		var err error
		go func() {
			defer close(done)
			resp, err = good.Complete(ctx, req, onDelta)
		}()
		<-done
		return resp, err
	},
	"leak": func(good llmclient.Client, ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		go func() { select {} }()
		return good.Complete(ctx, req, onDelta)
	},
}

var busy = make(chan struct{}, 1)

const brokenClient = "LLMCLIENTTEST_BROKEN_CLIENT"

// Each broken client is found by the check for its promise. This test runs itself as another
// process, in which the checks fail.
func TestRun_FindsBrokenClients(t *testing.T) {
	if name := os.Getenv(brokenClient); name != "" {
		llmclienttest.Run(t, llmclienttest.Config{New: func(_ *testing.T, script []llmclienttest.Turn) llmclient.Client {
			good := model(script)
			return llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
				return broken[name](good, ctx, req, onDelta)
			})
		}})
		return
	}
	found := map[string]string{
		"on another goroutine":         "onDelta was called on goroutine",
		"leak":                         "found unexpected goroutines",
		"context done while streaming": "onDelta was called after Complete had returned",
	}
	for name := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRun_FindsBrokenClients$", "-test.failfast")
			cmd.Env = append(os.Environ(), brokenClient+"="+name)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			want := found[name]
			if want == "" {
				want = "--- FAIL: TestRun_FindsBrokenClients/" + rewritten(name)
			}
			require.Contains(t, string(out), want)
		})
	}
}

// rewritten returns a name in the form that subtest names have.
func rewritten(name string) string {
	return string(bytes.ReplaceAll([]byte(name), []byte(" "), []byte("_")))
}
