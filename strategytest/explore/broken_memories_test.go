package explore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// number is a memory with a value of any type.
type number struct {
	memory
	N any `json:"n"`
}

// asked returns a twist that adds a text to each reply that it asks about, and completes then.
func asked(text func(*pupil) string) twist {
	return results(func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		for _, o := range r {
			p.say(messages.Tool{ToolOutput: o})
		}
		p.say(messages.UserText(text(p)))
		return p.fsm.Then("acted", p.request())
	})
}

// ending returns a twist that changes what a pupil completes with.
func ending(change func(*pupil, *delegation.Output)) twist {
	return twist{reply: func(p *pupil, r llmclient.Response) nextstep.NextStep {
		step := p.replied(r)
		done, ok := step.(nextstep.Complete)
		if !ok {
			return step
		}
		change(p, &done.Output)
		return done
	}}
}

// noSnapshot says that there is none.
func noSnapshot(*pupil) (json.RawMessage, error) { return nil, errors.New("there is none") }

var brokenMemories = []broken{
	{name: "forgets a field in Restore", law: explore.Restored, twist: twist{restore: func(p *pupil, data json.RawMessage) error {
		err := json.Unmarshal(data, &p.memory)
		p.Heard = ""
		return err
	}}},
	{name: "leaves a counter out of its snapshot", law: explore.Restored, twist: twist{
		reply: func(p *pupil, r llmclient.Response) nextstep.NextStep {
			n, _ := p.kept.(int)
			p.kept = n + 1
			return p.replied(r)
		},
		results: func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
			step := p.acted(r).(nextstep.GetChatCompletion)
			step.Request.MaxTokens, _ = p.kept.(int)
			return step
		},
	}},
	{name: "leaves out of its snapshot how often a tool has failed", law: explore.Restored, twist: twist{
		factory: capped(strategy.Caps{"retries": 1, "rounds": 5, "children": 1}, &twist{results: func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
			if n, _ := p.kept.(int); !r[0].OK() {
				p.kept = n + 1
			}
			step := p.acted(r)
			if p.kept == 3 {
				ask := step.(nextstep.GetChatCompletion)
				ask.Request.MaxTokens = 100 // it is to be brief
				step = ask
			}
			return step
		}}),
	}, world: func(o *explore.Options) { o.Depth, o.States = 12, 1000 }},
	{name: "leaves out of its snapshot what only its end says", law: explore.Restored, twist: twist{
		results: func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
			if len(p.History) > 3 && !r[0].OK() {
				p.kept = "the second call failed"
			}
			return p.acted(r)
		},
		reply: ending(func(p *pupil, out *delegation.Output) {
			if p.kept != nil {
				out.Result = new(out.Text() + ", and sorry")
			}
		}).reply,
	}, world: func(o *explore.Options) {
		few := []string{"text", "call look", "call pay", "says yes", "failure unavailable", "tool ok", "tool failed", "stop"}
		o.Without = func(_ *machine.Effect, reaction string) bool { return !slices.Contains(few, reaction) }
	}},
	{name: "remembers an any, which changes its type", law: explore.Restored, twist: twist{
		start: func(p *pupil, _ delegation.Input) nextstep.NextStep {
			p.kept = 3
			return p.fsm.Then("start", p.request())
		},
		results:  asked(func(p *pupil) string { return fmt.Sprintf("%T", p.kept) }).results,
		snapshot: func(p *pupil) (json.RawMessage, error) { return json.Marshal(number{p.memory, p.kept}) },
		restore: func(p *pupil, data json.RawMessage) error {
			var n number
			err := json.Unmarshal(data, &n)
			p.memory, p.kept = n.memory, n.N
			return err
		},
	}},
	{name: "hands out the bytes of its snapshot", law: explore.Restored, twist: twist{snapshot: func(p *pupil) (json.RawMessage, error) {
		data, err := json.Marshal(p.memory)
		if have, ok := p.kept.([]byte); ok && len(have) == len(data) {
			return have, nil
		}
		p.kept = data
		return data, err
	}, restore: func(p *pupil, data json.RawMessage) error {
		if data[0] == '#' {
			return nil
		}
		return json.Unmarshal(data, &p.memory)
	}}},
	{name: "keeps the bytes that it was restored from", law: explore.Restored, twist: twist{
		snapshot: func(p *pupil) (json.RawMessage, error) {
			if have, ok := p.kept.([]byte); ok {
				return append([]byte(nil), have...), nil
			}
			return json.Marshal(p.memory)
		},
		restore: func(p *pupil, data json.RawMessage) error {
			p.kept = []byte(data)
			return json.Unmarshal(data, &p.memory)
		},
	}},
	{name: "counts its snapshots", law: explore.Restored, twist: twist{snapshot: func(p *pupil) (json.RawMessage, error) {
		n, _ := p.kept.(int)
		p.kept = n + 1
		return json.Marshal(number{p.memory, n})
	}}},
	{name: "panics in Snapshot", law: explore.Restored, twist: twist{snapshot: func(*pupil) (json.RawMessage, error) { panic("oops") }}},
	{name: "panics in Restore", law: explore.Restored, twist: twist{restore: func(*pupil, json.RawMessage) error { panic("oops") }}},
	{name: "refuses its own snapshot", law: explore.Restored, twist: twist{restore: func(*pupil, json.RawMessage) error { return errors.New("no") }}},
	{name: "is another after a restore", law: explore.Restored, twist: twist{
		restore: func(p *pupil, data json.RawMessage) error {
			p.kept = "restored"
			return json.Unmarshal(data, &p.memory)
		},
		results: func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
			step := p.acted(r).(nextstep.GetChatCompletion)
			if p.kept != nil {
				step.Request.Messages = append(step.Request.Messages, messages.UserText("Where was I?"))
			}
			return step
		},
	}},
}

