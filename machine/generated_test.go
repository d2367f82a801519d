package machine_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// This file makes runs at random: strategies that follow a list of moves, the tools they call, and
// a world whose answers depend on nothing but the effect.

// moves are what a strategy does, one after the other: "ask a b c" asks a model, which calls those
// tools; "child 2" delegates to the strategy p2, "child 2 few" gives it only some tools; "far"
// delegates elsewhere; "fail" reports an error.
type moves []string

// follower is a strategy that follows its moves, and tells at the end what it was answered.
type follower struct {
	moves moves
	at    int
	goal  string
	heard []string
	strategy.Defaults
}

func (f *follower) Initialize(in delegation.Input) nextstep.NextStep {
	f.goal = in.Goal
	return f.next()
}

func (f *follower) next() nextstep.NextStep {
	if f.at == len(f.moves) {
		return done("[" + strings.Join(f.heard, " ") + "]")
	}
	move := strings.Fields(f.moves[f.at])
	f.at++
	switch move[0] {
	case "ask":
		text := fmt.Sprintf("%s %d: %s", f.goal, f.at, strings.Join(move[1:], " "))
		return ask(text, toolNames...)
	case "child":
		step := nextstep.Delegate{Strategy: "p" + move[1], Input: delegation.Input{Goal: f.goal + "." + move[1]}}
		if slices.Contains(move, "short") {
			step.Limits.Steps = 2
		}
		if slices.Contains(move, "few") {
			step.Tools = fewTools
		}
		return step
	case "far":
		return nextstep.Delegate{Strategy: "far", Input: delegation.Input{Goal: f.goal}}
	default:
		return nextstep.ReportError{Err: &delegation.Error{Code: delegation.CodeFailed, Message: "gave up"}}
	}
}

func (f *follower) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	if calls := r.Message.Calls(); len(calls) > 0 {
		return nextstep.ExecuteTools{Calls: calls}
	}
	f.heard = append(f.heard, r.Message.Text())
	return f.next()
}

func (f *follower) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	for _, r := range results {
		f.heard = append(f.heard, fmt.Sprintf("%s=%s:%s", r.CallID, r.Status, r.Output))
	}
	return f.next()
}

func (f *follower) ProcessDelegationResult(o delegation.Output) nextstep.NextStep {
	f.heard = append(f.heard, "child="+o.Text())
	if o.Err != nil {
		f.heard = append(f.heard, "child failed: "+string(o.Err.Code)) // its message names a frame, and which that is depends on when its branch was opened
	}
	return f.next()
}

func (f *follower) ProcessFailure(a nextstep.Failure) nextstep.NextStep {
	f.heard = append(f.heard, "failed: "+a.Message)
	return f.next()
}

func (f *follower) Conclude(string) delegation.Output {
	text := "[" + strings.Join(f.heard, " ") + " …]"
	return delegation.Output{Result: &text}
}

// tooling are the tools of generated runs.
var tooling = []tools.Definition{
	{Name: "read", ReadOnly: true},
	{Name: "write"},
	{Name: "again", Idempotent: true},
	{Name: "alone", ReadOnly: true, Sequential: true},
	{Name: "lonely", Sequential: true},
	{Name: "out", ReadOnly: true, Untrusted: true},
	{Name: "guarded", NeedsApproval: true},
	{Name: "asks", ReadOnly: true},
	{Name: "begs"},
	{Name: "talks", ReadOnly: true},
	{Name: "pleads"},
	{Name: "edits", ReadOnly: true},
	{Name: "fails", ReadOnly: true},
	{Name: "breaks"},
}

var toolNames = func() []string {
	names := []string{"agent1", "agent2", "agent3", "fan1", "fan2", "fan3"}
	for _, d := range tooling {
		names = append(names, d.Name)
	}
	return names
}()

// fewTools are those that some children may use.
var fewTools = []string{"read", "out", "guarded", "agent3", "asks"}

// levels is how many strategies a generated run has; each works with those of a higher number only.
const levels = 4

// chance draws a number below n, each as likely as any other: rapid's own numbers are mostly small.
func chance(t *rapid.T, n int) int {
	return number(strconv.Itoa(rapid.IntRange(0, 1<<16).Draw(t, "chance"))) % n
}

