package scripted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// maxShown is how much of a text an error shows, in bytes.
const maxShown = 120

// Config is a script and the options of its client.
type Config struct {
	Replies []Reply

	// NoRecord keeps no requests: [Client.Requests] returns none. Recording copies the list of
	// messages at each call, which is expensive in runs of thousands of calls.
	NoRecord bool
}

// Client is a model that answers from a script. Each request gets the first remaining reply that is
// for it. A request that breaks the laws of a history, or for which no reply is left, fails with
// [llmclient.CodeBadRequest], which no wrapper tries again.
type Client struct {
	record bool

	mu        sync.Mutex
	turns     []*turn
	used      int // turns[:used] were used up
	asked     int
	requests  []llmclient.Request
	validator messages.Validator
}

// New returns a client that gives the replies in order and records the requests.
func New(replies ...Reply) *Client { return NewClient(Config{Replies: replies}) }

// NewClient returns a client for cfg.
func NewClient(cfg Config) *Client {
	c := &Client{record: !cfg.NoRecord, turns: make([]*turn, len(cfg.Replies))}
	for i, r := range cfg.Replies {
		c.turns[i] = prepare(i+1, r)
	}
	return c
}

// Complete gives the next reply. If ctx is already done, it uses no reply.
func (c *Client) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	if ctx.Err() != nil {
		return nil, canceled(ctx, req.Model, nil)
	}
	t, err := c.next(req)
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, req.Model, t.Delay); err != nil {
		return nil, err
	}
	if t.Func != nil {
		made := t.Func(req)
		made.Func = nil
		t = prepare(t.number, made)
		if err := sleep(ctx, req.Model, t.Delay); err != nil {
			return nil, err
		}
	}
	if err := stream(ctx, req.Model, t.deltas, llmclient.Watch(ctx, onDelta)); err != nil {
		return nil, err
	}
	if t.err != nil {
		return nil, t.err
	}
	return t.resp, nil
}

// next takes the reply for req from the script.
func (c *Client) next(req *llmclient.Request) (*turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if c.record {
		c.requests = append(c.requests, copied(req))
	}
	if err := c.validator.Check(req.Messages); err != nil {
		return nil, refused(req.Model, err)
	}
	for _, t := range c.turns[c.used:] {
		if t.left == 0 || !t.matches(req) {
			continue
		}
		if t.left > 0 {
			t.left--
		}
		for c.used < len(c.turns) && c.turns[c.used].left == 0 {
			c.used++
		}
		return t, nil
	}
	return nil, c.exhausted(req)
}

// refused is the error of a provider for a history that breaks the laws.
func refused(model string, err error) *llmclient.Error {
	return &llmclient.Error{
		Code: llmclient.CodeBadRequest, Status: 400, Type: "invalid_request_error", Model: model, Message: "scripted: " + err.Error(), Err: err,
	}
}

// exhausted returns the error for a request that the script has no reply for.
func (c *Client) exhausted(req *llmclient.Request) *llmclient.Error {
	why := fmt.Sprintf("all %d replies are used", len(c.turns))
	if left := c.left(); len(left) > 0 {
		why = fmt.Sprintf("none of the %d replies that are left is for it: %s", len(left), strings.Join(left, "; "))
	}
	return &llmclient.Error{
		Code: llmclient.CodeBadRequest, Type: "script_exhausted", Model: req.Model,
		Message: fmt.Sprintf("scripted: no reply for request %d: %s; its last message is %s", c.asked, why, describe(req.Messages.Last())),
	}
}

// left describes the replies that must still be used. c.mu must be held.
func (c *Client) left() []string {
	var left []string
	for _, t := range c.turns {
		if t.left > 0 {
			left = append(left, t.String())
		}
	}
	return left
}

// String describes the reply in a few words.
func (t *turn) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "reply %d", t.number)
	if t.For != "" {
		fmt.Fprintf(&b, " for %q", textcut.Short(t.For, maxShown))
	}
	switch {
	case t.Func != nil:
		b.WriteString(" (computed)")
	case t.err != nil:
		fmt.Fprintf(&b, " (error %q)", textcut.Short(t.err.Error(), maxShown))
	default:
		fmt.Fprintf(&b, " (%s)", describe(t.resp.Message))
	}
	return b.String()
}

// Requests returns the requests so far, in order of arrival, including refused ones. The caller
// owns the list and its lists of messages, tools and stop sequences; the messages themselves are
// shared.
func (c *Client) Requests() []llmclient.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	requests := slices.Clone(c.requests)
	for i := range requests {
		requests[i] = copied(&requests[i])
	}
	return requests
}

func copied(req *llmclient.Request) llmclient.Request {
	own := *req
	own.Messages = slices.Clone(req.Messages)
	own.Tools = slices.Clone(req.Tools)
	own.Stop = slices.Clone(req.Stop)
	return own
}

// Remaining returns how many replies have not been used. Replies that may be used any number of
// times do not count.
func (c *Client) Remaining() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, t := range c.turns {
		n += max(t.left, 0)
	}
	return n
}

// TB is the part of *testing.T that is needed.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// AssertComplete fails the test if replies are left over, and lists them.
func (c *Client) AssertComplete(t TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := c.left(); len(left) > 0 {
		t.Errorf("scripted: %d of %d replies were not used up after %d requests: %s", len(left), len(c.turns), c.asked, strings.Join(left, "; "))
	}
}

// stream passes deltas to onDelta until ctx is done. A nil onDelta receives none.
func stream(ctx context.Context, model string, deltas []llmclient.Delta, onDelta func(llmclient.Delta)) error {
	if onDelta == nil {
		return nil
	}
	for i, d := range deltas {
		if ctx.Err() != nil {
			return canceled(ctx, model, deltas[:i])
		}
		onDelta(d)
	}
	return nil
}

func sleep(ctx context.Context, model string, delay time.Duration) error {
	if delay <= 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return canceled(ctx, model, nil)
	}
}

// canceled returns the error for a ctx that was done after some deltas were streamed.
func canceled(ctx context.Context, model string, streamed []llmclient.Delta) *llmclient.Error {
	e := &llmclient.Error{
		Code: llmclient.CodeCanceled, Model: model, Message: "scripted: " + context.Cause(ctx).Error(),
		Partial: messages.Assistant{Content: parts(streamed)}, Err: errors.Join(ctx.Err(), context.Cause(ctx)),
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Code = llmclient.CodeTimeout
	}
	return e
}

// describe describes a message, shortened.
func describe(m messages.Message) string {
	switch m := m.(type) {
	case nil:
		return "none"
	case messages.System:
		return fmt.Sprintf("system %q", textcut.Short(m.Text, maxShown))
	case messages.User:
		return fmt.Sprintf("user %q", textcut.Short(m.Text(), maxShown))
	case messages.Tool:
		return fmt.Sprintf("tool %s %q", m.CallID, textcut.Short(m.Output, maxShown))
	case messages.Assistant:
		var b strings.Builder
		fmt.Fprintf(&b, "assistant %q", textcut.Short(m.Text(), maxShown))
		for _, call := range m.Calls() {
			fmt.Fprintf(&b, ", call %s %s(%s)", call.ID, call.Name, textcut.Short(call.Arguments, maxShown))
		}
		return b.String()
	default:
		return fmt.Sprintf("%T", m)
	}
}
