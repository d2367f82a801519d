package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/cmd/segue/internal/textpolicy"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// Choose tries the ways in which a model can call tools, as [Examine] does, and returns the one
// that came furthest, the earliest of equals: one without a call if none works. The Policy of the
// Config is not heeded. The error says that the server could not be tried.
func Choose(parent context.Context, cfg Config) (Way, error) {
	cfg.Policy = ""
	x, err := newExaminer(cfg, nil)
	if err != nil {
		return Way{}, err
	}
	ctx, cancel := context.WithTimeout(parent, 4*x.cfg.Timeout)
	defer cancel()
	x.tryWays(ctx)
	if parent.Err() != nil {
		return Way{}, context.Cause(parent)
	}
	if best := x.choice(ctx); best != nil {
		return *best, nil
	}
	if x.last.err == nil {
		return Way{}, errors.New("it took longer than " + took(4*x.cfg.Timeout))
	}
	_, measured, _ := x.failure(x.last)
	return Way{}, errors.New(x.clean(measured) + "; segue doctor says more")
}

// choice returns the best way; nil if the server could not be tried to the end, and none worked
// before.
func (x *examiner) choice(ctx context.Context) *Way {
	best := x.best()
	if !best.Answered && (x.passed || !x.replied || x.timeouts > 1 || ctx.Err() != nil) {
		return nil
	}
	return &best
}

// best returns the way that came furthest, the earliest of equals.
func (x *examiner) best() (best Way) {
	for _, w := range x.ways {
		if w.Answered && !best.Answered || w.Called && !best.Called {
			best = w
		}
	}
	return best
}

// instead returns what to set where the calls of the server do not work.
func (x *examiner) instead() string {
	if best := x.best(); best.Policy != "" {
		return "policy: " + best.Policy
	}
	return "take another model for work with tools"
}

// tryWays tries the tool calls of the server, and text formats until one works: the one that is
// set and, where the server's calls do not work, those that fit the model.
func (x *examiner) tryWays(ctx context.Context) {
	own := x.try(ctx, "")
	x.own = x.last
	for _, policy := range x.policies(own.Answered) {
		if x.timeouts > 1 || x.passed || ctx.Err() != nil || x.try(ctx, policy).Answered {
			return
		}
	}
}

func (x *examiner) policies(ownWorks bool) []string {
	names := []string{x.cfg.Policy}
	if !ownWorks {
		names = append(names, textpolicy.NameFor(x.cfg.Client.Model))
		if !x.noSchema {
			names = append(names, "structured")
		}
		names = append(names, "fenced", "hermes")
	}
	var all []string
	for _, name := range names {
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// weather is the tool that the model is to call.
var weather = tools.Definition{Name: "get_weather", Description: "Says the temperature in a city.", ReadOnly: true}

// place is what weather needs.
type place struct {
	City string `json:"city"`
}

// try has an agent answer a question that needs a call, as segue run would, and adds the way to
// those that were tried.
func (x *examiner) try(ctx context.Context, policy string) (w Way) {
	defer func() { x.ways = append(x.ways, w) }()
	w.Policy = policy
	asks := &asking{x: x}
	var client llmclient.Client = asks
	if policy != "" {
		think, err := textpolicy.For(x.cfg.Client.API, policy)
		if err != nil {
			w.Problem = err.Error()
			return w
		}
		client = policyclient.Config{MaxRepairs: -1}.Wrap(asks, think)
	}
	agent := segue.Agent{
		Model:    client,
		Strategy: completetask.New(completetask.Config{MaxModelCalls: 3, MaxRetries: 1}),
		Tools: []tools.Tool{tools.New(weather, func(_ context.Context, in place) (string, error) {
			w.Called = w.Called || in.City != ""
			return fmt.Sprintf(`{"city":%q,"degrees":17}`, in.City), nil
		})},
	}
	text, _ := agent.Ask(ctx, "How warm is it in Paris? Call the tool get_weather.")
	w.InText = policy == "" && w.Called && !asks.calls
	w.Answered = w.Called && (strings.Contains(text, "17") || strings.Contains(strings.ToLower(text), "seventeen"))
	x.passed = x.passed || x.last.passes()
	switch failed := x.last.err; {
	case w.Answered:
	case failed != nil && w.Called:
		w.Problem = "its result is refused: " + x.clean(status(x.last))
	case failed != nil:
		w.Problem = x.clean(status(x.last))
	case w.Called:
		w.Problem = "the answer does not say what the result says"
	case asks.calls:
		w.Problem = "a call without what its tool needs"
	default:
		w.Problem = "no call could be read"
	}
	return w
}

// asking is the client of an agent whose requests the examiner makes.
type asking struct {
	x     *examiner
	calls bool // the server has returned calls
}

// Complete implements [llmclient.Client].
func (a *asking) Complete(ctx context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
	got := a.x.ask(ctx, *req, false)
	if got.err != nil {
		return nil, got.err
	}
	a.calls = a.calls || len(got.resp.Message.Calls()) > 0
	return got.resp, nil
}

// Unwrap returns the wrapped client.
func (a *asking) Unwrap() llmclient.Client { return a.x.client }

// checkTools tries each way, and is about the calls of the server's own.
func (x *examiner) checkTools(ctx context.Context, c *check) {
	x.tryWays(ctx)
	switch own := x.ways[0]; {
	case own.InText && x.cfg.Policy == "":
		c.Measured = "a call stood in the text, where segue reads it"
		read := "have the server read them (vLLM: --tool-call-parser; llama.cpp: --jinja)"
		if best := x.best(); best.Policy != "" {
			read = "policy: " + best.Policy + ", or " + read
		}
		c.find(Set, "calls_as_text", "the server leaves calls in the text of a reply", read)
	case own.Called:
		c.Measured = "a call came, with what its tool needs"
	case c.passing(x.own):
	case x.cfg.Policy != "":
		c.Measured = own.Problem + "; policy: " + x.cfg.Policy + " is set"
	default:
		c.Measured = "none"
		c.find(Set, "no_tools", own.Problem, x.instead())
	}
}

// checkResults is about the result of the server's own call, and the answer after it.
func (x *examiner) checkResults(_ context.Context, c *check) {
	switch own := x.ways[0]; {
	case !own.Called:
		c.skip("there was no call")
	case own.Answered:
		c.Measured = "used in the answer"
	case c.passing(x.own):
	case x.own.err != nil:
		c.Measured = "refused"
		c.find(Set, "results_refused", status(x.own), x.instead())
	default:
		c.Measured = "accepted"
		c.find(Set, "results_ignored", own.Problem, x.instead())
	}
}

// checkText is about the text formats that were tried.
func (x *examiner) checkText(_ context.Context, c *check) {
	tried, best := x.ways[1:], x.best()
	if len(tried) == 0 {
		c.skip("the calls of the server work")
		return
	}
	shown := tried[0]
	if best.Policy != "" {
		shown = best
	}
	c.Measured = "policy " + shown.Policy + ": " + shown.text()
	switch set := x.cfg.Policy; {
	case x.timeouts > 1 || x.passed:
	case !best.Called:
		c.find(Broken, "no_policy", "neither native tool calls nor any text format works", "take another model for work with tools")
	case set != "" && !tried[0].Called && best.Policy == "":
		c.find(Set, "policy_unread", c.Measured, "no policy: native tool calls work")
	case set != "" && best.Policy != set && best.Policy != "":
		c.find(Set, "policy_unread", "policy "+set+" does not read what the model writes", "policy: "+best.Policy)
	}
}
