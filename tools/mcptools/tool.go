package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/tools"
)

// IdempotencyMeta is the name under which a call carries its idempotency key, in the _meta of its
// parameters. A server that keeps the keys can make a call twice without an effect twice.
const IdempotencyMeta = "io.github.segue-go/idempotency-key"

// tool is a tool of a server. Its definition stays as it was when it was listed.
type tool struct {
	set    *Toolset
	name   string // the server's
	def    tools.Definition
	schema *tools.Schema // of the arguments
}

// Definition implements [tools.Tool].
func (t *tool) Definition() tools.Definition { return t.def }

// Call implements [tools.Tool].
func (t *tool) Call(ctx context.Context, arguments string) (string, error) {
	arguments, err := t.schema.ArgumentsContext(ctx, arguments)
	if err != nil {
		if wrong, ok := errors.AsType[*tools.SchemaError](err); ok {
			return "", &tools.ArgumentError{Tool: t.def.Name, Problems: wrong.Problems}
		}
		return "", err
	}
	params := &mcp.CallToolParams{Name: t.name, Arguments: json.RawMessage(arguments)}
	var state callState
	if r, ok := tools.Resumed(ctx); ok {
		again, err := state.resume(t, r)
		if err != nil {
			return "", err
		}
		if again != nil {
			return "", tools.Suspend(ctx, state.encoded(), again...)
		}
		params.RequestState, params.InputResponses = state.RequestState, state.responses()
	}
	res, err := t.request(ctx, params)
	switch {
	case err != nil:
		return "", t.late(err)
	case res.NeedsInput():
		return "", t.suspend(ctx, &state, res)
	}
	text := t.set.result(ctx, res)
	if res.IsError {
		return "", errors.New(t.set.withVersion(text))
	}
	return text, nil
}

// late names the server in the error of a call that was stopped after its time-out. It returns
// others as they are.
func (t *tool) late(err error) error {
	late, ok := errors.AsType[*tools.TimeoutError](err)
	if !ok {
		return err
	}
	return &cause{text: fmt.Sprintf("mcptools: the server %.64q did not answer within %v", t.set.cfg.Name, late.Timeout), err: err}
}

// Pauses after which a server that is busy is asked again.
const (
	busyPause = 500 * time.Millisecond
	mostBusy  = 3
)

var errBusy = errors.New("it is busy, and asked to be called later")

// request makes the request of a call, again if the server is busy.
func (t *tool) request(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	for busy := 0; ; busy++ {
		res, err := t.requestOnce(ctx, params)
		if err != nil || !res.NeedsInput() || len(res.InputRequests) > 0 {
			return res, err
		}
		if busy == mostBusy {
			return nil, t.set.failure("call "+t.name, errBusy)
		}
		params.RequestState = res.RequestState
		select {
		case <-time.After(busyPause << busy):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// requestOnce makes one request. A session that the server has forgotten is replaced by a new one
// first.
func (t *tool) requestOnce(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	for again := false; ; again = true {
		l, err := t.set.links.get(ctx)
		if err != nil {
			return nil, err
		}
		res, err := t.send(ctx, l, params)
		if err == nil {
			return res, nil
		}
		if !again && errors.Is(err, mcp.ErrSessionMissing) { // the call was refused, and had no effect
			t.set.links.drop(l)
			continue
		}
		return nil, t.explain(ctx, l, err)
	}
}

// send sends one request, and returns the error as the SDK has it, or of a question.
func (t *tool) send(ctx context.Context, l *link, given *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	own, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(t.set.ctx, func() { stop(errClosed) })()
	r := &running{ctx: ctx, own: own, tool: t, stop: stop}
	token, end := t.set.links.calls.begin(r)
	defer end()
	params := *given
	params.Meta = mcp.Meta{}
	if key := tools.IdempotencyKey(ctx); key != "" {
		params.Meta[IdempotencyMeta] = key
	}
	params.SetProgressToken(token)
	res, err := l.session.CallTool(own, &params)
	switch suspended, lost := r.outcome(); {
	case suspended != nil:
		return nil, suspended
	case ctx.Err() != nil && lost:
		return nil, context.Cause(ctx)
	case err != nil && t.set.ctx.Err() != nil && ctx.Err() == nil:
		return nil, errClosed
	default:
		return res, err
	}
}

// explain returns the error of a call for a model.
func (t *tool) explain(ctx context.Context, l *link, err error) error {
	doing := "call " + t.name
	if errors.Is(err, tools.ErrSuspended) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_, broke := errors.AsType[*url.Error](err) // the request of HTTP was not answered
	refused, answered := errors.AsType[*jsonrpc.Error](err)
	switch {
	case notSent(err):
		return t.set.failure(doing, errNobodyThere)
	case answered && refused.Code == codeRejected && !broke: // a status of HTTP, such as 503
		return t.set.failure(doing, err)
	case answered && !broke && l.alive():
		return t.refused(refused)
	case !errors.Is(err, errClosed):
		t.set.links.drop(l)
		err = fmt.Errorf("the connection broke off: %w", err)
	}
	if !t.def.ReadOnly && !t.def.Idempotent {
		err = fmt.Errorf("%w: %w", err, tools.ErrEffectUnknown)
	}
	return t.set.failure(doing, err)
}

// codeRejected is the code of the SDK's error for a request that its transport did not deliver. It
// is none of a server.
const codeRejected = -32005

var errNobodyThere = errors.New("nothing answers at its address")

// notSent reports whether no connection could be made: then nothing was sent.
func notSent(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial"
}

// refused returns the error for a call that the server answered with an error of the protocol.
func (t *tool) refused(e *jsonrpc.Error) error {
	text := fmt.Sprintf("mcptools: the server %.64q refused the call of %s: %s (code %d)", t.set.cfg.Name, t.name, clean(t.set.redact.text(e.Message), 2000), e.Code)
	if !t.set.offersTool(t.name) {
		text += "; it does not offer this tool any more: use another one"
	}
	return errors.New(t.set.withVersion(text))
}

// withVersion returns the text of a failed call. If it is about a question to people, it names the
// version of MCP, in which the server may not be able to ask.
func (s *Toolset) withVersion(text string) string {
	spoken := s.Listing().Protocol
	if spoken < stateless || !strings.Contains(strings.ToLower(text), "elicit") {
		return text
	}
	return fmt.Sprintf("%s; MCP %s is spoken with the server %.64q, and it may be able to ask only in an older version: set its protocol to 2025-11-25 in the configuration", text, spoken, s.cfg.Name)
}

// offersTool reports whether a tool is in the newest list.
func (s *Toolset) offersTool(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.listing.Offers {
		if o := &s.listing.Offers[i]; o.Name == name && o.LeftOut == "" {
			return true
		}
	}
	return false
}

// suspend suspends a call for the questions of a stateless server.
func (t *tool) suspend(ctx context.Context, state *callState, res *mcp.CallToolResult) error {
	questions, err := state.ask(t, res)
	if err != nil {
		return err
	}
	err = tools.Suspend(ctx, state.encoded(), questions...)
	if errors.Is(err, tools.ErrNobody) {
		return fmt.Errorf("mcptools: the server %.64q asks a question, and there is nobody to ask here: %w", t.set.cfg.Name, err)
	}
	return err
}
