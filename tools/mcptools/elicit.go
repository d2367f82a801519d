package mcptools

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/tools"
)

// elicit answers a question that a server with sessions asks within a call. The call goes on
// meanwhile: if this process ends, the question is lost with it.
func (s *Toolset) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	canceled := &mcp.ElicitResult{Action: "cancel"}
	r, release := s.links.calls.claim()
	if r == nil { // it asks outside of all calls
		return canceled, nil
	}
	defer release()
	f, err := newForm(req.Params, s.cfg.Limits)
	if err != nil {
		return nil, s.failure("answer its question", err)
	}
	ask, stop := context.WithCancel(r.ctx)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // the server takes the question back, or has gone
	problem := ""
	for nth := 1; nth <= mostMissed; nth++ {
		text, err := tools.Ask(ask, f.question(s.cfg.Name, r.tool.def.Name, nth, problem))
		if errors.Is(err, tools.ErrSuspended) {
			if r.tool.def.ReadOnly || r.tool.def.Idempotent { // it may be called again, to ask again
				r.suspend(err)
			}
			return canceled, nil
		}
		var answer *mcp.ElicitResult
		if answer, problem = f.answer(tools.Answer{Text: text, Err: err}); problem == "" {
			return answer, nil
		}
	}
	return canceled, nil
}
