package mcptools

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/tools"
)

// elicit answers a question that a server with sessions asks within a call. The call goes on
// meanwhile: if this process ends, the question is lost with it.
//
// A call that ends while the question is open was not the one that it is about: it is asked again
// for the next one.
func (s *Toolset) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	f, err := newForm(req.Params, s.cfg.Limits)
	if err != nil {
		return nil, s.failure("answer its question", err)
	}
	for {
		r, release := s.links.calls.claim()
		if r == nil { // it asks outside of all calls
			return canceled, nil
		}
		answer := s.elicitFor(ctx, r, f)
		suspended, _ := r.outcome()
		again := answer.Action == canceled.Action && r.own.Err() != nil && suspended == nil && ctx.Err() == nil
		if release(); !again {
			return answer, nil
		}
	}
}

var canceled = &mcp.ElicitResult{Action: "cancel"}

// elicitFor asks a question for a call.
func (s *Toolset) elicitFor(ctx context.Context, r *running, f *form) *mcp.ElicitResult {
	ask, stop := context.WithCancel(r.ctx)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // the server takes the question back, or has gone
	defer context.AfterFunc(r.own, stop)()
	problem := ""
	for nth := 1; nth <= mostMissed; nth++ {
		text, err := tools.Ask(ask, f.question(s.cfg.Name, r.tool.def.Name, nth, problem))
		if err != nil && r.ctx.Err() != nil {
			r.lose()
			return canceled
		}
		if errors.Is(err, tools.ErrSuspended) {
			if r.tool.def.ReadOnly || r.tool.def.Idempotent { // it may be called again, to ask again
				r.suspend(err)
			}
			return canceled
		}
		var answer *mcp.ElicitResult
		if answer, problem = f.answer(tools.Answer{Text: text, Err: err}); problem == "" {
			return answer
		}
	}
	return canceled
}
