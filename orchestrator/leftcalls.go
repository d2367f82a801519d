package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// leftReader asks a client, and reads the calls that its server left in the text of a reply. It
// does so until the server has returned a call for the model.
type leftReader struct {
	client llmclient.Client
	native sync.Map // names of models for which the server has returned a call
	held   sync.Map // by model: whether its server may hold replies to a schema; see askBySchema
}

// reads reports whether calls are read in the text of the reply to a request.
func (l *leftReader) reads(req *llmclient.Request) bool {
	if len(req.Tools) == 0 || req.ToolFormat == llmclient.ToolsText || req.ToolChoice.Mode == llmclient.ChooseNone {
		return false
	}
	_, native := l.native.Load(req.Model)
	return !native && !llmclient.CallsNatively(l.client, req)
}

// complete makes a request; wanted says whether calls may be read.
func (l *leftReader) complete(req *llmclient.Request, ask *asking, wanted bool) (*llmclient.Response, error) {
	ctx, hear := ask.ctx, ask.onDelta
	if !wanted || !l.reads(req) {
		return l.client.Complete(ctx, req, hear)
	}
	if l.asksBySchema(req) {
		return l.askBySchema(req, ask)
	}
	r, inner := &leftReply{req: req, ask: ask}, ctx
	if hear != nil {
		hear = r.hear
		inner = llmclient.WithNotify(ctx, func(n llmclient.Notice) {
			if n.Discard {
				r.begin()
			}
			llmclient.Notify(ctx, n)
		})
	}
	resp, err := l.client.Complete(inner, told(req), hear)
	if err != nil || resp == nil || machine.BadReply(resp) != "" {
		r.flush()
		return resp, err
	}
	if len(resp.Message.Calls()) > 0 {
		l.native.Store(req.Model, true)
		r.flush()
		return resp, nil
	}
	read, err := r.read(ctx, resp)
	if e, ok := errors.AsType[*llmclient.Error](err); ok {
		return l.again(req, ask, e)
	}
	if len(read.Message.Calls()) > 0 {
		l.held.LoadOrStore(req.Model, true)
	}
	return l.afterNothing(req, ask, read)
}

// leftReply is a reply that may end with calls in its text.
type leftReply struct {
	req  *llmclient.Request
	ask  *asking
	left *markdownpolicy.LeftCalls
	text strings.Builder // what was streamed
	told int             // how much of it was released
}

func (r *leftReply) begin() {
	r.left, r.told = nil, 0
	r.text.Reset()
}

// hear releases what can no longer be a part of calls.
func (r *leftReply) hear(d llmclient.Delta) {
	r.ask.watch(d)
	if d.Kind != llmclient.DeltaText {
		r.ask.show(d)
		return
	}
	if r.left == nil {
		r.left = markdownpolicy.NewLeftCalls(r.req.Tools)
	}
	r.text.WriteString(d.Text)
	r.release(r.left.Held(r.text.String()))
}

func (r *leftReply) release(to int) {
	if from := r.told; to > from {
		r.told = to
		r.ask.show(llmclient.Delta{Text: r.text.String()[from:to]})
	}
}

// flush releases all that came, unless the run was stopped: then nobody waits for it.
func (r *leftReply) flush() {
	if r.ask.run.Err() == nil {
		r.release(r.text.Len())
	}
}

// read returns the response with the calls at the end of its text, or an error that tells the model
// why they cannot be made.
func (r *leftReply) read(ctx context.Context, resp *llmclient.Response) (*llmclient.Response, error) {
	text := resp.Message.Text()
	if r.left == nil || r.text.String() != text { // not streamed, or otherwise than promised
		r.flush()
		r.left = markdownpolicy.NewLeftCalls(r.req.Tools)
	}
	left, ok := r.found(text, resp)
	if !ok {
		r.flush()
		return resp, nil
	}
	model := cmp.Or(resp.Asked, resp.Model, r.req.Model)
	if left.Problem != "" {
		r.flush()
		return nil, &llmclient.Error{
			Code: llmclient.CodeMalformedToolCall, Model: model, Message: left.Problem, Partial: resp.Message, Usage: resp.Usage, Attempts: resp.Attempts,
		}
	}
	own := *resp
	own.Message.Content = withCalls(resp.Message.Content, len(text)-left.Start, r.identified(left.Calls))
	own.Read = len(left.Calls)
	own.Finish = llmclient.FinishToolCalls
	r.release(min(len(own.Message.Text()), r.text.Len()))
	llmclient.Notify(ctx, llmclient.Notice{
		Kind: llmclient.NoticeTextCall, Model: model,
		Err: fmt.Errorf("orchestrator: read %d calls that the server had left in the text of the reply, the first of the tool %q", own.Read, left.Calls[0].Name),
	})
	return &own, nil
}

