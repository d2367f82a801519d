package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/tools"
)

// babble is a model that says anything. Its replies depend only on the request and the seed, so
// that concurrent agents do not influence each other.
type babble struct {
	*composition
	fans  bool // requests may be made concurrently
	stop  func()
	notes chan string // nil: nobody makes notes

	mu     sync.Mutex
	asked  int            // the number of requests
	called int            // that, and the number of tool calls
	offers bool           // one of them offered an agent
	billed int            // these requests, and the attempts hidden behind them
	hidden int            // those by schema after a call left in a text, see begin
	usage  messages.Usage // the usage of all of them
	broken []string
}

func (b *babble) blame(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = append(b.broken, fmt.Sprintf(format, args...))
}

// Complete implements llmclient.Client.
func (b *babble) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	if err := req.Messages.Validate(); err != nil {
		b.blame("a request breaks the laws: %v", err)
	}
	b.begin(req)
	if ctx.Err() != nil {
		return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Err: context.Cause(ctx)}
	}
	v := newVoice(b.Seed, req)
	resp, err := v.wild()
	if v.IntN(10) < b.Sense {
		resp, err = v.fitting(), nil
	}
	b.bill(resp, err)
	if onDelta != nil && resp != nil {
		onDelta(llmclient.Delta{Kind: llmclient.DeltaText, Text: resp.Message.Text()})
	}
	return resp, err
}

// begin counts a request and checks the limits.
func (b *babble) begin(req *llmclient.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	again := b.Fails > 0 || b.Break > 0 // answers that were not stored may be requested again
	b.offers = b.offers || len(agentsAmong(req.Tools)) > 0
	b.note()
	if b.asked == b.Stop {
		b.stop()
	}
	// Branches that ask at the same time do not know of each other's second requests.
	if b.fans && req.Schema != nil && req.Schema.Name == "reply" {
		b.hidden++
	}
	if b.asked-b.hidden > b.Limits.ModelCalls && !again {
		b.broken = append(b.broken, fmt.Sprintf("%d requests are made, and %d is the limit", b.asked, b.Limits.ModelCalls))
	}
	if !b.fans && !again && b.billed >= b.Limits.ModelCalls {
		b.broken = append(b.broken, fmt.Sprintf("a request is made after %d, hidden attempts included, and %d is the limit", b.billed, b.Limits.ModelCalls))
	}
	if most := b.Limits.TotalTokens; most > 0 && !b.fans && !again && b.usage.Total >= most {
		b.broken = append(b.broken, fmt.Sprintf("a request is made after %d tokens, and %d is the limit", b.usage.Total, most))
	}
}

// note makes a note, if it is time. The lock is held.
func (b *babble) note() {
	if b.called++; b.Note > 0 && b.called >= b.Note && b.called < b.Note+3 {
		b.notes <- fmt.Sprint("note ", b.called)
	}
}

// bill records the usage of an answer.
func (b *babble) bill(resp *llmclient.Response, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var usage messages.Usage
	var attempts []llmclient.Attempt
	if resp != nil {
		usage, attempts = resp.Usage, resp.Attempts
	}
	if e, ok := errors.AsType[*llmclient.Error](err); ok {
		usage, attempts = e.Usage, e.Attempts
	}
	b.billed += 1 + len(attempts)
	b.usage = b.usage.Add(totalled(usage))
	for _, a := range attempts {
		b.usage = b.usage.Add(totalled(a.Usage))
	}
}

func totalled(u messages.Usage) messages.Usage {
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	return u
}

// voice makes one reply.
type voice struct {
	*rand.Rand
	req *llmclient.Request
	tag string // prefix of the ids of its calls
}

