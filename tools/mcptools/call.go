package mcptools

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/tools"
)

// calls are the calls in progress, by their progress tokens.
type calls struct {
	mu   sync.Mutex
	next int
	ctxs map[string]context.Context
}

func (c *calls) begin(ctx context.Context) (token string, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	token = "call-" + strconv.Itoa(c.next)
	if c.ctxs == nil {
		c.ctxs = map[string]context.Context{}
	}
	c.ctxs[token] = ctx
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.ctxs, token)
	}
}

// progress passes on what a server says about the progress of a call.
func (c *calls) progress(p *mcp.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	c.mu.Lock()
	ctx := c.ctxs[token]
	c.mu.Unlock()
	if ctx != nil {
		tools.Progress(ctx, progressText(p))
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
