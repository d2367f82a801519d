package mcptools

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/tools"
)

// running is a call in progress.
type running struct {
	ctx  context.Context // of the tool
	own  context.Context // of the request; it ends with that
	tool *tool
	stop context.CancelCauseFunc // ends the request

	mu        sync.Mutex
	asking    bool
	suspended error // a question that nobody can answer now; the call is made again when somebody has
	lost      bool  // a question was cancelled because the call was cut off, not by a person
}

// suspend ends the call because of a question.
func (r *running) suspend(err error) {
	r.mu.Lock()
	r.suspended = err
	r.mu.Unlock()
	r.stop(err)
}

// lose notes that a question was cancelled because the call was cut off.
func (r *running) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = true
}

// outcome returns what suspend was given, nil: nothing, and whether the result of the call answers
// a question that was lost: it is none that a person has brought about.
func (r *running) outcome() (suspended error, lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.suspended, r.lost
}

// calls are the calls in progress of a Toolset, by their progress tokens.
type calls struct {
	mu    sync.Mutex
	count int
	list  []*running // the oldest first
	ended time.Time  // of the last call that was in progress
	token map[string]*running
}

// begin adds a call.
func (c *calls) begin(r *running) (token string, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	token = "call-" + strconv.Itoa(c.count)
	if c.token == nil {
		c.token = map[string]*running{}
	}
	c.token[token] = r
	c.list = append(c.list, r)
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.token, token)
		c.ended = time.Now()
		c.list = slices.DeleteFunc(c.list, func(have *running) bool { return have == r })
	}
}

// any reports whether a call has ended just now, or is in progress.
func (c *calls) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.list) > 0 || time.Since(c.ended) < farewell
}

// progress passes on what a server says about the progress of a call.
func (c *calls) progress(p *mcp.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	c.mu.Lock()
	r := c.token[token]
	c.mu.Unlock()
	if r != nil {
		tools.Progress(r.ctx, progressText(p))
	}
}

func progressText(p *mcp.ProgressNotificationParams) string {
	text := clean(p.Message, 1000)
	amount := strconv.FormatFloat(p.Progress, 'g', 6, 64)
	if p.Total > 0 {
		amount += " of " + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	if text == "" {
		return amount
	}
	return fmt.Sprintf("%s (%s)", text, amount)
}

// claim returns the call that a question of the server is about: the oldest one that asks nothing
// yet. The protocol does not say which it is. Release gives it back.
func (c *calls) claim() (r *running, release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.list {
		r.mu.Lock()
		free := !r.asking && r.own.Err() == nil
		r.asking = r.asking || free
		r.mu.Unlock()
		if free {
			return r, func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.asking = false
			}
		}
	}
	return nil, nil
}