func newVoice(seed uint64, req *llmclient.Request) *voice {
	h := fnv.New64a()
	fmt.Fprint(h, len(req.Messages), len(req.Tools))
	for _, m := range req.Messages[max(0, len(req.Messages)-2):] {
		fmt.Fprintf(h, "%T", m)
		switch m := m.(type) {
		case messages.User:
			fmt.Fprint(h, m.Text())
		case messages.Assistant:
			fmt.Fprint(h, m.Text())
		case messages.Tool:
			fmt.Fprint(h, m.CallID, m.Output)
		default:
		}
	}
	return &voice{Rand: rand.New(rand.NewPCG(seed, h.Sum64())), req: req, tag: fmt.Sprintf("%x", h.Sum64()&0xffffff)}
}

// agentsAmong returns the tools that are agents.
func agentsAmong(defs []tools.Definition) []tools.Definition {
	return slices.DeleteFunc(slices.Clone(defs), func(d tools.Definition) bool { return !strings.HasPrefix(d.Name, agentPrefix) })
}

// one returns one of the values.
func one[T any](v *voice, values ...T) T { return values[v.IntN(len(values))] }

// fitting is a sensible reply.
func (v *voice) fitting() *llmclient.Response {
	tools, agents := v.req.Tools, agentsAmong(v.req.Tools)
	if len(tools) > 0 && v.IntN(3) > 0 || len(agents) > 0 && v.IntN(2) > 0 {
		var calls []messages.ToolCall
		for range 1 + v.IntN(3) {
			name := one(v, tools...).Name
			if len(agents) > 0 && v.IntN(3) > 0 {
				name = one(v, agents...).Name
			}
			calls = append(calls, v.call(len(calls), name, v.arguments(name)))
		}
		return v.reply("", calls...)
	}
	if v.req.Schema != nil {
		return v.reply(one(v, `{"approved":true,"feedback":""}`, `{"approved":false,"feedback":"too long"}`))
	}
	return v.reply(one(v, "APPROVED", "p0", "I take p1.", "Line 2 limps.", "the answer", "1. look\n2. think\n3. tell",
		"Thought: look\nAction: look\nAction Input: {}", "Thought: ask\nAction: agent_n1\nAction Input: {\"goal\":\"part\"}",
		"Thought: I know.\nFinal Answer: 42", `{"finish":true,"final_answer":"42"}`, `{"should_continue":false,"final_answer":"43"}`))
}

// arguments are valid arguments for a tool with that name.
func (v *voice) arguments(name string) string {
	switch {
	case name == "submit_plan":
		executor := fmt.Sprintf(`,"executor":"n%d"`, v.IntN(mostNodes))
		return one(v, `{"steps":["one"]}`, `{"steps":[{"id":"a","goal":"one"},{"id":"b","goal":"two","depends_on":["a"]}]}`,
			`{"steps":[{"id":"a","goal":"one"`+executor+`}]}`, `{"steps":["one","two"]}`, `{"steps":["one","two","three","four"]}`,
			`{"steps":[{"goal":"one","depends_on":[]},{"goal":"two","depends_on":[]},{"goal":"three"`+executor+`,"depends_on":["1"]}]}`)
	case name == "submit_evaluation":
		return one(v, `{"approved":true}`, `{"approved":true}`, `{"approved":false,"feedback":"too short"}`)
	case name == "agent_decide_next":
		return one(v, `{"plan":"look","finish":false}`, `{"finish":true,"final_answer":"42"}`, `{"finish":false,"request_input":{"question":"which?"}}`, `{"finish":"yes"}`)
	case name == "agent_observe_decide":
		return one(v, `{"observation":"well","should_continue":true}`, `{"should_continue":false,"final_answer":"42"}`, `{"should_continue":false}`)
	case name == "search_tools", name == "find":
		return one(v, `{"query":"look"}`, `{"query":"strict"}`, `{"query":"agent"}`, `{"query":"unicorn"}`, `{"query":"a look at what fails"}`)
	case name == "ask_user":
		return `{"question":"which?"}`
	case name == "final":
		return `{"answer":"42"}`
	case strings.HasPrefix(name, agentPrefix):
		return one(v, `{"goal":"a part"}`, `{"goal":"the rest"}`, `{"goals":["one","two","three"]}`, `{"goals":["one"]}`)
	default:
		return one(v, `{}`, `{"x":1}`)
	}
}