// found returns the calls that end a complete reply, or their problem, unless they are an answer or
// shown, or somebody told the model to write them.
func (r *leftReply) found(text string, resp *llmclient.Response) (left markdownpolicy.Left, ok bool) {
	switch resp.Finish {
	case "", llmclient.FinishStop, llmclient.FinishToolCalls:
		left, ok = r.left.Read(text)
	case llmclient.FinishLength:
		left, ok = r.left.Read(text)
		ok = ok && left.Ended
	default:
	}
	last := lastText(resp.Message.Content)
	if !ok || last < 0 || len(text)-left.Start > len(resp.Message.Content[last].(messages.Text).Text) || r.isAnswer(text, left.Problem) {
		return left, false
	}
	if left.Problem != "" {
		return left, !left.IsQuoted(text, r.req.Messages)
	}
	return left, !slices.ContainsFunc(left.Calls, r.isTold)
}

// isAnswer reports whether a reply is one that the request asks to be JSON.
func (r *leftReply) isAnswer(text, problem string) bool {
	if r.req.Schema == nil {
		return false
	}
	schema, err := tools.CompileSchema(r.req.Schema.Schema)
	object, _ := markdownpolicy.FindObject(text)
	return problem != "" || err == nil && schema.Check(cmp.Or(object, text)) == nil
}

func lastText(content []messages.AssistantContent) int {
	for i, c := range slices.Backward(content) {
		if _, ok := c.(messages.Text); ok {
			return i
		}
	}
	return -1
}

// withCalls returns the content with calls in the place of the last n bytes of its text.
func withCalls(content []messages.AssistantContent, n int, calls []messages.AssistantContent) []messages.AssistantContent {
	last := lastText(content)
	t := content[last].(messages.Text)
	t.Text = strings.TrimRight(t.Text[:len(t.Text)-n], " \t\r\n\v\f")
	t.Citations = slices.DeleteFunc(slices.Clone(t.Citations), func(c messages.Citation) bool { return c.End > len(t.Text) })
	kept := slices.Clone(content)
	if kept[last] = t; t.Text == "" {
		kept = slices.Delete(kept, last, last+1)
	}
	return append(kept, calls...)
}

// identified gives calls ids that are new in the conversation.
func (r *leftReply) identified(calls []messages.ToolCall) (content []messages.AssistantContent) {
	taken := map[string]bool{}
	for _, m := range r.req.Messages {
		if a, ok := m.(messages.Assistant); ok {
			for _, c := range a.Calls() {
				taken[c.ID] = true
			}
		}
	}
	n := 0
	for _, c := range calls {
		for c.ID = ""; c.ID == "" || taken[c.ID]; {
			n++
			c.ID = fmt.Sprint(leftID, len(r.req.Messages), "_", n)
		}
		content = append(content, c)
	}
	return content
}

// isTold reports whether a call is not the model's own: it, or a request to write its arguments,
// stands in a message of a user or a tool, or the user asks to be shown a call of the tool.
func (r *leftReply) isTold(c messages.ToolCall) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal([]byte(c.Arguments), &members) // they fit a schema
	for i, m := range slices.Backward(r.req.Messages) {
		text, byTool := saidOutside(m)
		if !strings.Contains(text, c.Name) {
			continue
		}
		if !byTool && i == r.lastUser() && asksToShow.MatchString(text) {
			return true
		}
		plain := packed(text)
		if len(members) == 0 && emptyCall.MatchString(plain) || len(members) > 0 && tellsAll(plain, c.Name, members, byTool) {
			return true
		}
	}
	return false
}

