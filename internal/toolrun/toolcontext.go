package toolrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/internal/toolkey"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// The most that one call may show the model besides its text. A model reads its pictures again with
// every request that follows.
const (
	maxImages     = 16
	maxImageBytes = 5 << 20 // of all URLs together, so that data URLs hold at most 3.75 MiB
)

// toolContext is a call in the role of its tool's context.
//
// It costs nothing as long as the tool reads only its values. After that it uses a context of
// package context.
type toolContext Running

// CallID returns the id of the call.
func (c *Running) CallID() string { return c.call.ID }

// IdempotencyKey returns the key of the Job.
func (c *Running) IdempotencyKey() string { return c.key }

// MaxArguments returns that of the Runner; negative: no limit.
func (c *Running) MaxArguments() int { return c.maxArguments }

// Progress reports progress; see [tools.Progress].
func (c *Running) Progress(text string) {
	const most = 4 << 10
	if c.progress != nil && c.isRunning() {
		c.progress(strings.ToValidUTF8(textcut.Short(text, most), "\uFFFD"))
	}
}

// Attach adds an attachment to the result.
func (c *Running) Attach(a messages.Attachment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != over {
		c.out.Attachments = append(c.out.Attachments, a)
	}
}

// ShowImage adds a picture to the result, or says why not. It is not ok if the call is over.
func (c *Running) ShowImage(i messages.Image) (problem string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == over {
		return "", false
	}
	size := len(i.URL)
	for _, shown := range c.out.Images {
		size += len(shown.URL)
	}
	switch {
	case len(c.out.Images) >= maxImages:
		return fmt.Sprintf("a call shows at most %d", maxImages), true
	case size > maxImageBytes:
		return fmt.Sprintf("the URLs of a call have at most %d bytes together, and these have %d", maxImageBytes, size), true
	}
	c.out.Images = append(c.out.Images, i)
	return "", true
}

// askFor asks a question of the tool. It is an [tools.AskFunc].
func (c *Running) askFor(ctx context.Context, a tools.Asked) (string, error) {
	if own := (*toolContext)(c); own.Err() != nil { // ctx may have been made to outlive the call
		return "", context.Cause(own)
	}
	a.Call = c.call
	text, err := c.askOne(ctx, a)
	if errors.Is(err, context.Canceled) { // the run was stopped, which may leave the context active
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stopped = true
	}
	return text, err
}

func (c *Running) askOne(ctx context.Context, a tools.Asked) (string, error) {
	end := c.asked.Begin()
	c.time.asks() // askFor has made the context
	defer func() {
		end()
		c.time.asks()
	}()
	return c.ask(ctx, a)
}

// Deadline implements [context.Context].
func (t *toolContext) Deadline() (time.Time, bool) { return (*Running)(t).standard().Deadline() }

// Done implements [context.Context].
func (t *toolContext) Done() <-chan struct{} { return (*Running)(t).standard().Done() }

// Err implements [context.Context].
func (t *toolContext) Err() error { return (*Running)(t).standard().Err() }

// Value implements [context.Context].
func (t *toolContext) Value(key any) any {
	c := (*Running)(t)
	switch key {
	case toolkey.Call{}:
		return c
	case toolkey.Ask{}:
		if c.ask == nil {
			return nil
		}
		return tools.AskFunc(c.askFor)
	}
	return c.standard().Value(key) // also used by package context to propagate cancellation
}

// standard returns the context of package context that the tool uses from now on.
func (c *Running) standard() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std != nil {
		if c.time != nil && c.parent.Err() != nil {
			c.time.end() // at once, as with the contexts of package context
		}
		return c.std
	}
	due, ok := c.Due()
	switch {
	case ok && c.ask != nil:
		c.std, c.cancel = c.limited()
	case ok:
		cause := &tools.TimeoutError{Tool: c.call.Name, Timeout: c.timeout}
		c.std, c.cancel = context.WithDeadlineCause(c.parent, due, cause)
	default:
		c.std, c.cancel = context.WithCancel(c.parent)
	}
	if c.state == over {
		c.cancel()
	}
	return c.std
}
