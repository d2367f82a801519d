package explore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// Reaction is something that the world can do to an effect: one record. [Reply] and [Answer] make
// the usual ones. What follows from the effect, such as the id of a call, is filled in where the
// record lacks it.
type Reaction struct {
	Name   string // for reports and paths; unique among the reactions to an effect
	Record func(e *machine.Effect) machine.Record
	Odd    bool // a run that goes well does not meet it; see Options.Odd

	own bool // one of Options.World
}

// AsOdd returns the reaction as an odd one.
func (r Reaction) AsOdd() Reaction {
	r.Odd = true
	return r
}

// Answer returns a reaction that answers an effect.
func Answer(name string, a nextstep.Answer) Reaction {
	return Reaction{Name: name, Record: func(e *machine.Effect) machine.Record { return e.Answered(a, time.Time{}, 0) }}
}

// Reply returns a reaction of a model: a reply of these parts.
func Reply(name string, finish llmclient.FinishReason, parts ...messages.AssistantContent) Reaction {
	return Reaction{Name: name, Record: func(e *machine.Effect) machine.Record {
		return e.Answered(nextstep.APIResponse{Response: &llmclient.Response{
			Message: messages.Assistant{Content: slices.Clone(parts)}, Finish: finish,
			Usage: messages.Usage{Input: 3, Output: 2, Total: 5},
		}}, time.Time{}, 0)
	}}
}

// whatever lists the reactions that are possible in every state.
var whatever = []Reaction{
	{Name: "stop", Odd: true, Record: func(*machine.Effect) machine.Record { return machine.Stopped{Reason: "stop"} }},
	{Name: "stop now", Odd: true, Record: func(*machine.Effect) machine.Record { return machine.Stopped{Reason: "stop now", Now: true} }},
	{Name: "crash", Odd: true, Record: func(*machine.Effect) machine.Record { return machine.Resumed{} }},
	{Name: "crash, unknown is told", Odd: true, Record: func(*machine.Effect) machine.Record { return machine.Resumed{Unknown: machine.UnknownTell} }},
	{Name: noteReaction, Record: func(*machine.Effect) machine.Record { return machine.Noted{Text: "a note"} }},
}

// notBegun is a further reaction to an effect whose frame must end.
var notBegun = Reaction{Name: "not begun", Record: func(e *machine.Effect) machine.Record {
	a := e.Answered(nil, time.Time{}, 0)
	a.NotBegun = true
	return a
}}

// world makes the reactions to effects.
type world struct {
	more    func(e *machine.Effect) []Reaction
	without func(e *machine.Effect, reaction string) bool
	models  map[string][]Reaction // by the names of the offered tools
	offered []byte                // those names, for the next look into models
	tools   map[toolKind][]Reaction
	persons map[personKind][]Reaction
	ended   map[*Reaction][]Reaction // the same lists with notBegun, by their first reactions
	whole   []Reaction
	wrong   error // what is wrong with a reaction of more
}

// always returns the reactions that are possible in every state.
func (w *world) always() []Reaction {
	if w.whole == nil {
		w.whole = w.kept(nil, whatever)
	}
	return w.whole
}

// reactions returns the possible reactions to an effect, always in the same order.
func (w *world) reactions(e *machine.Effect, ending bool) []Reaction {
	var list []Reaction
	switch e.Kind {
	case machine.EffectModel:
		list = w.ofModel(e.Step.(nextstep.GetChatCompletion).Request.Tools)
	case machine.EffectTool:
		list = w.ofTool(e)
	case machine.EffectRemote:
		list = ofChild
	case machine.EffectPerson:
		list = w.ofPerson(e.Wait)
	}
	if w.more != nil {
		list = w.join(list, e)
	}
	if ending && e.Kind != machine.EffectPerson {
		list = w.unbegun(list)
	}
	return w.kept(e, list)
}

// join appends the valid reactions of Options.World, and notes the first mistake in the others.
func (w *world) join(list []Reaction, e *machine.Effect) []Reaction {
	list = slices.Clip(list)
	for _, r := range w.more(e) {
		wrong := ""
		switch {
		case r.Name == "":
			wrong = fmt.Sprintf("a reaction to a %s has no name", e.Kind)
		case r.Record == nil:
			wrong = fmt.Sprintf("the reaction %q to a %s makes no record: Record is nil", r.Name, e.Kind)
		case slices.ContainsFunc(list, func(other Reaction) bool { return other.Name == r.Name }):
			wrong = fmt.Sprintf("two reactions to a %s are called %q", e.Kind, r.Name)
		}
		if r.own = true; wrong == "" {
			list = append(list, r)
		} else if w.wrong == nil {
			w.wrong = errors.New("explore: Options.World: " + wrong)
		}
	}
	return list
}

