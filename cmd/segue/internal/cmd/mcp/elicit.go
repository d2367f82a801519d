package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/machine"
)

// elicitor asks the person at an MCP client for what a run waits for. A client that speaks
// 2026-07-28 or later gets the questions as the result of its call, and comes back with the
// answers; an older one is asked while its call is in progress.
type elicitor struct {
	session *mcp.ServerSession
	able    bool     // the client can ask a person
	rounds  bool     // it gets questions as the result of its call
	job     *run.Job // of the run

	mu    sync.Mutex
	open  map[string]*elicited // by the id of the wait
	asked chan struct{}        // holds one if something is open that was not sent to the client
}

// elicited is a question that a client is to answer.
type elicited struct {
	params *mcp.ElicitParams
	result chan *mcp.ElicitResult
	sent   bool
}

// firstWithRounds is the first version of MCP in which a server asks by the result of a call.
const firstWithRounds = "2026-07-28"

func newElicitor(session *mcp.ServerSession) *elicitor {
	e := &elicitor{session: session, open: map[string]*elicited{}, asked: make(chan struct{}, 1)}
	if init := session.InitializeParams(); init != nil {
		e.rounds = init.ProtocolVersion >= firstWithRounds
		if caps := init.Capabilities; caps != nil && caps.Elicitation != nil {
			e.able = caps.Elicitation.Form != nil || caps.Elicitation.URL == nil
		}
	}
	return e
}

// reply is the Reply of an [orchestrator.Config].
func (e *elicitor) reply(ctx context.Context, w machine.Wait) (machine.Reply, error) {
	approves := w.Kind == machine.WaitApproval || w.Kind == machine.WaitUnknown
	if !e.able {
		return machine.Reply{Reason: "nobody can be asked here: the MCP client that called segue does not know elicitation"}, nil
	}
	params, problem := e.paramsOf(w, approves)
	if problem != "" {
		return machine.Reply{Reason: problem}, nil
	}
	res, err := e.ask(ctx, w.ID, params)
	switch {
	case ctx.Err() != nil:
		return machine.Reply{}, context.Cause(ctx)
	case err != nil:
		return machine.Reply{Reason: "the MCP client could not ask anybody"}, nil //nolint:nilerr // it is no approval
	}
	return replyOf(res, approves), nil
}

// replyOf returns the reply that an answer means. Whatever is no clear yes is no approval.
func replyOf(res *mcp.ElicitResult, approves bool) machine.Reply {
	text := func(key string) string {
		s, _ := res.Content[key].(string)
		return strings.TrimSpace(strings.ToValidUTF8(s, ""))
	}
	yes, _ := res.Content["approve"].(bool)
	switch {
	case res.Action == "accept" && approves && yes:
		return machine.Reply{Approve: true}
	case res.Action == "accept" && approves:
		return machine.Reply{Reason: text("reason")}
	case res.Action == "accept" && text("answer") != "":
		return machine.Reply{Text: text("answer")}
	case res.Action == "decline":
		return machine.Reply{Reason: "the person was asked, and declined"}
	default:
		return machine.Reply{Reason: "the person was asked, and gave no answer"}
	}
}

// maxElicited is the longest message to a client, in bytes.
const maxElicited = 64 << 10

// paramsOf returns the question of a wait; problem says why it cannot be asked.
func (e *elicitor) paramsOf(w machine.Wait, approves bool) (params *mcp.ElicitParams, problem string) {
	var lines []terminal.Line
	properties, required := map[string]any{}, "answer"
	switch {
	case approves:
		required = "approve"
		properties["approve"] = map[string]any{"type": "boolean", "title": "Make the call"}
		properties["reason"] = map[string]any{"type": "string", "title": "Why not", "description": "the agent is told so"}
		lines = e.describeCall(w)
	default:
		answer := map[string]any{"type": "string", "title": "Answer"}
		if len(w.Options) > 0 {
			answer["enum"] = w.Options
		}
		properties["answer"] = answer
		lines = []terminal.Line{terminal.Plain.Line(plaintext.Printable(w.Text))}
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line.Text + "\n")
	}
	if b.Len() > maxElicited {
		return nil, "the call is too long to be shown to a person, and so was not made"
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": []string{required}})
	if err != nil {
		return nil, "the question could not be asked"
	}
	return &mcp.ElicitParams{Mode: "form", Message: strings.TrimRight(b.String(), "\n"), RequestedSchema: json.RawMessage(schema)}, ""
}

// describeCall shows a call, whole, because nobody must approve what they cannot see.
func (e *elicitor) describeCall(w machine.Wait) []terminal.Line {
	what := "needs your approval"
	if w.Kind == machine.WaitUnknown {
		what = "may have had its effect; approve to make it again"
	}
	lines := []terminal.Line{terminal.Plain.Line(fmt.Sprintf("%s %s", plaintext.Visible(w.Tool), what))}
	lines = append(lines, e.job.MCP.About[w.Tool]...)
	if why := e.job.Files.Protection(w.Tool, w.Arguments); why != "" {
		lines = append(lines, terminal.Plain.Line("  Protected: "+string(why)+"."))
	}
	lines = append(lines, terminal.LineIf(w.Untrusted, terminal.Plain.Line(terminal.UntrustedWarning))...)
	return append(lines, terminal.DescribeArguments(w.Arguments)...)
}

// ask asks the client, and waits for the answer.
func (e *elicitor) ask(ctx context.Context, id string, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if !e.rounds {
		return e.session.Elicit(ctx, params)
	}
	q := &elicited{params: params, result: make(chan *mcp.ElicitResult, 1)}
	e.mu.Lock()
	e.open[id] = q
	select {
	case e.asked <- struct{}{}:
	default: // it is known
	}
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.open, id)
	}()
	select {
	case res := <-q.result:
		return res, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// waiting returns a channel that holds something as soon as the client must ask somebody.
func (e *elicitor) waiting() <-chan struct{} { return e.asked }

// requests returns all questions that are open.
func (e *elicitor) requests() mcp.InputRequestMap {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := mcp.InputRequestMap{}
	for id, q := range e.open {
		all[id], q.sent = q.params, true
	}
	select { // all that is open is in the answer
	case <-e.asked:
	default:
	}
	return all
}

// answer passes on the answers of a client. A question that it was sent and has not answered counts
// as cancelled.
func (e *elicitor) answer(given mcp.InputResponseMap) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, q := range e.open {
		if !q.sent {
			continue
		}
		res, ok := given[id].(*mcp.ElicitResult)
		if !ok || res == nil {
			res = &mcp.ElicitResult{Action: "cancel"}
		}
		q.sent = false
		q.result <- res
		delete(e.open, id)
	}
}