// counted is a counter that all strategies share, as a package variable.
var counted int

// shuffled returns names in the order of a map.
func shuffled() string {
	var all []string
	for name := range map[string]bool{"a": true, "b": true, "c": true, "d": true, "e": true, "f": true, "g": true, "h": true} {
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

var brokenPurity = []broken{
	{name: "decides by the order of a map", law: explore.Same, twist: asked(func(*pupil) string { return shuffled() })},
	{name: "decides by a package variable", law: explore.Same, twist: asked(func(*pupil) string {
		counted++
		return fmt.Sprint(counted)
	})},
	{name: "decides by the clock", law: explore.Same, twist: asked(func(*pupil) string { return time.Now().String() })},
	{name: "decides by chance", law: explore.Same, twist: asked(func(*pupil) string { return fmt.Sprint(rand.Int()) })}, //nolint:gosec // it must not be foreseen
	{name: "ends with metadata by chance", law: explore.Same, twist: ending(func(_ *pupil, out *delegation.Output) {
		out.Metadata = delegation.Metadata{"luck": json.RawMessage(fmt.Sprint(rand.Int()))} //nolint:gosec // it must not be foreseen
	})},
	{name: "has said something by chance before its end", law: explore.Same, twist: ending(func(p *pupil, out *delegation.Output) {
		luck := messages.AssistantText(fmt.Sprint(rand.Int())) //nolint:gosec // it must not be foreseen
		out.Messages = append(p.History.Clip(), messages.UserText("Sure?"), luck, messages.UserText("Good."))
	})},
	{name: "decides by an address", law: explore.Same, twist: asked(func(p *pupil) string { return fmt.Sprintf("%p", p) })},
	{name: "has a counter in its factory", law: explore.Same, twist: twist{factory: func(func() strategy.Strategy) func() strategy.Strategy {
		made := 0
		return func() strategy.Strategy {
			made++
			text := fmt.Sprint(made)
			t := asked(func(*pupil) string { return text })
			return newPupil(&t)()
		}
	}}},
	{name: "keeps another tool behind those that it returned", law: explore.Scribbled, twist: twist{
		uses: func(p *pupil, defs []tools.Definition) {
			p.tools = append(make([]tools.Definition, 0, 2), defs...)[:1]
		},
		results: func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
			p.acted(r)
			p.say(messages.UserText("There is also " + p.tools[:2][1].Name))
			return p.request()
		},
		snapshot: noSnapshot,
	}},
	{name: "keeps its next message behind those that it returned", law: explore.Scribbled, twist: twist{
		reply: func(p *pupil, r llmclient.Response) nextstep.NextStep {
			step := p.replied(r)
			d, ok := step.(nextstep.Delegate)
			if !ok {
				return step
			}
			n := len(p.History)
			p.History = append(p.History, messages.UserText("What do you make of it?"))[:n]
			d.Input.Messages = p.History
			return d
		},
		child: func(p *pupil, out delegation.Output) nextstep.NextStep {
			if out.Err != nil {
				return p.giveUp("the child failed")
			}
			p.History = p.History[:len(p.History)+1]
			return p.fsm.Then("came back", p.request())
		},
		snapshot: noSnapshot,
	}},
}