// refused notes that a reaction of Options.World does not fit its effect.
func (w *world) refused(x *exploration, r *Reaction, err error) {
	if w.wrong == nil {
		w.wrong = fmt.Errorf("explore: Options.World: the reaction %q does not fit a %s: %w", r.Name, x.run.answers.Kind, err)
	}
}

// unbegun returns a list with notBegun at its end.
func (w *world) unbegun(list []Reaction) []Reaction {
	if w.more != nil || len(list) == 0 {
		return append(slices.Clip(list), notBegun)
	}
	if w.ended == nil {
		w.ended = map[*Reaction][]Reaction{}
	}
	longer, known := w.ended[&list[0]] // each of these lists is made once
	if !known {
		longer = append(slices.Clip(list), notBegun)
		w.ended[&list[0]] = longer
	}
	return longer
}

// kept returns the reactions that Options.Without does not leave out.
func (w *world) kept(e *machine.Effect, list []Reaction) []Reaction {
	if w.without == nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(r Reaction) bool { return w.without(e, r.Name) })
}

// closer is the number of offered tools that are called in every way. Each of the others is called
// once, alone: it must be called at all, but more ways would show nothing new.
const closer = 2

// ofModel returns the possible replies of a model that was offered these tools.
func (w *world) ofModel(offered []tools.Definition) []Reaction {
	w.offered = w.offered[:0]
	for i := range offered {
		w.offered = append(append(w.offered, offered[i].Name...), '\n')
	}
	list, known := w.models[string(w.offered)]
	if !known {
		list = modelWith(offered)
		if w.models == nil {
			w.models = map[string][]Reaction{}
		}
		w.models[string(w.offered)] = list
	}
	return list
}

// modelWith lists the possible replies of a model that was offered these tools.
func modelWith(offered []tools.Definition) []Reaction {
	list := []Reaction{
		Reply("text", llmclient.FinishStop, messages.Text{Text: "an answer"}),
		Reply("nothing", llmclient.FinishStop).AsOdd(),
		Reply("thought", llmclient.FinishStop, messages.Thought{Text: "let me see"}).AsOdd(),
		Reply("cut off text", llmclient.FinishLength, messages.Text{Text: "an ans"}).AsOdd(),
		Reply("withheld", llmclient.FinishContentFilter, messages.Text{Text: "an"}).AsOdd(),
		Reply("refusal", llmclient.FinishRefusal, messages.Text{Text: "no"}).AsOdd(),
		Reply("good JSON", llmclient.FinishStop, messages.Text{Text: `{"answer":"yes"}`}),
		Reply("bad JSON", llmclient.FinishStop, messages.Text{Text: `{"answer":"ye`}).AsOdd(),
		Reply("unknown call", llmclient.FinishToolCalls, call(0, "no_such_tool", "{}")).AsOdd(),
	}
	for i := range offered {
		name := offered[i].Name
		list = append(list, Reply("call "+name, llmclient.FinishToolCalls, call(0, name, "{}")))
		if i >= closer {
			continue
		}
		list = append(list,
			Reply("text and call "+name, llmclient.FinishToolCalls, messages.Text{Text: "so"}, call(0, name, "{}")).AsOdd(),
			Reply("bad call "+name, llmclient.FinishStop, call(0, name, `{"cut`)).AsOdd(),
			Reply("cut off calls "+name, llmclient.FinishLength, call(0, name, "{}"), call(1, name, `{"cut`)).AsOdd(),
			Reply("two calls "+name, llmclient.FinishToolCalls, call(0, name, "{}"), call(1, name, "{}")).AsOdd(),
		)
	}
	if len(offered) >= closer {
		list = append(list, Reply("call both", llmclient.FinishToolCalls, call(0, offered[0].Name, "{}"), call(1, offered[1].Name, "{}")))
	}
	for _, code := range []llmclient.Code{
		llmclient.CodeUnavailable, llmclient.CodeRateLimited, llmclient.CodeTruncated, llmclient.CodeContextLength, llmclient.CodeAuth,
		llmclient.CodeContentFilter, llmclient.CodeMalformedToolCall, llmclient.CodeBadRequest, llmclient.CodeBadResponse,
	} {
		list = append(list, Answer("failure "+string(code), nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.Code(code), Message: "it did not work"}).AsOdd())
	}
	return list
}

// call returns a call with a number in its reply.
func call(n int, tool, arguments string) messages.ToolCall {
	return messages.ToolCall{ID: "call" + strconv.Itoa(n), Name: tool, Arguments: arguments}
}

// toolKind is the part of a call that decides what can happen to it.
type toolKind struct {
	safe  bool
	again bool // it has waited for somebody
}

