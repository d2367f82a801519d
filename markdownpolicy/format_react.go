package markdownpolicy

import (
	"strings"

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
// Two laws of the package hold in part only. What follows the first call or the answer is the
// model's own invention of what it was to be told, and is dropped: no byte is lost of [Turn.Kept].
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

// Stop implements [Stopper]: a model that is stopped there cannot invent an observation.
func (p ReAct) Stop() []string { return []string{"\nObservation:"} }

// ParseResponse implements [Policy]: the thoughts, and the call or, as a text, the answer.
func (p ReAct) ParseResponse(text string) (Document, error) { return parse(p.NewParser(), text) }

// ParseTurn reads a reply as a turn. Whatever is missing or cannot be read is a [*ParseError], as
// it is for ParseResponse, and the Turn holds the rest. In [ModeText] an action that cannot be read
// is an implicit answer.
func (p ReAct) ParseTurn(text string) (Turn, error) {
	r := &reactParser{policy: p, scan: newTurnScan(p.kindOf)}
	r.Write(text)
	_, _, err := r.Close()
	return r.turn, err
}

// NewParser implements [Streamer]. Thoughts and answers are released as they come, the text before
// the first keyword and the call when it is known that they end.
func (p ReAct) NewParser() Parser {
	return &reactParser{policy: p, scan: newTurnScan(p.kindOf)}
}

// kindOf tells what kind of action stands behind "Action:".
func (p ReAct) kindOf(value string) actionKind { return p.readAction(value, 0).kind }

// reactParser reads one reply.
type reactParser struct {
	policy ReAct
	text   strings.Builder
	scan   *turnScan
	turn   Turn
}

// Write implements [Parser].
func (r *reactParser) Write(piece string) []Part {
	r.text.WriteString(piece)
	r.scan.advance(r.text.String(), false)
	return r.scan.out.release()
}

// Close implements [Parser].
func (r *reactParser) Close() (Document, []Part, error) {
	text := r.text.String()
	out := &r.scan.out
	sections, implicit := r.scan.finish(text)
	var err *ParseError
	if implicit {
		out.text(text, 0)
		out.close()
		r.turn = Turn{Implicit: true, Answer: new(trimBlanks(text))}
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
func (r *reactParser) fill(text string, sections []section) {
	var thoughts []string
	for _, p := range r.scan.out.parts {
		if t, ok := p.Content.(messages.Thought); ok {
			thoughts = append(thoughts, t.Text)
		}
	}
	r.turn.Thought = strings.Join(thoughts, "\n\n")
	if at := r.scan.observed; at >= 0 {
		r.turn.Invented = trimBlanks(text[at:]) != ""
	}
	from, to := 0, len(text)
	if len(sections) > 0 {
		to = sections[len(sections)-1].to
	}
	if parts := r.scan.out.parts; len(sections) > 1 && (len(parts) == 0 || parts[0].Start >= sections[1].mark) {
		from = sections[1].mark // before it, there is nothing but the beginning of a code block
	}
	if n := len(r.scan.out.parts); n > 0 && r.turn.Action != nil {
		to = r.scan.out.parts[n-1].End
	}
	r.turn.Kept = trimBlanks(text[from:to])
}

// decide says what the sections come to, and adds the call.
func (r *reactParser) decide(text string, sections []section) *ParseError {
	last := sections[len(sections)-1]
	if last.key == keyAnswer {
		return r.answer(last)
	}
	for i, s := range sections {
		if s.key == keyInput && (i == 0 || sections[i-1].key != keyAction) {
			r.turn.Missing = "Action"
			return r.unread(text, s.mark, last.to, broken(s.mark, `an "Action:" line before "Action Input:"`, text[s.mark:last.to], nil))
		}
		if s.key != keyAction {
			continue
		}
		a := r.policy.readAction(trimStray(text[s.from:s.to]), s.from)
		end := s.to
		if i+1 < len(sections) && sections[i+1].key == keyInput {
			in := sections[i+1]
			if a.has && a.err == nil && a.kind == realAction && trimBlanks(text[in.from:in.to]) != "" {
				a.err = broken(in.mark, "one input of the action", text[in.mark:in.to], nil)
			}
			a.input, a.at, a.has, end = trimStray(text[in.from:in.to]), in.from, true, in.to
		}
		if a.kind != noAction {
			return r.act(text, s, a, end)
		}
		r.turn.Missing = "Final Answer"
	}
	if r.turn.Missing != "" {
		return broken(last.to, `a "Final Answer:" line, since no tool is to be used`, "", nil)
	}
	r.turn.Missing = "Action"
	return broken(last.to, `an "Action:" line with an "Action Input:" line, or a "Final Answer:" line`, text[last.to:], nil)
}

// answer takes the last part, the text that is in the section, as the answer.
func (r *reactParser) answer(s section) *ParseError {
	parts := r.scan.out.parts
	if n := len(parts); n > 0 {
		if t, ok := parts[n-1].Content.(messages.Text); ok {
			r.turn.Answer = &t.Text
			return nil
		}
	}
	r.turn.Missing = "Final Answer"
	return broken(s.to, `an answer behind "Final Answer:"`, "", nil)
}

// act takes an action.
func (r *reactParser) act(text string, s section, a action, end int) *ParseError {
	out := &r.scan.out
	if a.err != nil {
		r.turn.Missing = "Action Input"
		return r.unread(text, s.mark, end, a.err)
	}
	out.repairs = a.repairs
	if a.kind == finishing {
		answer := unescapeMarks(trimBlanks(a.input))
		out.literal(answer, a.at, max(a.at, end))
		out.close()
		r.turn.Answer = &answer
		return nil
	}
	if a.name == "" || strings.ContainsAny(a.name, `{}"`) && r.policy.tool(a.name) == nil {
		r.turn.Missing = "Action"
		return r.unread(text, s.mark, end, broken(s.from, `the name of a tool behind "Action:"`, text[s.from:end], nil))
	}
	args, used, open, repairs, err := r.policy.arguments(a)
	if err != nil {
		r.turn.Missing = "Action Input"
		return r.unread(text, s.mark, end, err)
	}
	call := messages.ToolCall{ID: callID(1), Name: a.name, Arguments: args}
	if a.end > 0 {
		used = a.end
	}
	out.add(Part{Content: call, Start: s.mark, End: used, Open: open && a.end == 0 && end == len(text)})
	out.repairs = append(out.repairs, repairs...)
	r.turn.Action = &call
	return nil
}

// unread takes what cannot be read as text, which in [ModeText] is the answer.
func (r *reactParser) unread(text string, from, to int, err *ParseError) *ParseError {
	out := &r.scan.out
	raw := trimBlanks(text[from:to])
	out.text(text[from:to], from)
	out.close()
	if r.policy.Mode == ModeText {
		r.turn.Missing, r.turn.Answer, r.turn.Implicit = "", &raw, true
	}
	return err
}

// trimStray takes off the end of a code block that the reply stands in.
func trimStray(value string) string {
	if at := strayFence(value); at >= 0 {
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
