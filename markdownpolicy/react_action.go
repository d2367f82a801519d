package markdownpolicy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/segue-go/segue/tools"
)

// actionKind says what an Action line asks for.
type actionKind uint8

const (
	realAction actionKind = iota
	finishing             // "FINISH": the input is the answer
	noAction              // "None"
)

// action is an Action line with its input.
type action struct {
	name  string
	kind  actionKind
	input string
	at    int         // where the input stands in the reply
	has   bool        // there is an input
	exact bool        // the input is text as it is, as in Search["x"]
	end   int         // behind the bracket of that, or the object that holds the action; 0: neither
	err   *ParseError // it cannot be read, or the input may be meant by something else that stands there

	repairs []Repair // of such an object
}

// reactForm is an action as JSON.
var reactForm = callForm{name: "action", arguments: "action_input", beside: []string{"thought", "thoughts"}}

const inlineInput = "Action Input:"

// readAction reads what stands behind "Action:", up to the next keyword, at its place in the reply.
func (p ReAct) readAction(value string, at int) action {
	trimmed := trimBlanksLeft(value)
	at += len(value) - len(trimmed)
	value = trimBlanksRight(trimmed)
	if a, ok := p.readBlob(value, at); ok {
		return a
	}
	name, rest, _ := strings.Cut(value, "\n")
	a := action{at: at + len(name)}
	if i := strings.Index(name, inlineInput); i >= 0 {
		a.name, a.input, a.has, a.at = name[:i], value[i+len(inlineInput):], true, at+i+len(inlineInput)
	} else if open, end := p.brackets(value, name); open > 0 {
		a.name, a.input, a.has, a.exact, a.at, a.end = name[:open], value[open+1:end], true, true, at+open+1, at+end+1
	} else {
		a.name = name
		if isObjectLike(rest) {
			a.input, a.has, a.at = rest, true, at+len(value)-len(rest)
		} else if trimBlanks(rest) != "" {
			a.err = broken(at+len(name)+1, `an "Action Input:" line behind the "Action:" line, and nothing between them`, rest, nil)
		}
	}
	a.name, a.kind = p.readName(a.name)
	return a
}

// readBlob reads an action that is written as one JSON object, {"action":…,"action_input":…}, in a
// code block or not. An object that cannot be read is an action with an error.
func (p ReAct) readBlob(value string, at int) (action, bool) {
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
	var blob struct {
		Action string          `json:"action"`
		Input  json.RawMessage `json:"action_input"`
	}
	if json.Unmarshal([]byte(text), &blob) != nil || blob.Action == "" {
		return action{}, false
	}
	a := action{at: at, input: string(blob.Input), has: blob.Input != nil, end: at + used, repairs: repairs}
	a.name, a.kind = p.readName(blob.Action)
	_, _, under, again := reactForm.fields(text)
	if a.err = reactForm.strange(text, a.name, under, at); a.err == nil {
		a.err = inputGoesOn(value, used, at)
	}
	if again != "" {
		a.err = repeated(at, quote(again), text)
	}
	var answer string
	if a.kind == finishing && json.Unmarshal(blob.Input, &answer) == nil {
		a.input = answer
	}
	return a, true
}

// brackets finds the input in a value such as Search[Nick Park]. It returns the places of the
// brackets, or 0, as for a name behind a backslash or of a tool, which may hold brackets.
func (p ReAct) brackets(value, line string) (open, end int) {
	open = strings.IndexByte(line, '[')
	if open <= 0 || line[0] == '\\' || p.tool(trimBlanks(line)) != nil || strings.Trim(line[:open], decoration) == "" {
		return 0, 0
	}
	for _, text := range [...]string{line, value} {
		if text = strings.TrimRight(text, blanks+".`*"); strings.HasSuffix(text, "]") {
			return open, len(text) - 1
		}
	}
	return 0, 0
}

// decoration is what may surround a name.
const decoration = blanks + "`\"'*[]()<>.,:;!"

// readName reads the name of an action. A name behind a backslash is what it is; else decoration
// around it is taken off, unless a tool has it in its name, and some names mean no tool.
func (p ReAct) readName(text string) (string, actionKind) {
	text = trimBlanks(text)
	if exact, ok := strings.CutPrefix(text, `\`); ok || p.tool(text) != nil {
		return exact, realAction
	}
	name := strings.Trim(text, decoration)
	switch folded := strings.ToLower(name); {
	case p.tool(name) != nil:
	case folded == "finish" || folded == "final answer" || folded == "final_answer":
		return name, finishing
	case folded == "none" || folded == "n/a" || folded == "na" || folded == "no action" || folded == "null":
		return name, noAction
	}
	return name, realAction
}

// writeName writes a name so that readName reads it.
func (p ReAct) writeName(name string) string {
	a := ReAct{}.readAction(name, 0)
	if a.name == name && a.kind == realAction && !a.has {
		return name
	}
	return `\` + name
}

// tool returns the tool of that name, or nil.
func (p ReAct) tool(name string) *tools.Definition {
	i := slices.IndexFunc(p.Tools, func(d tools.Definition) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Tools[i]
}

// parameters are what matters here of a JSON Schema.
type parameters struct {
	Properties map[string]struct {
		Type any `json:"type"`
	} `json:"properties"`
	Required []string `json:"required"`
}

func parametersOf(d *tools.Definition) (p parameters) {
	if len(d.Parameters) > 0 {
		_ = json.Unmarshal(d.Parameters, &p) // a schema that cannot be read says nothing
	}
	return p
}

// only returns the name and the type of the one parameter that must be given, if there is just one.
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
