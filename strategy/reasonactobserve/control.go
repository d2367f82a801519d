package reasonactobserve

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// The control tools, by which the model drives the strategy. They are offered one at a time and
// never run: the strategy reads the arguments of the call and answers it itself.
const (
	DecideNext    = "agent_decide_next"    // in the reason turn
	ObserveDecide = "agent_observe_decide" // in the observe turn
)

// RequestInput is the name of the tool with which the strategy asks the user. It is [tools.AskUser]
// under another name, so that the run may also have that one. The model never sees it: the model
// asks in its decision.
const RequestInput = "agent_request_input"

const (
	planProperties = `
		"plan": {"type": "string", "description": "what to do next, and why"},
		"tools_to_consider": {"type": "array", "items": {"type": "string"}, "description": "names of tools that may help"},
		"finish": {"type": "boolean", "description": "whether the task is done"},
		"final_answer": {"type": "string", "description": "the whole answer, if the task is done"}`
	inputProperty = `,
		"request_input": {
			"type": "object",
			"description": "a question to the user, if something is missing that only the user can tell",
			"properties": {
				"question": {"type": "string"},
				"options": {"type": "array", "items": {"type": "string"}, "description": "answers to choose from, if there are only so many"}
			},
			"required": ["question"]
		}`
)

// decideDefinition returns the control tool of the reason turn, with or without a way to ask the
// user.
func decideDefinition(ask bool) tools.Definition {
	properties := planProperties
	if ask {
		properties += inputProperty
	}
	return tools.Definition{
		Name:        DecideNext,
		Description: "Decides what comes next in the task.",
		Parameters:  json.RawMessage(`{"type": "object", "properties": {` + properties + "\n}}"),
		ReadOnly:    true,
	}
}

var observeDefinition = tools.Definition{
	Name:        ObserveDecide,
	Description: "Says what was learned, and whether the task has to go on.",
	Parameters: json.RawMessage(`{"type": "object", "properties": {
		"observation": {"type": "string", "description": "what was learned in this step"},
		"should_continue": {"type": "boolean", "description": "whether more has to be done"},
		"final_answer": {"type": "string", "description": "the whole answer, if nothing more has to be done"}
	}}`),
	ReadOnly: true,
}

// decision holds the arguments of a control tool, or the same from a text. It has the fields of
// both tools.
type decision struct {
	Finish         truth  `json:"finish"`
	ShouldContinue truth  `json:"should_continue"`
	FinalAnswer    text   `json:"final_answer"`
	Observation    text   `json:"observation"`
	RequestInput   *input `json:"request_input"`

	beside string // the other text of the reply
	prose  bool   // it was read from a text
}

var (
	decideKeys  = []string{"finish", "final_answer", "request_input", "plan", "tools_to_consider"}
	observeKeys = []string{"should_continue", "final_answer", "observation"}
)

// readDecision reads the decision in a reply: from the last readable call of the control tool, or
// else from the last fitting object in the text.
func readDecision(reply messages.Assistant, tool string, keys []string) (decision, bool) {
	said := reply.Text()
	for _, c := range slices.Backward(reply.Calls()) {
		d := decision{beside: said}
		if c.Name == tool && c.Decode(&d) == nil {
			return d, true
		}
	}
	object, ok := markdownpolicy.FindObject(said, keys...)
	d := decision{prose: true}
	if !ok || json.Unmarshal([]byte(object), &d) != nil {
		return decision{}, false
	}
	d.beside = without(said, object)
	return d, true
}

// without returns a text without an object and without the code fence around the object.
func without(said, object string) string {
	before, after, _ := strings.Cut(said, object)
	before, after = strings.TrimSpace(before), strings.TrimSpace(after)
	if rest, fenced := strings.CutPrefix(after, "```"); fenced {
		if i := strings.LastIndex(before, "```"); i >= 0 && !strings.Contains(before[i:], "\n") {
			before, after = strings.TrimSpace(before[:i]), strings.TrimSpace(rest)
		}
	}
	return strings.TrimSpace(before + "\n" + after)
}

// truth is a boolean as models write it, which may be a string. The zero truth is undecided.
type truth string

const (
	yes truth = "yes"
	no  truth = "no"
)

// UnmarshalJSON implements json.Unmarshaler. Anything other than true and false is undecided.
func (t *truth) UnmarshalJSON(data []byte) error {
	switch strings.ToLower(strings.Trim(string(data), `" `)) {
	case "true", "yes", "1":
		*t = yes
	case "false", "no", "0":
		*t = no
	default:
		*t = ""
	}
	return nil
}

// text is a text as models write it: some give an object or a number where a text is expected.
type text string

// UnmarshalJSON implements json.Unmarshaler. A value that is not a string is kept as JSON.
func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	switch {
	case bytes.Equal(data, []byte("null")):
	case json.Unmarshal(data, &s) != nil:
		s = string(data)
	}
	*t = text(strings.TrimSpace(s))
	return nil
}

// input is a question to the user.
type input struct {
	Question text     `json:"question"`
	Options  []string `json:"options,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler. Options that are not strings are left out; a plain
// string is the question.
func (q *input) UnmarshalJSON(data []byte) error {
	var object struct {
		Question text   `json:"question"`
		Options  []text `json:"options"`
	}
	if json.Unmarshal(data, &object) != nil {
		return q.Question.UnmarshalJSON(data)
	}
	q.Question = object.Question
	for _, o := range object.Options {
		if o != "" {
			q.Options = append(q.Options, string(o))
		}
	}
	return nil
}

// requestInput is [tools.AskUser] under the name of this strategy.
type requestInput struct{ tools.Tool }

// Definition implements tools.Tool.
func (r requestInput) Definition() tools.Definition {
	def := r.Tool.Definition()
	def.Name = RequestInput
	return def
}

// Unwrap returns the tool with its original name.
func (r requestInput) Unwrap() tools.Tool { return r.Tool }
