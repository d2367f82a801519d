package markdownpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Left is what ends a reply.
type Left struct {
	Start   int                 // where it begins in the text
	Calls   []messages.ToolCall // the calls, without ids, each of an offered tool with arguments that fit its schema
	Ended   bool                // an invented result follows, so that the reply is complete here
	Problem string              // for the model: why what is plainly a call is none; then there are no Calls
}

// Read reads the whole text of a reply. ok is false if it ends with no calls.
func (l *LeftCalls) Read(text string) (left Left, ok bool) {
	l.advance(text, true)
	left.Ended = l.over
	var units [][]messages.ToolCall // from the last
	for _, u := range slices.Backward(l.units) {
		calls, problem := l.calls(text, &u)
		if calls == nil && problem == "" {
			break
		}
		left.Start, ok = u.start, true
		left.Problem = cmp.Or(problem, left.Problem)
		units = append(units, calls)
	}
	if left.Problem == "" {
		slices.Reverse(units)
		left.Calls = slices.Concat(units...)
	}
	return left, ok
}

// IsQuoted reports whether what ends a reply stands in a message of a user or a tool, however it is
// spaced or escaped: then it is not the model's own.
func (l Left) IsQuoted(text string, asked messages.History) bool {
	packed := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, `\`, "")), "") }
	left := packed(text[l.Start:])
	return slices.ContainsFunc(asked, func(m messages.Message) bool {
		switch m := m.(type) {
		case messages.User:
			return strings.Contains(packed(m.Text()), left)
		case messages.Tool:
			return strings.Contains(packed(m.Output), left)
		default:
			return false
		}
	})
}

// calls reads the calls of a unit. Without a problem and calls it is text.
func (l *LeftCalls) calls(text string, u *leftUnit) (calls []messages.ToolCall, problem string) {
	body := text[u.start:u.end]
	if u.form == leftBlock {
		body = u.fence.Content(text)
	}
	body = textscan.Trim(body)
	parts, err := l.parts(body)
	plain := l.isPlain(body)
	for _, p := range parts {
		c, isCall := p.Content.(messages.ToolCall)
		if !isCall {
			return nil, ""
		}
		if problem := l.wrong(c); problem != "" {
			if !plain && l.options.tool(c.Name) == nil || l.options.isDefinition(c.Name, c.Arguments) {
				return nil, ""
			}
			return nil, problem
		}
		calls = append(calls, c)
	}
	switch {
	case err == nil:
		return calls, ""
	case plain && !strings.Contains(body, `"properties"`):
		return nil, fmt.Sprintf("the call at the end of the reply cannot be read: %s was expected", err.Expected)
	default:
		return nil, ""
	}
}

// parts reads the text of a unit with the policy that finds nothing but calls in it.
func (l *LeftCalls) parts(body string) (parts []Part, err *ParseError) {
	if body != "" && body[0] != '<' && !strings.HasPrefix(body, mistralMark) || strings.HasPrefix(body, functionMark) {
		tags := toolCallMarks
		for _, form := range undoubled(body) {
			if parts, err = read(Hermes.With(l.options), tags.open+"\n"+form+"\n"+tags.close); err == nil {
				break
			}
		}
		return parts, err
	}
	if strings.HasPrefix(body, "<name>") {
		body = "<tool_call>" + body + "</tool_call>"
	}
	for _, p := range leftPolicies {
		found, problem := read(p.With(l.options), body)
		if problem == nil && len(found) > 0 && firstStart[messages.Text](found) < 0 {
			return found, nil
		}
		if err == nil {
			err = problem
		}
	}
	if err == nil {
		err = broken(0, hermesForm.expects(), body, nil)
	}
	return nil, err
}

func read(p Policy, text string) ([]Part, *ParseError) {
	doc, err := p.ParseResponse(text)
	if e, ok := err.(*ParseError); ok { //nolint:errorlint // the policies return it as it is
		return nil, e
	}
	return doc.Parts, nil
}

// undoubled returns an object, and if its braces are doubled, as in templates, the object with the
// outer ones or with all of them once.
func undoubled(body string) []string {
	if !strings.HasPrefix(body, "{{") || !strings.HasSuffix(body, "}}") {
		return []string{body}
	}
	return []string{body[1 : len(body)-1], strings.ReplaceAll(strings.ReplaceAll(body, "{{", "{"), "}}", "}")}
}

// wrong says what is wrong with a call; "" if it can be made.
func (l *LeftCalls) wrong(c messages.ToolCall) string {
	def := l.options.tool(c.Name)
	if def == nil {
		names := make([]string, len(l.options.Tools))
		for i, d := range l.options.Tools {
			names[i] = jsonscan.Quote(d.Name)
		}
		return fmt.Sprintf("the reply ends with a call of the tool %q, which does not exist; the tools are: %s", c.Name, strings.Join(names, ", "))
	}
	parameters := def.Parameters
	if len(parameters) == 0 {
		parameters = []byte(`{"type":"object"}`)
	}
	schema, err := tools.CompileSchema(parameters)
	if err == nil {
		err = schema.Check(c.Arguments)
	}
	if err != nil {
		return fmt.Sprintf("the reply ends with a call of the tool %q whose arguments do not fit: %v", c.Name, err)
	}
	return ""
}

// isPlain reports whether a text is meant as a call, whatever is wrong with it: it begins with a
// mark of calls, is one call of an offered tool in Python, or an object with the keys of a call.
func (l *LeftCalls) isPlain(body string) bool {
	switch head, _ := l.headAt(strings.TrimLeft(body, "["), 0, true); head.form { //nolint:exhaustive // others are not plain
	case leftTag:
		return true
	case leftCall:
		return !strings.Contains(body, "\n")
	}
	return (strings.Contains(body, `"name"`) || strings.Contains(body, `"function"`)) && (strings.Contains(body, `"arguments"`) || strings.Contains(body, `"parameters"`))
}

// leftPolicies read what stands between tags.
var leftPolicies = []Format{Hermes, looseDeepSeek, LFM, Olmo, FunctionGemma, XML, Mistral, Llama, Pythonic, GLM, Kimi, DeepSeek, Harmony}
