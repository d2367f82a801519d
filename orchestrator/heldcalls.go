package orchestrator

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/markdownpolicy"
)

// A server that leaves calls in the text forces no call either, and lets the model call tools that
// it was not offered. It may still hold a reply to a JSON Schema. So once a call was left in a text,
// forced calls are asked for by schema, as [markdownpolicy.Structured] does. The model is asked
// again by schema after a call that cannot be made, and after an empty reply. All other requests
// stay native.

// forces reports whether a request forces a call.
func forces(req *llmclient.Request) bool {
	return req.ToolChoice.Mode == llmclient.ChooseRequired || req.ToolChoice.Mode == llmclient.ChooseTool
}

// asksBySchema reports whether a request is to be made by schema.
func (l *leftReader) asksBySchema(req *llmclient.Request) bool {
	held, _ := l.held.Load(req.Model)
	return forces(req) && held == true
}

// askBySchema makes a request by schema. If the server refuses it, or the reply does not follow the
// schema, the next requests for the model are native.
func (l *leftReader) askBySchema(req *llmclient.Request, ask *asking) (*llmclient.Response, error) {
	// The strategy knows better than the policy what to tell the model about a bad reply.
	client := policyclient.Config{MaxRepairs: -1}.Wrap(l.client, markdownpolicy.Structured{})
	resp, err := client.Complete(ask.ctx, req, ask.onDelta)
	switch {
	case err != nil && ask.ctx.Err() == nil, err == nil && forces(req) && len(resp.Message.Calls()) == 0:
		l.held.Store(req.Model, false)
	case err == nil:
		resp.Read = len(resp.Message.Calls()) // they are no native calls: after text from outside they need approval, too
	}
	return resp, err
}

// again asks by schema after a reply whose calls cannot be made. If the server refuses the request,
// or does not hold the new reply to the schema, the error about the first reply counts.
func (l *leftReader) again(req *llmclient.Request, ask *asking, first *llmclient.Error) (*llmclient.Response, error) {
	if held, _ := l.held.LoadOrStore(req.Model, true); held == false {
		return nil, first
	}
	llmclient.Notify(ask.ctx, llmclient.Notice{Kind: llmclient.NoticeRepair, Model: first.Model, Attempt: 1, Err: first, Discard: true})
	resp, err := l.askBySchema(req, ask)
	if err == nil {
		resp.Attempts = append(attemptsOf(first), resp.Attempts...)
		return resp, nil
	}
	second, ok := errors.AsType[*llmclient.Error](err)
	switch {
	case ok && ask.ctx.Err() == nil:
		first.Attempts = slices.Concat(first.Attempts, attemptsOf(second))
		return nil, first
	case ok:
		own := *second
		own.Attempts = append(attemptsOf(first), second.Attempts...)
		return nil, &own
	default:
		return nil, err
	}
}

// afterNothing asks by schema after an empty reply, where a server has left calls in the text.
func (l *leftReader) afterNothing(req *llmclient.Request, ask *asking, resp *llmclient.Response) (*llmclient.Response, error) {
	held, _ := l.held.Load(req.Model)
	stopped := resp.Finish == "" || resp.Finish == llmclient.FinishStop
	if held != true || !stopped || len(resp.Message.Calls()) > 0 || strings.TrimSpace(resp.Message.Text()) != "" {
		return resp, nil
	}
	empty := &llmclient.Error{
		Code: llmclient.CodeMalformedToolCall, Model: cmp.Or(resp.Asked, resp.Model, req.Model), Message: "orchestrator: the reply is empty",
		Usage: resp.Usage, Attempts: resp.Attempts,
	}
	again, err := l.again(req, ask, empty)
	if errors.Is(err, empty) {
		own := *resp
		own.Attempts = empty.Attempts
		return &own, nil
	}
	return again, err
}

// attemptsOf lists a reply, after the earlier ones.
func attemptsOf(e *llmclient.Error) []llmclient.Attempt {
	return append(slices.Clip(e.Attempts), llmclient.Attempt{Model: e.Model, Usage: e.Usage, Code: e.Code, Error: e.Message})
}
