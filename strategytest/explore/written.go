package explore

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// The prefixes of reactions that a path holds as JSON, because this package does not make them.
const (
	asAnswer = "answer {" // the answer of an Answered that holds nothing else
	asRecord = "record {" // any other record
)

// cutWritten splits a reaction that is written in JSON from the id of its effect.
func cutWritten(line string) (id, text string, ok bool) {
	id, text, _ = strings.Cut(line, " ")
	return id, text, strings.HasPrefix(text, asAnswer) || strings.HasPrefix(text, asRecord)
}

// write returns a reaction to an effect as JSON, without the fields that follow from the effect.
func write(r *Reaction, e *machine.Effect) (string, error) {
	rec := r.Record(e)
	bare := without(rec)
	same, err := equal(rec, filled(bare, e))
	if err != nil {
		return "", err
	}
	if !same { // it is about another effect
		bare = rec
	}
	if a, ok := bare.(machine.Answered); ok && a.Answer != nil {
		only := machine.Answered{Answer: a.Answer}
		if same, err = equal(bare, only); err == nil && same {
			text, err := nextstep.AppendAnswer([]byte("answer "), a.Answer)
			return string(text), err
		}
	}
	text, err := machine.AppendRecord([]byte("record "), bare)
	return string(text), err
}

// equal reports whether two records have the same JSON form.
func equal(a, b machine.Record) (bool, error) {
	x, err := machine.AppendRecord(nil, a)
	y, err2 := machine.AppendRecord(nil, b)
	return bytes.Equal(x, y), cmp.Or(err, err2)
}

// readReaction reads a reaction from its JSON.
func readReaction(text string) (*Reaction, error) {
	kind, data, _ := strings.Cut(text, " ")
	var rec machine.Record
	var err error
	if kind == "answer" {
		var a nextstep.Answer
		a, err = nextstep.ReadAnswer([]byte(data))
		rec = machine.Answered{Answer: a}
	} else {
		rec, err = machine.ReadRecord([]byte(data))
	}
	if err != nil {
		return nil, fmt.Errorf("explore: the reaction %q: %w", text, err)
	}
	return &Reaction{Name: text, Record: func(e *machine.Effect) machine.Record { return filled(rec, e) }}, nil
}

// without returns a record without the fields that follow from its effect.
func without(rec machine.Record) machine.Record {
	switch r := rec.(type) {
	case machine.Answered:
		r.Effect, r.Frame, r.Kind, r.Tool, r.Digest = machine.EffectID{}, "", "", "", ""
		if result, ok := r.Answer.(nextstep.ToolResult); ok {
			result.Output.CallID, result.Output.ToolName = "", ""
			r.Answer = result
		}
		return r
	case machine.Suspended:
		r.Effect, r.Waits = machine.EffectID{}, slices.Clone(r.Waits)
		for i := range r.Waits {
			r.Waits[i] = waitWithout(r.Waits[i])
		}
		return r
	case machine.Asked:
		r.Effect, r.Wait = machine.EffectID{}, waitWithout(r.Wait)
		return r
	case machine.Replied:
		r.Reply.WaitID = ""
		return r
	default:
		return rec
	}
}

func waitWithout(w machine.Wait) machine.Wait {
	w.ID, w.Run, w.Frame, w.Seq, w.CallID, w.Tool, w.Arguments = "", "", "", 0, "", "", ""
	return w
}

// filled fills in the fields that follow from the effect, where a record lacks them.
func filled(rec machine.Record, e *machine.Effect) machine.Record {
	switch r := rec.(type) {
	case machine.Answered:
		r.Effect, r.Frame, r.Kind = cmp.Or(r.Effect, e.ID), cmp.Or(r.Frame, e.Frame), cmp.Or(r.Kind, e.Kind)
		r.Tool, r.Digest = cmp.Or(r.Tool, e.Call.Name), cmp.Or(r.Digest, e.Digest)
		switch a := r.Answer.(type) {
		case nextstep.ToolResult:
			out := &a.Output
			out.CallID, out.ToolName = cmp.Or(out.CallID, e.Call.ID), cmp.Or(out.ToolName, e.Call.Name)
			r.Answer = a
		case nextstep.APIResponse:
			r.Answer = identified(a)
		}
		return r
	case machine.Suspended:
		r.Effect, r.Waits = cmp.Or(r.Effect, e.ID), slices.Clone(r.Waits)
		for i := range r.Waits {
			r.Waits[i] = filledWait(r.Waits[i], e)
		}
		return r
	case machine.Asked:
		r.Effect, r.Wait = cmp.Or(r.Effect, e.ID), filledWait(r.Wait, e)
		return r
	case machine.Replied:
		if e.Wait != nil {
			r.Reply.WaitID = cmp.Or(r.Reply.WaitID, e.Wait.ID)
		}
		return r
	default:
		return rec
	}
}

// identified gives ids to the calls of a reply that have none.
func identified(a nextstep.APIResponse) nextstep.APIResponse {
	lacks := func(part messages.AssistantContent) bool {
		c, ok := part.(messages.ToolCall)
		return ok && c.ID == ""
	}
	if a.Response == nil || !slices.ContainsFunc(a.Response.Message.Content, lacks) {
		return a
	}
	made := *a.Response
	made.Message.Content = slices.Clone(made.Message.Content)
	for i, part := range made.Message.Content {
		if c, ok := part.(messages.ToolCall); ok && c.ID == "" {
			c.ID = "call" + strconv.Itoa(i)
			made.Message.Content[i] = c
		}
	}
	a.Response = &made
	return a
}

// filledWait fills in a wait that has no id.
func filledWait(w machine.Wait, e *machine.Effect) machine.Wait {
	if w.ID != "" {
		return w
	}
	w.Run, w.Frame, w.Seq = cmp.Or(w.Run, e.Run), cmp.Or(w.Frame, e.Frame), cmp.Or(w.Seq, e.ID.Seq)
	w.CallID, w.Tool, w.Arguments = cmp.Or(w.CallID, e.Call.ID), cmp.Or(w.Tool, e.Call.Name), cmp.Or(w.Arguments, e.Call.Arguments)
	return w.Identified(e.ID)
}
