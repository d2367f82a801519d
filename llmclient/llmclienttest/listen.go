package llmclienttest

import (
	"bytes"
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
)

// listener receives deltas, and checks when and where it is called.
type listener struct {
	t             *testing.T
	goroutine     string // the one that calls Complete; set by complete
	over          atomic.Bool
	text, thought string
	first         func() // called once, at the first delta
}

func (l *listener) onDelta(d llmclient.Delta) {
	if l.over.Load() {
		l.t.Errorf("onDelta was called after Complete had returned, with %+v", d)
		return
	}
	if here := goroutine(); here != l.goroutine {
		l.t.Errorf("onDelta was called on %s, but Complete on %s", here, l.goroutine)
	}
	switch d.Kind {
	case llmclient.DeltaText:
		l.text += d.Text
	case llmclient.DeltaThought:
		l.thought += d.Text
	default:
		l.t.Errorf("onDelta was called with the unknown kind %d", d.Kind)
	}
	if l.first != nil {
		l.first()
		l.first = nil
	}
}

// goroutine returns the name of the current goroutine, as in a stack trace.
func goroutine() string {
	trace := make([]byte, 64)
	trace = trace[:runtime.Stack(trace, false)]
	name, _, _ := bytes.Cut(trace, []byte(" ["))
	return string(name)
}

// complete calls c.Complete, and streams to heard unless that is nil.
func complete(ctx context.Context, c llmclient.Client, req *llmclient.Request, heard *listener) (*llmclient.Response, error) {
	if heard == nil {
		return c.Complete(ctx, req, nil)
	}
	heard.goroutine = goroutine()
	heard.over.Store(false)
	defer heard.over.Store(true)
	return c.Complete(ctx, req, heard.onDelta)
}

// soon returns the error of complete, and fails the test if complete takes too long.
func soon(t *testing.T, ctx context.Context, c llmclient.Client, req *llmclient.Request, heard *listener) error { //nolint:revive // t first, as everywhere
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := complete(ctx, c, req, heard)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		require.FailNow(t, "Complete did not return soon after its context was done")
		return nil
	}
}
