package markdownpolicy

import (
	"encoding/json"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/pyliteral"
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

// action is an Action line with its input.
type action struct {
	name   string
	kind   reactscan.ActionKind
	input  string
	at     int         // the position of the input in the reply
	has    bool        // there is an input
	exact  bool        // the input is literal text, as in Search["x"]
	beside bool        // the input stands beside the name; an Action Input counts instead
	end    int         // the position after that bracket, or after the object that holds the action; 0 if neither
	err    *ParseError // it cannot be read, or something else may be meant as the input

	repairs []Repair // repairs of such an object
}

// reactForm is the form of an action as JSON.
var reactForm = callForm{name: "action", arguments: "action_input", beside: []string{"thought", "thoughts"}}

const inlineInput = "Action Input:"

// readAction reads the text after "Action:", up to the next keyword, at its position in the reply.
func (p ReAct) readAction(value string, at int) action {
	trimmed := textscan.TrimLeft(value)
	at += len(value) - len(trimmed)
	value = textscan.TrimRight(trimmed)
	if a, ok := p.readActionObject(value, at); ok {
		return a
	}
	name, rest, _ := strings.Cut(value, "\n")
	a := action{at: at + len(name)}
	if i := strings.Index(name, inlineInput); i >= 0 {
		a.name, a.input, a.has, a.at = name[:i], value[i+len(inlineInput):], true, at+i+len(inlineInput)
	} else if open, end := p.brackets(value, name); open > 0 {
		a.name, a.input, a.has, a.exact, a.at, a.end = name[:open], value[open+1:end], true, true, at+open+1, at+end+1
	} else if end, open := p.besideName(name); open > 0 {
		a.name, a.input, a.has, a.beside, a.at, a.end = name[:end], strings.TrimRight(value[open:], ")"), true, true, at+open, at+len(value)
	} else {
		a.name = name
		if isObjectLike(rest) {
			a.input, a.has, a.at = rest, true, at+len(value)-len(rest)
		} else if textscan.Trim(rest) != "" {
			a.err = broken(at+len(name)+1, `an "Action Input:" line behind the "Action:" line, and nothing between them`, rest, nil)
		}
	}
	a.name, a.kind = p.readName(a.name)
	return a
}

// besideName finds arguments beside the name of a tool, as in look {"at": 1} or look({"at": 1}). It
// returns the end of the name and the position of the arguments, or 0.
func (p ReAct) besideName(line string) (end, open int) {
	open = strings.IndexByte(line, '{')
	if open <= 0 {
		return 0, 0
	}
	end = len(strings.TrimRight(line[:open], "(,: "))
	if end == open || p.tool(textscan.Trim(line)) != nil || p.tool(line[:end]) == nil {
		return 0, 0
	}
	return end, open
}

// readActionObject reads an action that is written as one JSON object,
// {"action":…,"action_input":…}, in a code block or not. An object that cannot be read gives an
// action with an error.
func (p ReAct) readActionObject(value string, at int) (action, bool) {
	if !isObjectLike(value) {
		return action{}, false
	}
	text, used, ended, repairs, err := readInputObject(value, at, p.Mode)
	if err == nil && !ended {
		err = broken(at+used, reactForm.expects()+", with its end", "", nil)
	}
	if err != nil {
		return action{at: at, err: err}, true
	}
	var object struct {
		Action string          `json:"action"`
		Input  json.RawMessage `json:"action_input"`
	}
	if json.Unmarshal([]byte(text), &object) != nil || object.Action == "" {
		return action{}, false
	}
	a := action{at: at, input: string(object.Input), has: object.Input != nil, end: at + used, repairs: repairs}
	a.name, a.kind = p.readName(object.Action)
	_, _, under, again := reactForm.fields(text)
	if a.err = reactForm.checkKeys(text, a.name, under, at); a.err == nil {
		a.err = inputContinues(value, used, at)
	}
	if again != "" {
		a.err = repeated(at, jsonscan.Quote(again), text)
	}
	var answer string
	if a.kind == reactscan.Finish && json.Unmarshal(object.Input, &answer) == nil {
		a.input = answer
	}
	return a, true
}

// brackets finds the input in a value such as Search[Nick Park]. It returns the positions of the
// brackets, or 0 if there are none. Brackets in the name of a tool, or in a name after a backslash,
// do not count.
func (p ReAct) brackets(value, line string) (open, end int) {
	open = strings.IndexByte(line, '[')
	if open <= 0 || line[0] == '\\' || p.tool(textscan.Trim(line)) != nil || strings.Trim(line[:open], decoration) == "" {
		return 0, 0
	}
	for _, text := range [...]string{line, value} {
		if text = strings.TrimRight(text, textscan.Blanks+".`*"); strings.HasSuffix(text, "]") {
			return open, len(text) - 1
		}
	}
	return 0, 0
}

// decoration is what may surround a name.
const decoration = textscan.Blanks + "`\"'*[]()<>.,:;!"

// readName reads the name of an action. A name after a backslash is used as written. Otherwise
// decoration around the name is removed, unless it is part of a tool's name, and some names mean
// that there is no tool.
func (p ReAct) readName(text string) (string, reactscan.ActionKind) {
	text = textscan.Trim(text)
	if exact, ok := strings.CutPrefix(text, `\`); ok || p.tool(text) != nil {
		return exact, reactscan.Call
	}
	name := strings.Trim(text, decoration)
	switch lower := strings.ToLower(name); {
	case p.tool(name) != nil:
	case lower == "finish" || lower == "final answer" || lower == "final_answer":
		return name, reactscan.Finish
	case lower == "none" || lower == "n/a" || lower == "na" || lower == "no action" || lower == "null":
		return name, reactscan.NoAction
	}
	return name, reactscan.Call
}

// writeName writes a name so that readName reads it.
func (p ReAct) writeName(name string) string {
	a := ReAct{}.readAction(name, 0)
	if a.name == name && a.kind == reactscan.Call && !a.has {
		return name
	}
	return `\` + name
}

// parameters are the parts of a JSON Schema that are used here.
type parameters struct {
	Properties map[string]struct {
		Type any `json:"type"`
	} `json:"properties"`
	Required []string `json:"required"`
}

func parametersOf(d *tools.Definition) (p parameters) {
	if len(d.Parameters) > 0 {
		_ = json.Unmarshal(d.Parameters, &p) // an invalid schema has no effect
	}
	return p
}

// only returns the name and the type of the only required parameter, if there is exactly one.
func (p parameters) only() (name, kind string, ok bool) {
	switch {
	case len(p.Required) == 1:
		name = p.Required[0]
	case len(p.Required) == 0 && len(p.Properties) == 1:
		for name = range p.Properties {
		}
	default:
		return "", "", false
	}
	kind, _ = p.Properties[name].Type.(string)
	return name, kind, true
}

// arguments converts the input of an action to JSON. end is the position in the reply after the
// used part of the input. open means that the input does not mark its own end.
func (p ReAct) arguments(a action) (args string, end int, open bool, repairs []Repair, err *ParseError) {
	value := textscan.TrimLeft(a.input)
	at := a.at + len(a.input) - len(value)
	value = textscan.TrimRight(value)
	end = at + len(value)
	tool := p.tool(a.name)
	switch {
	case (value == "" || value == "null") && tool != nil && len(parametersOf(tool).Required) > 0:
		return "", end, true, nil, p.inputError(a, at, value)
	case value == "" || value == "null", value == "None" && tool != nil && len(parametersOf(tool).Properties) == 0:
		return "{}", end, true, nil, nil
	case !a.exact && isObjectLike(value):
		args, used, ended, repairs, err := readInputObject(value, at, p.Mode)
		if err == nil {
			err = inputContinues(value, used, at)
		}
		return args, at + used, !ended, repairs, err
	}
	if span := textscan.Trim(strings.Trim(value, "`")); !a.exact && value[0] == '`' && isObjectLike(span) && objectEnd(span) == len(span) {
		args, repairs, err = readDict(span, at+strings.Index(value, span), p.Mode)
		return args, end, false, repairs, err
	}
	var text string
	if !a.exact && value[0] == '"' && json.Unmarshal([]byte(value), &text) == nil {
		if isObject(text) {
			return textscan.Trim(text), end, false, nil, nil
		}
		value = text
	}
	args, ok := p.wrap(a.name, value)
	if !ok {
		return "", end, true, nil, p.inputError(a, at, value)
	}
	return args, end, true, nil, nil
}

func (p ReAct) inputError(a action, at int, value string) *ParseError {
	return broken(at, `an "Action Input:" line with a JSON object, the arguments of `+a.name, value, nil)
}

// wrap converts an input that is not an object to arguments. For a tool with one parameter, the
// input is that parameter. For an unknown tool it becomes a JSON string, so that no parameter name
// is invented.
func (p ReAct) wrap(tool, value string) (string, bool) {
	def := p.tool(tool)
	if def == nil {
		return jsonscan.Quote(value), true
	}
	name, kind, ok := parametersOf(def).only()
	if !ok {
		return "", false
	}
	switch kind {
	case "string", "":
		value = jsonscan.Quote(value)
	default:
		if !json.Valid([]byte(value)) || jsonType(value) != kind && (kind != "number" || jsonType(value) != "integer") {
			return "", false
		}
	}
	return "{" + jsonscan.Quote(name) + ":" + value + "}", true
}

// jsonType returns the JSON Schema type of a JSON value.
func jsonType(value string) string {
	switch value[0] {
	case '"':
		return "string"
	case '[':
		return "array"
	case '{':
		return "object"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(value, ".eE") {
		return "number"
	}
	return "integer"
}

// isObjectLike reports whether text is meant as a JSON object, in a code block or not.
func isObjectLike(text string) bool {
	body, _ := reactscan.SkipFence(text)
	body = textscan.TrimLeft(body)
	if !strings.HasPrefix(body, "{") {
		return false
	}
	body = textscan.TrimLeft(body[1:])
	return body == "" || strings.IndexByte(`"'}`, body[0]) >= 0
}

func isObject(text string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &o) == nil && o != nil
}

// readInputObject reads the object that value begins with, in a code block or not, and ignores what
// follows. used is the length of what was read. ended means that the object marks its own end. The
// object is read as in readDict.
func readInputObject(value string, at int, mode Mode) (object string, used int, ended bool, repairs []Repair, err *ParseError) {
	body, skipped := reactscan.SkipFence(value)
	inBlock := skipped > 0
	skipped += len(body) - len(textscan.TrimLeft(body))
	body = value[skipped:]
	used = len(value)
	if end := objectEnd(body); end > 0 {
		body, used, ended = body[:end], skipped+end, true
	}
	if rest := textscan.TrimLeft(value[used:]); inBlock && reactscan.ReadMark(rest, true).Fence {
		used = len(value) - len(rest) + textscan.SkipRun(rest, 0, rest[0])
	}
	object, repairs, err = readDict(body, at+skipped, mode)
	return object, used, ended, repairs, err
}

// inputContinues returns an error unless only prose follows the object that an input begins with:
// the object seems to continue, or another object or input follows.
func inputContinues(value string, used, at int) *ParseError {
	continued, _ := jsonscan.Continues(value, used, true)
	rest := strings.TrimLeft(value[used:], textscan.Blanks+"]}")
	next := strings.TrimLeft(strings.TrimPrefix(rest, ","), textscan.Blanks)
	member, keyword := jsonscan.Lookahead{Text: next}, pyliteral.Lookahead{Text: next}
	_, key := member.Key()
	switch {
	case continued, key, isObjectLike(next), next != rest && next != "" && strings.IndexByte(`"'`, next[0]) >= 0:
	case next != rest && keyword.Name() != "" && keyword.Skip("="):
	case reactscan.ReadMark(rest, true).Key == reactscan.Input:
	default:
		return nil
	}
	return broken(at+used, "one JSON object with all arguments, and nothing behind it", rest, nil)
}

// readDict reads an object as readObject does. In every mode it also reads a Python dict, with its
// quotes, constants and a comma after the last member. This is allowed in every mode because the
// format does not require JSON, but it is still listed as a repair. A text that is almost JSON must
// mean the same as a repaired JSON text, because the two languages have different escapes.
func readDict(text string, at int, mode Mode) (object string, repairs []Repair, err *ParseError) {
	object, repairs, err = readObject(text, at, mode)
	if err == nil || mode == ModeRepair {
		return object, repairs, err
	}
	dict, end, notPython := pyliteral.Read(text, 0)
	if notPython != nil || end < len(text) {
		return "", nil, err
	}
	fixed, repairs, unclear := readObject(text, at, ModeRepair)
	if unclear != nil || fixed != dict {
		return "", nil, err
	}
	return fixed, repairs, nil
}

// objectEnd returns the position after the object or dict that text begins with, or 0 if it does
// not end.
func objectEnd(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"', '\'':
			i = quoteEnd(text, i)
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// quoteEnd returns the position of the quote that ends the string that begins at i, or len(text) if
// there is none.
func quoteEnd(text string, i int) int {
	quote := text[i]
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return len(text)
}
