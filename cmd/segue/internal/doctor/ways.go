package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/textpolicy"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

var (
	weather = tools.Definition{
		Name: "get_weather", Description: "Says the temperature in a city.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}
	clock = tools.Definition{Name: "get_time", Description: "Tells the time."}
)

// checkTools asks a question that needs two tool calls, of the server's own kind.
func (x *examiner) checkTools(ctx context.Context, c *check) {
	x.ways = []Way{{}}
	ask := messages.History{messages.UserText("How warm is it in Paris and in Oslo? Call get_weather for both cities at once, before you answer.")}
	a := x.ask(ctx, x.client, llmclient.Request{Messages: ask, Tools: []tools.Definition{weather}}, x.streams)
	c.thoughts(a)
	switch {
	case c.passing(a):
	case a.err != nil && a.err.Code == llmclient.CodeMalformedToolCall:
		c.Measured = "the provider could not read the call that the model wrote; segue asks again"
	case a.err != nil && a.x.status != http.StatusOK:
		c.Measured = "refused"
		x.without(ctx, c, status(a))
	case a.err != nil:
		c.find(Broken, "stream_cut", a.err.Message, "look at the server's log")
	case len(a.resp.Message.Calls()) == 0:
		c.Measured = "none, but text"
		x.left = readBy(a.text())
		if x.left == "" || x.cfg.Policy != "" {
			x.without(ctx, c, "the model answers without a call")
			return
		}
		c.find(Set, "calls_as_text", "the server leaves the calls in the text, in the form "+x.left,
			"policy: "+x.left+", or have the server read them (vLLM: --tool-call-parser; llama.cpp: --jinja)")
	default:
		x.judgeCalls(ctx, c, a, ask)
	}
}

// judgeCalls is about the calls of a reply.
func (x *examiner) judgeCalls(ctx context.Context, c *check, a answer, ask messages.History) {
	calls := a.resp.Message.Calls()
	if c.Measured = fmt.Sprintf("%d calls in one reply", len(calls)); len(calls) == 1 {
		c.Measured = "one call in a reply, where two were asked for"
	}
	for _, call := range calls {
		if call.Name == weather.Name && cityOf(call) != "" {
			continue
		}
		c.find(Set, "bad_arguments", "a call without what its tool needs: "+call.Name+" "+call.Arguments,
			cmp.Or(x.instead(ctx), "take another model, or another server or version of it"))
		return
	}
	x.ways[0].Called = true
	x.calls = withResults(ask, a)
}

// withResults returns a conversation with the results of the calls in a reply.
func withResults(ask messages.History, a answer) messages.History {
	h := append(ask.Clip(), a.resp.Message)
	for i, call := range a.resp.Message.Calls() {
		h = append(h, messages.Tool{ToolOutput: messages.ToolOutput{
			CallID: call.ID, ToolName: call.Name, Output: fmt.Sprintf(`{"city":%q,"degrees":%d}`, cityOf(call), 17+6*i),
		}})
	}
	return h
}

// cityOf returns the city in the arguments of a call.
func cityOf(call messages.ToolCall) string {
	var args struct{ City string }
	if json.Unmarshal([]byte(call.Arguments), &args) != nil {
		return ""
	}
	return args.City
}

// says reports whether an answer says what the first result says.
func (a answer) says() bool {
	return strings.Contains(a.text(), "17") || strings.Contains(strings.ToLower(a.text()), "seventeen")
}

// without says that there are no tool calls of the server, which is no finding where a policy is
// set.
func (x *examiner) without(ctx context.Context, c *check, measured string) {
	if x.cfg.Policy != "" {
		c.Measured = measured + "; policy: " + x.cfg.Policy + " is set"
		return
	}
	c.find(Set, "no_tools", measured, cmp.Or(x.instead(ctx), "take another model for work with tools"))
}

// instead returns what to set instead of the server's tool calls; "" if nothing works.
func (x *examiner) instead(ctx context.Context) string {
	x.tryPolicies(ctx)
	if best := x.best(); best != "" {
		return "policy: " + best
	}
	return ""
}

// checkResults sends the results of the calls back.
func (x *examiner) checkResults(ctx context.Context, c *check) {
	if len(x.calls) == 0 {
		c.skip("there were no calls")
		return
	}
	a := x.ask(ctx, x.client, llmclient.Request{Messages: x.calls, Tools: []tools.Definition{weather}}, x.streams)
	c.thoughts(a)
	x.ways[0].Answered = a.err == nil
	switch {
	case c.passing(a):
	case a.err != nil:
		c.Measured = "refused"
		x.ways[0] = Way{Problem: "its result is refused"}
		c.find(Set, "results_refused", status(a), cmp.Or(x.instead(ctx), "take another model for work with tools"))
	case len(a.resp.Message.Calls()) > 0: // it asks for the second city, or again
		c.Measured = "accepted; the model calls again"
	case a.text() == "" && x.found["empty_reply"]:
		c.Measured = "accepted; the answer is empty, see above"
	case !a.says():
		c.Measured = "accepted"
		x.ways[0].Answered = false
		c.find(Set, "results_ignored", "the answer does not say what the result says", "take another model, or set a policy")
	default:
		c.Measured = "accepted, and used in the answer"
	}
}

// checkText has the model write a call as text: in the format that is set or, where the server has
// no tool calls, in those that fit the model.
func (x *examiner) checkText(ctx context.Context, c *check) {
	x.tryPolicies(ctx)
	tried := x.ways[1:]
	if len(tried) == 0 {
		c.skip("not asked")
		return
	}
	best, native := x.best(), x.ways[0].Called
	for _, w := range tried {
		if w.Policy == best || best == "" {
			c.Measured = "policy " + w.Policy + ": " + w.text()
			break
		}
	}
	switch set := x.cfg.Policy; {
	case x.timeouts > 1 || x.passed:
	case best == "" && native && set != "":
		c.find(Set, "policy_unread", c.Measured, "no policy: native tool calls work")
	case best == "" && !native:
		c.find(Broken, "no_policy", "neither native tool calls nor any text format works", "take another model for work with tools")
	case set != "" && best != set && best != "":
		c.find(Set, "policy_unread", "policy "+set+" does not read what the model writes", "policy: "+best)
	}
}

// best returns the first policy that works up to the answer, or else up to the call; "" if none
// does.
func (x *examiner) best() (policy string) {
	for _, w := range slices.Backward(x.ways[1:]) {
		if w.Called && !w.Answered {
			policy = w.Policy
		}
	}
	for _, w := range slices.Backward(x.ways[1:]) {
		if w.Answered {
			policy = w.Policy
		}
	}
	return policy
}

// tryPolicies tries the policies in order until one works, once.
func (x *examiner) tryPolicies(ctx context.Context) {
	if len(x.ways) > 1 {
		return
	}
	for _, name := range x.policies() {
		if x.timeouts > 1 || x.passed || ctx.Err() != nil {
			return
		}
		w := x.tryPolicy(ctx, name)
		if x.ways = append(x.ways, w); w.Answered {
			return
		}
	}
}

// policies returns those to try: the one that is set, the format in which calls stood in the text,
// and without the server's calls the format of the model and those that most models write.
func (x *examiner) policies() []string {
	names := []string{x.cfg.Policy, x.left}
	if p, ok := markdownpolicy.ForModel(x.cfg.Client.Model); ok {
		if think, ok := p.(markdownpolicy.Think); ok {
			p = think.Policy
		}
		if named, ok := p.(markdownpolicy.Namer); ok {
			names = append(names, named.Name())
		}
	}
	if x.schema {
		names = append(names, "structured")
	}
	names = append(names, "fenced", "hermes")
	var all []string
	for _, name := range names {
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if x.ways[0].Called {
		return all[:1]
	}
	return all
}

// tryPolicy asks a question by a policy, and gives the result of the call.
func (x *examiner) tryPolicy(ctx context.Context, policy string) Way {
	w := Way{Policy: policy}
	p, err := textpolicy.New(policy, markdownpolicy.Options{})
	if err != nil {
		w.Problem = err.Error()
		return w
	}
	client := policyclient.Config{MaxRepairs: -1}.Wrap(x.client, markdownpolicy.Think{Policy: p})
	ask := messages.History{messages.UserText("How warm is it in Paris? Call the tool.")}
	req := llmclient.Request{Messages: ask, Tools: []tools.Definition{weather}}
	a := x.ask(ctx, client, req, false)
	switch {
	case a.err != nil:
		x.passed = a.passes() != ""
		w.Problem = "no call: " + x.clean(a.err.Message)
		return w
	case len(a.resp.Message.Calls()) == 0:
		w.Problem = "no call could be read"
		return w
	case cityOf(a.resp.Message.Calls()[0]) == "":
		w.Problem = "a call without what its tool needs"
		return w
	}
	w.Called = true
	req.Messages = withResults(ask, a)
	switch a = x.ask(ctx, client, req, false); {
	case a.err != nil:
		w.Problem = "its result is refused: " + x.clean(a.err.Message)
	case !a.says():
		w.Problem = "the answer does not say what the result says"
	default:
		w.Answered = true
	}
	return w
}

// readBy returns the name of the policy that reads a call of weather in a text; "" if none does.
// If several do, it is the one whose call begins first, because some also read parts of others.
func readBy(text string) string {
	best, from := "", len(text)+1
	for _, name := range markdownpolicy.Names() {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{Tools: []tools.Definition{weather}})
		if err != nil {
			continue
		}
		doc, err := (markdownpolicy.Think{Policy: p}).ParseResponse(text)
		if err != nil {
			continue
		}
		for _, part := range doc.Parts {
			if call, ok := part.Content.(messages.ToolCall); ok && call.Name == weather.Name && cityOf(call) != "" && part.Start < from {
				best, from = name, part.Start
			}
		}
	}
	return best
}