// tellsAll reports whether each argument stands in a packed text with its name: as in a call or,
// where a tool wrote the text, in any words.
func tellsAll(text, tool string, members map[string]json.RawMessage, byTool bool) bool {
	inPython := strings.Contains(text, tool+"(")
	if byTool {
		text = unmarked.Replace(text)
	}
	for key, value := range members {
		key, value := packed(key), packed(string(value))
		switch {
		case byTool && strings.Contains(text, unmarked.Replace(key+value)):
		case !byTool && (strings.Contains(text, `"`+key+`":`+value) || inPython && strings.Contains(text, key+"="+value)):
		default:
			return false
		}
	}
	return true
}

func (r *leftReply) lastUser() int {
	for i, m := range slices.Backward(r.req.Messages) {
		if m.Role() == messages.RoleUser {
			return i
		}
	}
	return -1
}

// saidOutside returns the text of a message that a user or a tool wrote.
func saidOutside(m messages.Message) (text string, byTool bool) {
	switch m := m.(type) {
	case messages.User:
		return m.Text(), m.Untrusted
	case messages.Tool:
		return m.Output, true
	default:
		return "", false
	}
}

var (
	// asksToShow finds a request for the text of a call.
	asksToShow = regexp.MustCompile(`(?i)\b(show|write|print|quote|give|example)\b[^.?!]*\bcalls? (of|to|for)\b|\bcalls?\b[^.?!]*\blooks? like\b|\bexample\b[^.?!]*\bcalls?\b|\b(do not|don't|without) (actually )?call(ing)? (it|that|the tool)\b`)

	// emptyCall finds a call without arguments in a packed text.
	emptyCall = regexp.MustCompile(`"(arguments|parameters)":"?\{\}|\(\)`)

	// unmarked removes what stands between a name and its value, however they are written.
	unmarked = strings.NewReplacer(`"`, "", "'", "", "`", "", ":", "", "=", "", ",", "", "*", "")
)

// packed removes blanks and the backslashes of escapes, which differ where a text is quoted.
func packed(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\\' || c <= ' ' {
			return -1
		}
		return c
	}, text)
}

// A server that leaves calls in the text forces no call either, and lets the model call tools that
// it was not offered. It may still hold a reply to a JSON Schema. So once a call was left in a
// text, forced calls are asked for by schema, as [markdownpolicy.Structured] does. The model is
// asked again by schema after a call that cannot be made, and after an empty reply. All other
// requests stay native.

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
	if held, _ := l.held.LoadOrStore(req.Model, true); held == false || ask.last {
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

// leftID begins the ids of calls that were read in the text of a reply.
const leftID = "text_call_"

// What a model whose calls are left in the text is told after results. It makes the calls of a task
// again otherwise, or takes an error for the end.
const (
	tellNext  = "\n\n(If a step of the task is left, call the tool for it. If none is left, say the answer in a sentence.)"
	tellWrong = "\nCorrect the arguments and try again."
)

// told returns the request with a word after results of calls that were read in the text: after
// an error that other arguments may mend, and after the last result of each reply but the first.
// What was told once is told in all later requests.
func told(req *llmclient.Request) *llmclient.Request {
	var own messages.History
	replies := 0
	for i, m := range req.Messages {
		m, ok := m.(messages.Tool)
		if !ok || !strings.HasPrefix(m.CallID, leftID) {
			continue
		}
		if req.Messages[i-1].Role() != messages.RoleTool {
			replies++
		}
		last := i+1 == len(req.Messages) || req.Messages[i+1].Role() != messages.RoleTool
		word := ""
		switch {
		case m.Status == messages.StatusFailed && (m.Reason == tools.ReasonError || m.Reason == tools.ReasonArguments):
			word = tellWrong
		case last && replies > 1 && m.OK() && m.Reason == "":
			word = tellNext
		default:
			continue
		}
		if own == nil {
			own = append(own, req.Messages...)
		}
		m.Output, m.Untrusted = m.ForModel()+word, false // ForModel has marked it
		own[i] = m
	}
	if own == nil {
		return req
	}
	r := *req
	r.Messages = own
	return &r
}