func (v *voice) call(i int, name, arguments string) messages.ToolCall {
	return messages.ToolCall{ID: fmt.Sprint(v.tag, "-", i), Name: name, Arguments: arguments}
}

func (v *voice) reply(text string, calls ...messages.ToolCall) *llmclient.Response {
	r := &llmclient.Response{Finish: llmclient.FinishStop, Model: v.req.Model, Usage: messages.Usage{Input: v.Int64N(20), Output: v.Int64N(9)}}
	if text != "" {
		r.Message.Content = append(r.Message.Content, messages.Text{Text: text})
	}
	for _, c := range calls {
		r.Message.Content = append(r.Message.Content, c)
		r.Finish = llmclient.FinishToolCalls
	}
	return r
}

// known are names of tools, whether offered or not.
var known = []string{"look", "fails", "suspends", "submit_plan", "submit_evaluation", "agent_decide_next", "agent_observe_decide", "agent_request_input", "agent_n1", "search_tools", "final", "no_such_tool", "", "a b\n\"c"}

// odd are unusual texts and arguments.
var odd = []string{
	"", " ", "\n\n", "{", `{"`, "null", "[]", `"text"`, "1e999", `{"steps":[]}`, `{"steps":[{"id":"a","goal":"x","depends_on":["a"]}]}`,
	`{"steps":[{"id":"a","goal":"x","depends_on":["b"]},{"id":"b","goal":"y","depends_on":["a"]}]}`, `{"steps":null}`, `{"steps":[null]}`,
	`{"steps":[{"goal":""}]}`, `{"steps":["a"]}{"steps":["b"]}`, `{"approved":"true"}`, `{"approved":true,"feedback":5}`, "NOT APPROVED", "approved?",
	"```json\n{\"approved\": true}\n```", "Thought:", "Action:", "Action: look", "Thought: a\nAction: look\nAction Input: {", "Final Answer:",
	"Observation: I made this up\nFinal Answer: x", `{"finish":true}`, `{"request_input":{}}`, `{"finish":[1]}`, `{"goals":[]}`, `{"goals":[""]}`,
	"<tool_call>{}</tool_call>", "\u0000\u202e\ufffd", strings.Repeat("[", 3000), strings.Repeat("word ", 1500), `{"max":` + strings.Repeat("9", 400) + `}`, "{{.Goal}}",
}

// wild is a reply, or an error, of any kind.
func (v *voice) wild() (*llmclient.Response, error) {
	var calls []messages.ToolCall
	for range max(0, v.IntN(6)-2) {
		name := one(v, known...)
		if len(v.req.Tools) > 0 && v.IntN(2) == 0 {
			name = one(v, v.req.Tools...).Name
		}
		calls = append(calls, v.call(len(calls), name, one(v, odd...)))
	}
	r := v.reply(one(v, odd...), calls...)
	switch v.IntN(24) {
	case 0:
		return nil, v.failure(r)
	case 1:
		r.Finish = llmclient.FinishLength
	case 2:
		r.Finish = one(v, llmclient.FinishContentFilter, llmclient.FinishRefusal)
	case 3:
		r.Finish = one[llmclient.FinishReason](v, "", "odd")
	case 4:
		r.Message = messages.Assistant{}
	case 5:
		r.Message.Content = []messages.AssistantContent{messages.Thought{Text: one(v, odd...)}}
	case 6: // ids that exist already, are empty, or occur twice
		for i := range r.Message.Content {
			if c, ok := r.Message.Content[i].(messages.ToolCall); ok {
				c.ID = one(v, "", "same", v.tag)
				r.Message.Content[i] = c
			}
		}
	case 7:
		huge := one(v, int64(math.MaxInt64/64), math.MaxInt32)
		r.Usage = messages.Usage{Input: huge, Output: huge, Total: 2 * huge, Cached: huge, Reasoning: huge}
	case 8:
		r.Attempts = []llmclient.Attempt{{Code: llmclient.CodeTimeout, Usage: messages.Usage{Input: 3}}, {Code: llmclient.CodeUnavailable}}
	case 9:
		return nil, nil //nolint:nilnil // forbidden for a client
	default:
	}
	return r, nil
}