// program draws the moves of the strategies; with short some children have few steps.
func program(t *rapid.T, short bool) []moves {
	all := make([]moves, levels)
	for level := range all {
		for range 1 + chance(t, 2) {
			all[level] = append(all[level], draw(t, level, short))
		}
	}
	return all
}

// draw draws a move of a strategy.
func draw(t *rapid.T, level int, short bool) string {
	last := level == levels-1
	deeper := func() int { return level + 1 + chance(t, levels-level-1) }
	switch kind := chance(t, 10); {
	case kind == 0 && !last && chance(t, 2) == 0:
		return fmt.Sprintf("child %d few", deeper())
	case kind == 0 && !last:
		return fmt.Sprintf("child %d", deeper())
	case kind == 1 && !last && short:
		return fmt.Sprintf("child %d short", deeper())
	case kind == 2:
		return "far"
	case kind == 3 && level > 0:
		return "fail"
	default:
		move := "ask"
		fanned := last // one in a move, or runs become too large
		for range chance(t, 5) {
			switch kind := chance(t, 6); {
			case kind == 0 && !last:
				move += fmt.Sprintf(" agent%d", deeper())
			case kind == 1 && !fanned:
				fanned = true
				move += fmt.Sprintf(" fan%d", deeper())
			case kind == 2 && chance(t, 4) == 0:
				move += " nobody"
			default:
				move += " " + tooling[chance(t, len(tooling))].Name
			}
		}
		return move
	}
}

// generated is the Config of a generated run.
func generated(all []moves) *machine.Config {
	cfg := &machine.Config{Strategies: strategy.Set{}, Tools: slices.Clone(tooling), Agents: map[string]*machine.Agent{}, Remote: []string{"far"}, Durable: true}
	for i, m := range all {
		cfg.Strategies[fmt.Sprintf("p%d", i)] = func() strategy.Strategy { return &follower{moves: m} }
		if i == 0 {
			continue
		}
		for _, name := range []string{"agent", "fan"} {
			many := name == "fan"
			name = fmt.Sprintf("%s%d", name, i)
			cfg.Tools = append(cfg.Tools, tools.Definition{Name: name, Sequential: i == 3})
			cfg.Agents[name] = &machine.Agent{Strategy: fmt.Sprintf("p%d", i), Inputs: func(args string) ([]delegation.Input, bool, error) {
				if many {
					return []delegation.Input{{Goal: args + "/1"}, {Goal: args + "/2"}, {Goal: args + "/3"}}, true, nil
				}
				return []delegation.Input{{Goal: args}}, false, nil
			}}
		}
	}
	return cfg
}

// world answers effects. What it says depends on nothing but the effect.
type world struct {
	agreeable bool             // people approve of everything
	hesitant  bool             // some requests and remote delegations wait for a person first
	prices    llmclient.Prices // of models; nil: none has a price
}

// number is one that depends on the text alone.
func number(text string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return int(h.Sum32() >> 1)
}

// record returns the record that says what becomes of an effect that was released.
func (w world) record(e *machine.Effect, at time.Time) machine.Record {
	if w.hesitant && (e.Kind == machine.EffectModel || e.Kind == machine.EffectRemote) && len(e.Replies) == 0 && e.ID.Seq%3 == 0 {
		return machine.Suspended{At: at, Effect: e.ID, Waits: []machine.Wait{question(e, "shall I?")}, State: []byte(`{"was":1}`)}
	}
	switch e.Kind {
	case machine.EffectModel:
		r := e.Answered(w.model(e), at, time.Millisecond)
		if w.prices != nil {
			r = r.Priced("m", w.prices)
		}
		return r
	case machine.EffectRemote:
		return e.Answered(w.remote(e), at, time.Millisecond)
	case machine.EffectPerson:
		return w.person(e, at)
	default:
		return w.tool(e, at)
	}
}

