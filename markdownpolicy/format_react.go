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

// ReAct is the format of Thought, Action, Action Input and Observation lines (Yao et al., "ReAct:
// Synergizing Reasoning and Acting in Language Models", 2022), which ends with a Final Answer. A
// reply holds thoughts, and then one call or the answer:
//
//	Thought: I need to check the weather.
//	Action: get_weather
//	Action Input: {"city": "London"}
//
// It reads what models make of that, too: numbered lines (Action 1: Search[London]), bold or
// indented keywords, keyword and value on two lines, one line for Action and Action Input, a whole
// reply in a code block, "Action: FINISH" with the answer as its input, and one JSON object with
// "action" and "action_input". A reply without a keyword is the answer; text before the first
// keyword is a thought.
//
// Two laws of the package hold in part only. What follows the first call or the answer is a
// hallucinated observation, and is dropped: no byte is lost of [Turn.Kept].
// But what seems to go on with the input, such as a second one, is an error. And a reply that holds
// several calls, or text besides a call, cannot be said in this format: [ReAct.Render] writes text
// before a call as a thought, and further calls as cycles that follow, of which only the first is
// read.
//
// Nothing marks the end of an input. One that is an object ends behind its last bracket, any other
// where the next keyword stands; where the reply ends instead, or ends behind the name of the tool,
// [Part].Open is set.
//
// An input that is no object becomes the one parameter of the tool, if it has one; of a tool that
// [Options.Tools] does not know, it becomes a JSON string.
type ReAct struct{ Options }

// Turn is what a model does in one reply: it acts or answers, or, where something is missing,
// neither.
type Turn struct {
	Thought  string             // its thoughts, with an empty line between them
	Action   *messages.ToolCall // the call to make; nil: none
	Answer   *string            // the answer; nil: none
	Implicit bool               // there was no keyword at all, and the reply is the answer
	Missing  string             // what to ask for: "Action" (or an answer), "Action Input", "Final Answer"; "": nothing
	Invented bool               // the model went on with an observation of its own, which is dropped
	Kept     string             // the reply as it should stand in the history: without what was dropped
}

// Name implements [Namer].
func (p ReAct) Name() string { return "react" }

// WithTools implements [Tooled].
func (p ReAct) WithTools(defs []tools.Definition) Policy {
	p.Options = p.withTools(defs)
	return p
}

// Stop implements [Stopper]: a model that is stopped there cannot invent an observation.
func (p ReAct) Stop() []string { return []string{"\nObservation:"} }

// ParseResponse implements [Policy]: the thoughts, and the call or, as a text, the answer.
func (p ReAct) ParseResponse(text string) (Document, error) { return parse(p.NewParser(), text) }

// ParseTurn reads a reply as a turn. Whatever is missing or cannot be read is a [*ParseError], as
// it is for ParseResponse, and the Turn holds the rest. In [ModeText] an action that cannot be read
// is an implicit answer.
func (p ReAct) ParseTurn(text string) (Turn, error) {
	r := newReactParser(p)
	r.Write(text)
	_, _, err := r.Close()
	return r.turn, err
}

// NewParser implements [Streamer]. Thoughts and answers are released as they come, the text before
// the first keyword and the call when it is known that they end.
func (p ReAct) NewParser() Parser { return newReactParser(p) }

// kindOf says what kind of action stands behind "Action:".
func (p ReAct) kindOf(value string) reactscan.ActionKind { return p.readAction(value, 0).kind }

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

// reactOutput gives what the scanner releases to a collector.
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

// fill fills in what a turn says besides the decision.
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
		from = sections[1].Mark // before it, there is nothing but the beginning of a code block
	}
	if n := len(r.out.parts); n > 0 && r.turn.Action != nil {
		to = r.out.parts[n-1].End
	}
	r.turn.Kept = textscan.Trim(text[from:to])
}

// decide says what the sections come to, and adds the call.
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

// answer takes the last part, the text that is in the section, as the answer.
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

// act takes an action.
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

// unread takes what cannot be read as text, which in [ModeText] is the answer.
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

// trimStray takes off the end of a code block that the reply stands in.
func trimStray(value string) string {
	if at := reactscan.StrayFence(value); at >= 0 {
		return value[:at]
	}
	return value
}

// FormatInstructions implements [Policy].
func (p ReAct) FormatInstructions(defs []tools.Definition) string {
	return instruct(reactFormat, p.examples(), defs)
}

const reactFormat = `You work in cycles of thought, action and observation. A reply is either a thought and an action:

Thought: what you know by now, and what to do next
Action: the name of one tool, as it stands in the list, and nothing else
Action Input: the arguments, as one JSON object

or a thought and the answer, once you know it:

Thought: why you can answer
Final Answer: the answer to the question, which may go on over many lines

Write one action, and stop after its input: the observation is given to you. Never write an observation yourself. If a line
of what you think or answer must begin with one of these keywords, write a backslash before it.`

func (p ReAct) examples() []example {
	shown := []example{
		{about: "a thought and an action", parts: []messages.AssistantContent{
			messages.Thought{Text: "The question is about the weather, so I need the tool."},
			messages.ToolCall{ID: callID(1), Name: "get_weather", Arguments: `{"city":"Paris"}`},
		}},
		{about: "a thought and the answer", parts: []messages.AssistantContent{
			messages.Thought{Text: "I know the weather."}, messages.Text{Text: "It is sunny in Paris."},
		}},
	}
	for i := range shown {
		shown[i].text = ReAct{}.Render(shown[i].parts)
	}
	return shown
}

// FormatQuery implements [Policy].
func (p ReAct) FormatQuery(history messages.History) (messages.History, error) {
	return formatQuery(history, p.Render, p.results)
}

// Render implements [Renderer]: thoughts and calls as lines, a text at the end as the final answer,
// any other text as a thought. Arguments that are not JSON are written as a JSON string.
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

// writeInput writes arguments so that they are read as they are.
func writeInput(arguments string) string {
	switch arguments = textscan.Trim(arguments); {
	case arguments == "":
		return "{}"
	case json.Valid([]byte(arguments)):
		return arguments
	}
	return jsonscan.Quote(arguments)
}

// results writes each result as an observation: with tool and call id if there are several, and
// with how the call ended if not well.
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
	return strings.Join(lines, "\n")
}
