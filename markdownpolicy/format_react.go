package markdownpolicy

import (
	"encoding/json"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/reactscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// ReAct is the format of Thought, Action, Action Input and Observation lines, which ends with a
// Final Answer (Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", 2022). A
// reply holds thoughts, and then one call or the answer:
//
//	Thought: I need to check the weather.
//	Action: get_weather
//	Action Input: {"city": "London"}
//
// ReAct also reads common variations: numbered lines (Action 1: Search[London]), bold or indented
// keywords, keyword and value on two lines, one line for Action and Action Input, a whole reply in
// a code block, "Action: FINISH" with the answer as its input, and one JSON object with "action"
// and "action_input". A reply without a keyword is the answer. Text before the first keyword is a
// thought.
//
// ReAct obeys two laws of the package only in part. First, text after the first call or the answer
// is a hallucinated observation and is dropped; no byte of [Turn.Kept] is lost. Text that seems to
// continue the input, such as a second input, is an error instead. Second, the format cannot
// express a reply with several calls, or with text besides a call. [ReAct.Render] writes text
// before a call as a thought, and further calls as later cycles, of which only the first is read.
//
// An input has no end mark. An input that is an object ends after its last bracket; any other ends
// at the next keyword. [Part].Open is set if the reply ends first, or ends after the name of the
// tool.
//
// An input that is not an object becomes the only parameter of the tool, if the tool has one. If
// [Options.Tools] does not contain the tool, the input becomes a JSON string.
type ReAct struct{ Options }

// Turn is what a model does in one reply. It acts or answers, or does neither if something is
// missing.
type Turn struct {
	Thought  string             // its thoughts, with an empty line between them
	Action   *messages.ToolCall // the call to make; nil if there is none
	Answer   *string            // the answer; nil if there is none
	Implicit bool               // there was no keyword, and the reply is the answer
	Missing  string             // what to ask for: "Action" (or an answer), "Action Input", "Final Answer"; "" if complete
	Invented bool               // the model continued with a hallucinated observation, which is dropped
	Kept     string             // the reply as it should be kept in the history: without the dropped text
}

// Name implements [Namer].
func (p ReAct) Name() string { return "react" }

// WithTools implements [Tooled].
func (p ReAct) WithTools(defs []tools.Definition) Policy {
	p.Options = p.withTools(defs)
	return p
}

// Stop implements [Stopper]. Stopping there keeps a model from hallucinating an observation.
func (p ReAct) Stop() []string { return []string{"\nObservation:"} }

// ParseResponse implements [Policy]. The parts are the thoughts, and the call or, as a text, the
// answer.
func (p ReAct) ParseResponse(text string) (Document, error) { return parse(p.NewParser(), text) }

// ParseTurn reads a reply as a turn. If something is missing or cannot be read, it returns a
// [*ParseError], as ParseResponse does, and the rest of the Turn. In [ModeText] an unreadable
// action is an implicit answer.
func (p ReAct) ParseTurn(text string) (Turn, error) {
	r := newReactParser(p)
	r.Write(text)
	_, _, err := r.Close()
	return r.turn, err
}

// NewParser implements [Streamer]. Thoughts and answers are released as they arrive. The call, and
// text before the first keyword, are released once their end is known.
func (p ReAct) NewParser() Parser { return newReactParser(p) }

// kindOf returns the kind of the action after "Action:", as decide reads it.
func (p ReAct) kindOf(value string) reactscan.ActionKind {
	return p.readAction(trimStray(value), 0).kind
}

// reactParser reads one reply.
type reactParser struct {
	policy ReAct
	text   strings.Builder
	scan   *reactscan.Scanner
	out    collector
	turn   Turn
}

func newReactParser(p ReAct) *reactParser {
	r := &reactParser{policy: p}
	r.scan = reactscan.New(reactOutput{&r.out}, p.kindOf)
	return r
}

// reactOutput passes what the scanner releases to a collector.
type reactOutput struct{ out *collector }

// Thought implements [reactscan.Output].
func (o reactOutput) Thought(text string, start, end int) { o.out.think(text, start, end) }

// Answer implements [reactscan.Output].
func (o reactOutput) Answer(text string, start, end int) { o.out.literal(text, start, end) }

// EndSection implements [reactscan.Output].
func (o reactOutput) EndSection() { o.out.close() }

// Write implements [Parser].
func (r *reactParser) Write(piece string) []Part {
	r.text.WriteString(piece)
	r.scan.Write(r.text.String())
	return r.out.release()
}

// Close implements [Parser].
func (r *reactParser) Close() (Document, []Part, error) {
	text := r.text.String()
	out := &r.out
	sections, implicit := r.scan.Finish(text)
	var err *ParseError
	if implicit {
		out.text(text, 0)
		out.close()
		r.turn = Turn{Implicit: true, Answer: new(textscan.Trim(text))}
	} else {
		err = r.decide(text, sections)
	}
	r.fill(text, sections)
	doc := Document{Policy: r.policy.Name(), Parts: out.parts, Repairs: out.repairs}
	var lines lineCounter
	for i := range doc.Repairs {
		doc.Repairs[i].Line = lines.line(text, doc.Repairs[i].Offset)
	}
	if err == nil || r.policy.Mode == ModeText {
		return doc, out.release(), nil
	}
	err.Policy, err.Line = r.policy.Name(), lines.line(text, err.Offset)
	return doc, out.release(), err
}

// fill sets the fields of a turn other than its decision.
func (r *reactParser) fill(text string, sections []reactscan.Section) {
	var thoughts []string
	for _, p := range r.out.parts {
		if t, ok := p.Content.(messages.Thought); ok {
			thoughts = append(thoughts, t.Text)
		}
	}
	r.turn.Thought = strings.Join(thoughts, "\n\n")
	if at := r.scan.Observation(); at >= 0 {
		r.turn.Invented = textscan.Trim(text[at:]) != ""
	}
	from, to := 0, len(text)
	if len(sections) > 0 {
		to = sections[len(sections)-1].To
	}
	if parts := r.out.parts; len(sections) > 1 && (len(parts) == 0 || parts[0].Start >= sections[1].Mark) {
		from = sections[1].Mark // only the beginning of a code block precedes it
	}
	if n := len(r.out.parts); n > 0 && r.turn.Action != nil {
		to = r.out.parts[n-1].End
	}
	r.turn.Kept = textscan.Trim(text[from:to])
}

// decide sets the turn's decision from the sections, and adds the call.
func (r *reactParser) decide(text string, sections []reactscan.Section) *ParseError {
	last := sections[len(sections)-1]
	if last.Key == reactscan.Answer {
		return r.answer(last)
	}
	for i, s := range sections {
		if s.Key == reactscan.Input && (i == 0 || sections[i-1].Key != reactscan.Action) {
			r.turn.Missing = "Action"
			return r.unread(text, s.Mark, last.To, broken(s.Mark, `an "Action:" line before "Action Input:"`, text[s.Mark:last.To], nil))
		}
		if s.Key != reactscan.Action {
			continue
		}
		a := r.policy.readAction(trimStray(text[s.From:s.To]), s.From)
		end := s.To
		if i+1 < len(sections) && sections[i+1].Key == reactscan.Input {
			in := sections[i+1]
			if a.beside {
				a.has, a.end = false, 0
			}
			if a.has && a.err == nil && a.kind == reactscan.Call && textscan.Trim(text[in.From:in.To]) != "" {
				a.err = broken(in.Mark, "one input of the action", text[in.Mark:in.To], nil)
			}
			a.input, a.at, a.has, end = trimStray(text[in.From:in.To]), in.From, true, in.To
		}
		if a.kind != reactscan.NoAction {
			return r.act(text, s, a, end)
		}
		r.turn.Missing = "Final Answer"
	}
	if r.turn.Missing != "" {
		return broken(last.To, `a "Final Answer:" line, since no tool is to be used`, "", nil)
	}
	r.turn.Missing = "Action"
	return broken(last.To, `an "Action:" line with an "Action Input:" line, or a "Final Answer:" line`, text[last.To:], nil)
}

// answer uses the last part, the text of the section, as the answer.
func (r *reactParser) answer(s reactscan.Section) *ParseError {
	parts := r.out.parts
	if n := len(parts); n > 0 {
		if t, ok := parts[n-1].Content.(messages.Text); ok {
			r.turn.Answer = &t.Text
			return nil
		}
	}
	r.turn.Missing = "Final Answer"
	return broken(s.To, `an answer behind "Final Answer:"`, "", nil)
}

// act adds an action.
func (r *reactParser) act(text string, s reactscan.Section, a action, end int) *ParseError {
	out := &r.out
	if a.err != nil {
		r.turn.Missing = "Action Input"
		return r.unread(text, s.Mark, end, a.err)
	}
	out.repairs = a.repairs
	if a.kind == reactscan.Finish {
		answer := reactscan.Unescape(textscan.Trim(a.input))
		out.literal(answer, a.at, max(a.at, end))
		out.close()
		r.turn.Answer = &answer
		return nil
	}
	if a.name == "" || strings.ContainsAny(a.name, `{}"`) && r.policy.tool(a.name) == nil {
		r.turn.Missing = "Action"
		return r.unread(text, s.Mark, end, broken(s.From, `the name of a tool behind "Action:"`, text[s.From:end], nil))
	}
	args, used, open, repairs, err := r.policy.arguments(a)
	if err != nil {
		r.turn.Missing = "Action Input"
		return r.unread(text, s.Mark, end, err)
	}
	call := messages.ToolCall{ID: callID(1), Name: a.name, Arguments: args}
	if a.end > 0 {
		used = a.end
	}
	out.add(Part{Content: call, Start: s.Mark, End: used, Open: open && a.end == 0 && end == len(text)})
	out.repairs = append(out.repairs, repairs...)
	r.turn.Action = &call
	return nil
}

// unread treats unreadable text as text. In [ModeText] it is the answer.
func (r *reactParser) unread(text string, from, to int, err *ParseError) *ParseError {
	out := &r.out
	raw := textscan.Trim(text[from:to])
	out.text(text[from:to], from)
	out.close()
	if r.policy.Mode == ModeText {
		r.turn.Missing, r.turn.Answer, r.turn.Implicit = "", &raw, true
	}
	return err
}

// trimStray removes the end of a code block around the reply.
func trimStray(value string) string {
	if at := reactscan.StrayFence(value); at >= 0 {
		return value[:at]
	}
	return value
}

// FormatInstructions implements [Policy].
func (p ReAct) FormatInstructions(defs []tools.Definition) string {
	if len(defs) == 0 {
		return ""
	}
	return reactFormat + "\n\n" + describeTools(defs)
}

const reactFormat = `You work in cycles of thought, action and observation. To use a tool, write its name and its arguments as one JSON object,
each on a line of its own, and stop: the observation is given to you. Never write an observation yourself.

Thought: what the task needs next, and which tool does it
Action: tool_name
Action Input: {"argument_name": "value"}

Use a tool for what it does, instead of working it out or guessing. Once all that was asked for is known or done, write

Thought: what you know
Final Answer: the answer

If a line of what you think or answer must begin with one of these keywords, write a backslash before it.`

// FormatQuery implements [Policy].
func (p ReAct) FormatQuery(history messages.History) (messages.History, error) {
	return formatQuery(history, p.Render, p.results)
}

// Render implements [Renderer]. Thoughts and calls are written as lines, a text at the end as the
// final answer, and any other text as a thought. Arguments that are not JSON are written as a JSON
// string.
func (p ReAct) Render(parts []messages.AssistantContent) string {
	parts = joinTexts(parts)
	var lines []string
	for i, part := range parts {
		switch c := part.(type) {
		case messages.Thought:
			lines = append(lines, "Thought: "+reactscan.Escape(c.Text, reactscan.StrayFence(c.Text)))
		case messages.Text:
			if i+1 < len(parts) {
				lines = append(lines, "Thought: "+reactscan.Escape(c.Text, reactscan.StrayFence(c.Text)))
			} else {
				lines = append(lines, "Final Answer: "+reactscan.Escape(c.Text, -1))
			}
		case messages.ToolCall:
			lines = append(lines, "Action: "+p.writeName(c.Name), "Action Input: "+writeInput(c.Arguments))
		}
	}
	return strings.Join(lines, "\n")
}

// writeInput writes arguments so that they are read back unchanged.
func writeInput(arguments string) string {
	switch arguments = textscan.Trim(arguments); {
	case arguments == "":
		return "{}"
	case json.Valid([]byte(arguments)):
		return arguments
	}
	return jsonscan.Quote(arguments)
}

// results writes each result as an observation. It includes the tool and the call id if there are
// several results, and the status if it is not ok.
func (p ReAct) results(outputs []messages.ToolOutput) string {
	lines := make([]string, len(outputs))
	for i, o := range outputs {
		var b strings.Builder
		b.WriteString("Observation")
		if len(outputs) > 1 {
			b.WriteString(" (" + o.ToolName + ", " + o.CallID + ")")
		}
		b.WriteString(": ")
		if !o.OK() {
			b.WriteString(resultStatus(o) + ": ")
		}
		b.WriteString(resultText(o))
		lines[i] = b.String()
	}
	return withNext(lines, "\n", outputs, "If all that was asked for is known or done, write the final answer. If not, write the next action.")
}