func (w world) model(e *machine.Effect) nextstep.Answer {
	request := e.Step.(nextstep.GetChatCompletion).Request
	text := request.Messages.Last().(messages.User).Content[0].(messages.Text).Text
	_, names, _ := strings.Cut(text, ": ")
	if number(text)%11 == 0 {
		return nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.CodeFailed, Message: "the model is away", Usage: messages.Usage{Input: 3}}
	}
	reply := messages.Assistant{}
	for i, name := range strings.Fields(names) {
		reply.Content = append(reply.Content, messages.ToolCall{ID: fmt.Sprintf("c%d", i+1), Name: name, Arguments: fmt.Sprintf("%s/%d", strings.Fields(text)[0], i+1)})
	}
	if len(reply.Content) == 0 {
		reply = messages.AssistantText("said of " + strings.Fields(text)[0])
	}
	return nextstep.APIResponse{Response: &llmclient.Response{Message: reply, Model: "m", Usage: messages.Usage{Input: 7, Output: 2}}}
}

func (w world) remote(e *machine.Effect) nextstep.Answer {
	step := e.Step.(nextstep.Delegate)
	text := "far " + step.Input.Goal
	out := delegation.Output{Result: &text, Usage: messages.Usage{Input: 5, Output: 1}}
	if number(step.Input.Goal)%2 == 0 {
		out.Counts = delegation.Counts{Steps: 1, ModelCalls: 1}
	}
	out.Untrusted = number(step.Input.Goal)%3 == 0
	return nextstep.DelegationResult{Output: out}
}

func (w world) person(e *machine.Effect, at time.Time) machine.Record {
	r := machine.Reply{WaitID: e.Wait.ID, Text: "yes: " + e.Wait.Text}
	r.Approve = w.agreeable || e.Wait.Kind == machine.WaitUnknown || number(e.Wait.Tool+e.Wait.Arguments)%3 > 0
	if !w.agreeable && e.Wait.Kind != machine.WaitUnknown && number(e.Wait.Arguments+e.Wait.Text)%7 == 0 {
		return machine.Replied{At: at, Reply: machine.Reply{WaitID: e.Wait.ID}, Err: &delegation.Error{Code: delegation.CodeFailed, Message: "nobody is there"}}
	}
	if begins := !slices.Contains([]string{"asks", "begs", "talks", "pleads"}, e.Wait.Tool); begins && r.Approve && e.Wait.Kind == machine.WaitApproval {
		if n := number(e.Wait.Arguments + e.Wait.Tool); n%3 == 0 {
			r.Arguments = fmt.Sprintf(`{ "by a person": %d }`, n%5)
		}
	}
	return machine.Replied{At: at, Reply: r}
}

// question is a wait of an effect.
func question(e *machine.Effect, text string) machine.Wait {
	return machine.Wait{
		Run: e.Run, Frame: e.Frame, Seq: e.ID.Seq, Kind: machine.WaitQuestion, CallID: e.Call.ID, Tool: e.Call.Name, Arguments: e.Call.Arguments, Text: text,
	}.Identified(e.ID)
}

func (w world) tool(e *machine.Effect, at time.Time) machine.Record {
	out := messages.ToolOutput{CallID: e.Call.ID, ToolName: e.Call.Name, Output: e.Call.Name + " of " + e.Call.Arguments, Status: messages.StatusOK}
	out.Untrusted = e.Definition.Untrusted
	answer := nextstep.ToolResult{Output: out}
	switch e.Call.Name {
	case "asks", "begs":
		if len(e.Replies) == 0 {
			return machine.Suspended{At: at, Effect: e.ID, Waits: []machine.Wait{question(e, "first?"), question(e, "second?")}, State: []byte("1")}
		}
		answer.Output.Output += replies(e)
	case "talks", "pleads":
		if len(e.Replies) == 0 {
			return machine.Asked{At: at, Effect: e.ID, Wait: question(e, "well?")}
		}
		answer.Output.Output += replies(e)
	case "edits":
		made := e.Call
		made.Arguments = "edited"
		answer.Call = &made
	case "fails", "breaks":
		return e.Answered(nextstep.Failure{Source: nextstep.SourceTool, Code: delegation.CodeFailed, Message: "it broke"}, at, 0)
	}
	return e.Answered(answer, at, time.Second)
}

// replies tells what an effect was replied.
func replies(e *machine.Effect) string {
	text := ""
	for _, x := range e.Replies {
		text += ", heard " + x.Reply.Text
		if x.Err != nil {
			text += "nothing"
		}
	}
	return text
}
