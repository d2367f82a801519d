package policyclient

import (
	"cmp"
	"context"
	"sync"

	"github.com/segue-go/segue/internal/prompts"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Config configures the use of a policy. The zero Config is ready to use.
type Config struct {
	MaxRepairs int     // how often an unreadable reply is sent back, in one call; 0 means 2, negative means never
	Prompts    Prompts // what the model is told besides the policy's instructions
}

// Wrap is Config.Wrap with the zero [Config].
func Wrap(c llmclient.Client, p markdownpolicy.Policy) llmclient.Client { return Config{}.Wrap(c, p) }

// Wrap returns a Client that uses c with the text format of the policy. It is safe for concurrent
// use if both are, as the built-in policies are. Complete returns an error if the Config cannot be
// used.
func (cfg Config) Wrap(c llmclient.Client, p markdownpolicy.Policy) llmclient.Client {
	set, err := prompts.Parse("policyclient", cfg.Prompts, defaultPrompts, samples)
	return &client{inner: c, policy: p, repairs: max(0, cmp.Or(cfg.MaxRepairs, 2)), prompts: set, err: err, refused: new(sync.Map)}
}

type client struct {
	inner   llmclient.Client
	policy  markdownpolicy.Policy
	repairs int // the greatest number
	prompts *prompts.Set
	err     error     // of the Config
	refused *sync.Map // by model: the schemas of replies that its server refused, as a holding
}

// Unwrap returns the wrapped client.
func (c *client) Unwrap() llmclient.Client { return c.inner }

// CallsNatively implements [llmclient.NativeCaller]: the policy has read the text of a reply.
func (c *client) CallsNatively(*llmclient.Request) bool { return true }

// Complete asks until a reply can be read, or the limit of repairs is reached. Once ctx is done, an
// unreadable reply is not sent back.
func (c *client) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	if err := c.check(req); err != nil {
		return nil, err
	}
	if req.ToolFormat == llmclient.ToolsText {
		return c.inner.Complete(ctx, req, onDelta)
	}
	c = c.knowing(req.Tools)
	first, err := c.request(req)
	if err != nil {
		return nil, &llmclient.Error{Code: llmclient.CodeBadRequest, Model: req.Model, Message: err.Error(), Err: err}
	}
	mark := ""
	if len(req.Tools) > 0 {
		mark = resultMark(c.policy)
		first.Stop = c.stopsAt(mark, first.Stop)
	}
	if len(req.Tools) == 0 && c.schemas() { // the server can hold the answer to the caller's schema
		first.Schema = req.Schema
		return c.inner.Complete(ctx, first, onDelta)
	}
	next := first
	var attempts []llmclient.Attempt
	for n := 1; ; n++ {
		r := &reply{policy: c.policy, asked: req, onDelta: onDelta, mark: mark}
		resp, refused, err := c.held(ctx, r, next)
		attempts = append(attempts, refused...)
		if err != nil {
			return nil, errorAfter(attempts, r.brokenOff(err))
		}
		problem := r.read(resp)
		if problem == nil {
			return r.response(attempts, resp), nil
		}
		unreadable := r.unreadable(resp, problem)
		if n > c.repairs {
			return nil, errorAfter(attempts, unreadable)
		}
		if ctx.Err() != nil {
			return nil, errorAfter(attempts, canceled(ctx, unreadable))
		}
		if next, err = c.again(first, unreadable.Generated, problem); err != nil {
			return nil, errorAfter(attempts, unreadable)
		}
		attempts = append(attempts, attemptsOf(unreadable)...)
		llmclient.Notify(ctx, llmclient.Notice{Kind: llmclient.NoticeRepair, Model: unreadable.Model, Attempt: n, Err: unreadable, Discard: r.emitted})
	}
}

// check returns an error if the client itself cannot be used.
func (c *client) check(req *llmclient.Request) error {
	switch {
	case c.inner == nil:
		return &llmclient.Error{Code: llmclient.CodeNotFound, Model: req.Model, Message: "policyclient: the client is nil: give Wrap a client"}
	case c.policy == nil:
		return &llmclient.Error{Code: llmclient.CodeBadRequest, Model: req.Model, Message: "policyclient: the policy is nil; markdownpolicy.Fenced is one"}
	case c.err != nil:
		return &llmclient.Error{Code: llmclient.CodeBadRequest, Model: req.Model, Message: c.err.Error(), Err: c.err}
	default:
		return nil
	}
}

// knowing returns the client with a policy that knows the tools.
func (c *client) knowing(defs []tools.Definition) *client {
	own := *c
	if t, ok := c.policy.(markdownpolicy.Tooled); ok && len(defs) > 0 {
		own.policy = t.WithTools(defs)
	}
	return &own
}

// again returns the request with an unreadable reply and a description of its problem.
func (c *client) again(first *llmclient.Request, text string, problem *markdownpolicy.ParseError) (*llmclient.Request, error) {
	feedback, err := c.prompts.Fill("Repair", map[string]any{"Feedback": problem.Feedback()})
	if err != nil {
		return nil, err
	}
	next := *first
	next.Messages = first.Messages.Clip()
	if text != "" {
		next.Messages = append(next.Messages, messages.AssistantText(text))
	}
	next.Messages = append(next.Messages, messages.UserText(feedback)).Clip()
	return &next, nil
}
