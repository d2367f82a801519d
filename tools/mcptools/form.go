package mcptools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/tools"
)

// form is a question of a server (an elicitation): a form with fields, or an address to visit.
type form struct {
	Message string          `json:"message"`
	URL     string          `json:"url,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"` // of the fields; nil: there are none

	fields []field
	check  *tools.Schema
}

// field is one field of a form.
type field struct {
	name, kind, title, description string
	required                       bool
	values                         []string // to choose from
}

const mostMessage = 4 << 10

// newForm reads and bounds what a server asks.
func newForm(p *mcp.ElicitParams, limits Limits) (*form, error) {
	f := &form{Message: clean(p.Message, mostMessage)}
	if p.Mode == "url" || p.Mode == "" && p.URL != "" {
		if f.URL = clean(p.URL, mostMessage); f.URL != p.URL || f.URL == "" || strings.ContainsFunc(f.URL, unicode.IsSpace) {
			return nil, errors.New("it asks to visit an address that is empty, too long or has control characters")
		}
		return f, nil
	}
	if p.RequestedSchema == nil {
		return f, nil
	}
	schema := p.RequestedSchema
	if object, ok := schema.(map[string]any); ok {
		schema = withoutNull(object)
	}
	data, err := json.Marshal(schema)
	if err != nil || len(data) > limits.Schema {
		return nil, errors.New("it asks with a form that is too large")
	}
	f.Schema = data
	return f, f.read()
}

// decodeForm reads a form from the state of a call.
func decodeForm(data json.RawMessage) (*form, error) {
	f := new(form)
	if err := json.Unmarshal(data, f); err != nil {
		return nil, err
	}
	return f, f.read()
}

// read reads the fields from the schema.
func (f *form) read() (err error) {
	if f.Schema == nil {
		return nil
	}
	if f.check, err = tools.CompileSchema(f.Schema); err != nil {
		return errors.New("it asks with a form whose schema is invalid")
	}
	var schema struct {
		Type       string `json:"type"`
		Properties map[string]struct {
			Type        string            `json:"type"`
			Title       string            `json:"title"`
			Description string            `json:"description"`
			Enum        []json.RawMessage `json:"enum"`
			OneOf       []struct {
				Const json.RawMessage `json:"const"`
			} `json:"oneOf"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(f.Schema, &schema) != nil || schema.Type != "" && schema.Type != "object" {
		return errors.New("it asks with a form whose schema is not one of an object with plain fields")
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		p := schema.Properties[name]
		one := field{
			name: clean(name, 100), kind: clean(p.Type, 20), title: clean(p.Title, 200), description: clean(p.Description, 500),
			required: slices.Contains(schema.Required, name),
		}
		values := p.Enum
		for _, o := range p.OneOf {
			values = append(values, o.Const)
		}
		for _, v := range values {
			var text string
			if json.Unmarshal(v, &text) != nil {
				text = string(v)
			}
			one.values = append(one.values, clean(text, 100))
		}
		f.fields = append(f.fields, one)
	}
	return nil
}

// Answers to a form without fields.
const (
	optionAccept  = "accept"
	optionDecline = "decline"
)

// question returns the question for a person. It is the nth of its call, and has another text than
// all the others. The problem says why an earlier answer did not fit.
func (f *form) question(server, tool string, nth int, problem string) tools.Question {
	var b strings.Builder
	fmt.Fprintf(&b, "The server %q asks, for a call of %s: %s", server, tool, f.Message)
	if nth > 1 {
		fmt.Fprintf(&b, " (question %d of this call)", nth)
	}
	if problem != "" {
		fmt.Fprintf(&b, "\nThe last answer did not fit: %s", problem)
	}
	q := tools.Question{Kind: tools.KindQuestion}
	switch {
	case f.URL != "":
		fmt.Fprintf(&b, "\nVisit %s if you trust that address, and answer %q when you are done, or %q.", f.URL, optionAccept, optionDecline)
		q.Options = []string{optionAccept, optionDecline}
	case len(f.fields) == 0:
		q.Options = []string{optionAccept, optionDecline}
	case len(f.fields) == 1:
		one := &f.fields[0]
		b.WriteString("\n" + one.line())
		q.Options = one.options()
	default:
		b.WriteString("\nAnswer with a JSON object of these fields:")
		for i := range f.fields {
			b.WriteString("\n" + f.fields[i].line())
		}
	}
	q.Text = b.String()
	return q
}

func (f *field) line() string {
	text := "- " + f.name + " ("
	if f.kind == "" {
		text += "any value"
	} else {
		text += f.kind
	}
	if !f.required {
		text += ", optional"
	}
	text += ")"
	if f.title != "" {
		text += ": " + f.title
	}
	if f.description != "" {
		text += ": " + f.description
	}
	if len(f.values) > 0 {
		text += "; one of " + strings.Join(f.values[:min(len(f.values), 50)], ", ")
	}
	return text
}

func (f *field) options() []string {
	switch {
	case len(f.values) > 0 && len(f.values) <= 20:
		return f.values
	case f.kind == "boolean":
		return []string{"yes", "no"}
	default:
		return nil
	}
}

// answer converts the answer of a person for the server, or says why it does not fit.
func (f *form) answer(a tools.Answer) (r *mcp.ElicitResult, problem string) {
	if a.Err != nil {
		if _, ok := errors.AsType[*tools.DeclinedError](a.Err); ok {
			return &mcp.ElicitResult{Action: "decline"}, ""
		}
		return &mcp.ElicitResult{Action: "cancel"}, ""
	}
	text := strings.TrimSpace(a.Text)
	if f.URL != "" || len(f.fields) == 0 {
		switch strings.ToLower(text) {
		case optionDecline, "no":
			return &mcp.ElicitResult{Action: "decline"}, ""
		case optionAccept, "yes", "done", "ok":
			return &mcp.ElicitResult{Action: "accept"}, ""
		default:
			return nil, fmt.Sprintf("answer %q or %q", optionAccept, optionDecline)
		}
	}
	var found []string
	for _, candidate := range f.candidates(text) {
		err := f.check.Check(candidate)
		if err == nil {
			content := map[string]any{}
			if err := json.Unmarshal([]byte(candidate), &content); err == nil {
				return &mcp.ElicitResult{Action: "accept", Content: content}, ""
			}
		}
		found = append(found, problemOf(err))
	}
	return nil, found[0]
}

func problemOf(err error) string {
	if wrong, ok := errors.AsType[*tools.SchemaError](err); ok {
		var parts []string
		for _, p := range wrong.Problems[:min(len(wrong.Problems), 5)] {
			parts = append(parts, strings.TrimSpace(p.Pointer+" "+p.Message))
		}
		return strings.Join(parts, "; ")
	}
	return "it is not a JSON object"
}

// candidates returns the JSON objects that a text may stand for, the likeliest first.
func (f *form) candidates(text string) []string {
	if len(f.fields) != 1 {
		return []string{text}
	}
	one := &f.fields[0]
	var value any = text
	switch one.kind {
	case "integer", "number":
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			value = json.RawMessage(text)
		}
	case "boolean":
		switch strings.ToLower(text) {
		case "yes", "true":
			value = true
		case "no", "false":
			value = false
		}
	}
	data, err := json.Marshal(map[string]any{one.name: value})
	if err != nil {
		return []string{text}
	}
	if strings.HasPrefix(text, "{") {
		return []string{text, string(data)}
	}
	return []string{string(data)}
}
