package markdownpolicy

import (
	"encoding/json"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/pyliteral"
	"github.com/segue-go/segue/markdownpolicy/internal/reactscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/tools"
)

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