// failure is an error of the provider.
func (v *voice) failure(r *llmclient.Response) error {
	if v.IntN(8) == 0 {
		return errors.New("no route to host")
	}
	e := &llmclient.Error{
		Code: one(v, llmclient.CodeRateLimited, llmclient.CodeUnavailable, llmclient.CodeTimeout, llmclient.CodeTruncated, llmclient.CodeContextLength,
			llmclient.CodeAuth, llmclient.CodeQuota, llmclient.CodeNotFound, llmclient.CodeBadRequest, llmclient.CodeContentFilter,
			llmclient.CodeMalformedToolCall, llmclient.CodeMalformedToolCall, llmclient.CodeMalformedToolCall, llmclient.CodeBadResponse, llmclient.CodeCanceled),
		Message: one(v, odd...), Generated: one(v, odd...), Usage: r.Usage, Attempts: r.Attempts,
	}
	if v.IntN(2) == 0 {
		e.Partial = r.Message
	}
	return e
}

// oneStep is the step of a step agent: it asks, runs the calls, and ends when there are none.
func oneStep(s stepagent.Step) stepagent.StepResult {
	s.Note(fmt.Sprint("iteration ", s.Iteration))
	return stepagent.Ask(llmclient.Request{Tools: s.Tools}, func(resp llmclient.Response) stepagent.StepResult {
		calls, text := resp.Message.Calls(), resp.Message.Text()
		switch {
		case len(calls) > 0:
			return stepagent.ToolCalls(calls...)
		case resp.Finish == llmclient.FinishRefusal:
			return stepagent.Fail(errors.New(text))
		case len(text)%3 == 1:
			return stepagent.Continue(resp.Message, messages.UserText("go on"))
		default:
			return stepagent.Finish(text)
		}
	})
}

// composedTools are the tools of compositions, without agents.
var composedTools = []tools.Tool{
	tools.NewRaw(tools.Definition{Name: "look", ReadOnly: true}, looked),
	tools.NewRaw(tools.Definition{Name: "fails"}, func(context.Context, string) (string, error) { return "half", errors.New("the disk is full") }),
	tools.NewRaw(tools.Definition{Name: "panics"}, func(context.Context, string) (string, error) { panic("at the disco") }),
	tools.NewRaw(tools.Definition{Name: "garbles", Sequential: true}, func(context.Context, string) (string, error) { return "\xff\x00" + strings.Repeat("y", 9000), nil }),
	tools.New(tools.Definition{Name: "strict"}, func(_ context.Context, in struct {
		X int `json:"x"`
	},
	) (json.RawMessage, error) {
		return json.RawMessage(fmt.Sprint(in.X)), nil
	}),
	tools.AskUser(),
	tools.NewRaw(tools.Definition{Name: "suspends", Idempotent: true}, suspended),
}

// looked says what it was asked.
func looked(_ context.Context, args string) (string, error) { return "it is " + brief(args), nil }

// brief cuts what a tool repeats: a loop gives a part what it has said before, and JSON in JSON
// doubles its escapes each time.
func brief(args string) string { return args[:min(len(args), 100)] }

// suspended suspends its call, and goes on with the answer: like the tool of a server that asks.
func suspended(ctx context.Context, args string) (string, error) {
	r, ok := tools.Resumed(ctx)
	if !ok {
		return "", tools.Suspend(ctx, json.RawMessage(`{"asked":true}`), tools.Question{Text: "Really?"})
	}
	return "as you say: " + r.Answers[0].Text + " " + brief(args), nil
}

// before is an earlier conversation.
var before = messages.History{
	messages.System{Text: "be kind"},
	messages.UserText("look"),
	messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c0", Name: "look", Arguments: "{}"}}},
	messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c0", ToolName: "look", Output: "so it is", Untrusted: true}},
	messages.AssistantText("so it is"),
}