// ofTool returns everything that can happen to a call.
func (w *world) ofTool(e *machine.Effect) []Reaction {
	key := toolKind{safe: e.Safe(), again: len(e.Replies) > 0}
	if list, ok := w.tools[key]; ok {
		return list
	}
	ends := func(name string, out messages.ToolOutput) Reaction {
		return Reaction{Name: "tool " + name, Odd: name != "ok", Record: func(e *machine.Effect) machine.Record {
			out.CallID, out.ToolName = e.Call.ID, e.Call.Name
			return e.Answered(nextstep.ToolResult{Output: out}, time.Time{}, 0)
		}}
	}
	list := []Reaction{
		ends("ok", messages.ToolOutput{Status: messages.StatusOK, Output: "tool output"}),
		ends("failed", messages.ToolOutput{Status: messages.StatusFailed, Reason: tools.ReasonError, Output: "it failed"}),
		ends("untrusted", messages.ToolOutput{Status: messages.StatusOK, Output: "from outside", Untrusted: true}),
		ends("huge", messages.ToolOutput{Status: messages.StatusOK, Output: huge}),
	}
	if !e.Safe() {
		list = append(list, ends("unknown", messages.ToolOutput{Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted, Output: "who knows"}))
	}
	if len(e.Replies) == 0 {
		list = append(list, Reaction{Name: "tool suspended", Odd: true, Record: func(e *machine.Effect) machine.Record {
			wait := machine.Wait{Run: e.Run, Frame: e.Frame, Seq: e.ID.Seq, Kind: machine.WaitQuestion, CallID: e.Call.ID, Tool: e.Call.Name, Arguments: e.Call.Arguments, Text: "which one?", Untrusted: e.Untrusted}
			return machine.Suspended{Effect: e.ID, Waits: []machine.Wait{wait.Identified(e.ID)}, State: json.RawMessage(`{"so":"far"}`)}
		}})
	}
	if w.tools == nil {
		w.tools = map[toolKind][]Reaction{}
	}
	w.tools[key] = list
	return list
}

// huge is a result that is larger than strategies expect.
var huge = strings.Repeat("huge ", 2000)

// ofChild lists the possible outputs of a child that is not run.
var ofChild = func() []Reaction {
	result, empty := "a result", ""
	ends := func(name string, out delegation.Output) Reaction {
		out.Counts.Steps = 1 // a child that reports nothing counts with all its limits
		r := Answer("child "+name, nextstep.DelegationResult{Output: out})
		r.Odd = name != "result"
		return r
	}
	return []Reaction{
		ends("result", delegation.Output{Result: &result}),
		ends("empty", delegation.Output{Result: &empty}),
		ends("nothing", delegation.Output{}),
		ends("failed", delegation.Output{Result: &result, Err: &delegation.Error{Code: delegation.CodeFailed, Message: "the child failed"}}),
		ends("limit", delegation.Output{Err: &delegation.Error{Code: delegation.CodeLimit, Message: "too deep"}}),
		ends("stopped", delegation.Output{Err: &delegation.Error{Code: delegation.CodeStopped, Message: "it was stopped"}}),
		Answer("child unreachable", nextstep.Failure{Source: nextstep.SourceStrategy, Code: delegation.CodeFailed, Message: "nobody there"}).AsOdd(),
	}
}()

// personKind is the part of a wait that decides how it can end.
type personKind struct{ question, approval, expires bool }

// ofPerson returns the possible ends of a wait.
func (w *world) ofPerson(wait *machine.Wait) []Reaction {
	kind := personKind{question: wait.Kind == machine.WaitQuestion, approval: wait.Kind == machine.WaitApproval, expires: !wait.Expires.IsZero()}
	if w.persons[kind] == nil {
		if w.persons == nil {
			w.persons = map[personKind][]Reaction{}
		}
		w.persons[kind] = kind.reactions()
	}
	return w.persons[kind]
}

func (k personKind) reactions() []Reaction {
	reply := func(name string, odd bool, r machine.Reply) Reaction {
		return Reaction{Name: name, Odd: odd, Record: func(e *machine.Effect) machine.Record {
			r.WaitID = e.Wait.ID
			return machine.Replied{Reply: r}
		}}
	}
	var list []Reaction
	switch {
	case k.question:
		list = []Reaction{reply("answers", false, machine.Reply{Text: "that one"}), reply("declines", true, machine.Reply{Reason: "I do not know"})}
	default:
		list = []Reaction{reply("says yes", false, machine.Reply{Approve: true}), reply("says no", true, machine.Reply{Reason: "not now"})}
		if k.approval {
			list = append(list, reply("says yes to other arguments", true, machine.Reply{Approve: true, Arguments: `{"other":true}`}))
		}
	}
	if k.expires {
		list = append(list, Reaction{Name: "wait expires", Odd: true, Record: func(e *machine.Effect) machine.Record {
			return machine.Replied{At: expiry(e.Wait), Reply: machine.Reply{WaitID: e.Wait.ID}, Expired: true}
		}})
	}
	return list
}
