package markdownpolicy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// This file renders past turns as published chat templates do.

// pastThoughts says which thoughts of past replies a chat template leaves in the prompt.
type pastThoughts uint8

const (
	thoughtsAsTold pastThoughts = iota // all, and results in the order in which they came
	thoughtsAll
	thoughtsOfTurn // those after the last message of the user
	thoughtsOfWork // those after the last reply without calls
	thoughtsNever
)

// tell implements FormatQuery for a chat template. The results of a reply are in the order of its
// calls, because most templates do not say which call a result answers.
func (keep pastThoughts) tell(h messages.History, render func([]messages.AssistantContent) string, results func([]messages.ToolOutput) string) (messages.History, error) {
	if keep == thoughtsAsTold {
		return formatQuery(h, render, results)
	}
	from, at := keep.from(h), 0 // replies, counted
	var calls []messages.ToolCall
	reply := func(parts []messages.AssistantContent) string {
		calls = messages.Assistant{Content: parts}.Calls()
		if at++; at <= from {
			parts = slices.DeleteFunc(slices.Clone(parts), isThought)
		}
		return render(parts)
	}
	return formatQuery(h, reply, func(outputs []messages.ToolOutput) string {
		place := func(o messages.ToolOutput) int {
			return slices.IndexFunc(calls, func(c messages.ToolCall) bool { return c.ID == o.CallID })
		}
		slices.SortStableFunc(outputs, func(a, b messages.ToolOutput) int { return place(a) - place(b) })
		return results(outputs)
	})
}

// from returns how many replies have lost their thoughts.
func (keep pastThoughts) from(h messages.History) int {
	replies, from := 0, 0
	for _, m := range h {
		reply, replied := m.(messages.Assistant)
		if replied {
			replies++
		}
		switch _, asked := m.(messages.User); {
		case asked && keep == thoughtsOfTurn, replied && keep == thoughtsNever, replied && keep == thoughtsOfWork && len(reply.Calls()) == 0:
			from = replies
		}
	}
	return from
}

// toldResult returns a result as text: its status first, if the call failed.
func toldResult(o messages.ToolOutput) string {
	if o.OK() {
		return resultText(o)
	}
	return "status: " + resultStatus(o) + "\n" + resultText(o)
}

// joinResults writes each result between two marks.
func joinResults(open, closing, separator string) func([]messages.ToolOutput) string {
	return func(outputs []messages.ToolOutput) string {
		return joinEach(outputs, separator, func(o messages.ToolOutput) string {
			return open + strings.ReplaceAll(toldResult(o), textscan.Trim(closing), `\`+textscan.Trim(closing)) + closing
		})
	}
}

// joinEach writes each element, with a separator between any two.
func joinEach[T any](all []T, separator string, write func(T) string) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = write(one)
	}
	return strings.Join(texts, separator)
}

// writeInline writes text between the marks as [tagPair.write] does, without line breaks.
func (p tagPair) writeInline(text string) string {
	for _, m := range p.ends() {
		text = strings.ReplaceAll(text, m, `\`+m)
	}
	return p.open + unescaping(text) + p.close
}

// unescaping returns a text after which a mark is not escaped.
func unescaping(text string) string {
	if strings.HasSuffix(text, `\`) {
		text += "\n"
	}
	return text
}

// writeGroups writes parts as [writeParts] does, with consecutive calls together.
func writeGroups(parts []messages.AssistantContent, separator string, text, thought func(string) string, calls func([]messages.ToolCall) string) string {
	var texts []string
	var group []messages.ToolCall
	end := func() {
		if len(group) > 0 {
			texts = append(texts, calls(group))
		}
		group = nil
	}
	for _, p := range joinTexts(parts) {
		switch p := p.(type) {
		case messages.Text:
			end()
			texts = append(texts, text(p.Text))
		case messages.Thought:
			end()
			texts = append(texts, thought(p.Text))
		case messages.ToolCall:
			group = append(group, p)
		}
	}
	end()
	return strings.Join(texts, separator)
}

// example is an example reply in the instructions of a policy, and what it parses to.
type example struct {
	text  string // the text that the model should write
	parts []messages.AssistantContent
}

// workedExamples returns a call as an example, without words that could leak into an answer. The
// policy itself renders it, so that the instructions agree with the parser.
func workedExamples(render func([]messages.AssistantContent) string) []example {
	parts := []messages.AssistantContent{messages.ToolCall{ID: "call_1", Name: "tool_name", Arguments: `{"argument_name":"value"}`}}
	return []example{{text: render(parts), parts: parts}}
}

// howToWork says when to call and when to answer.
const howToWork = "Call a tool for what it does, instead of working it out or guessing, and stop after the calls: their results come in the next message. " +
	"When all that was asked for is known or done, answer in words, without a call."

// showInstead says how the text of a call is written that is not made.
const showInstead = "To show the text of a call to the user, instead of making it, put a backslash before it."

// instruct writes instructions: a description of the format, examples and the tools as they are
// described. Without tools the instructions are empty.
func instruct(format string, shown []example, defs []tools.Definition, described string) string {
	if len(defs) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(textscan.Trim(format))
	for _, e := range shown {
		b.WriteString("\n\nA call looks like this:\n\n" + e.text)
	}
	b.WriteString("\n\n" + howToWork + "\n\n" + described)
	return b.String()
}

// describeTools lists the tools with their names, descriptions and parameters.
func describeTools(defs []tools.Definition) string {
	var b strings.Builder
	b.WriteString("These are the tools that you can use:")
	for _, d := range defs {
		b.WriteString("\n\n- " + d.Name)
		if about := textscan.Trim(d.Description); about != "" {
			b.WriteString(": " + about)
		}
		b.WriteString("\n  Arguments, as a JSON Schema: " + compactSchema(d.Parameters))
	}
	return b.String()
}

// compactSchema returns the schema on one line. A nil schema takes no arguments.
func compactSchema(schema json.RawMessage) string {
	if len(schema) == 0 {
		return `{"type":"object","properties":{}}`
	}
	var b bytes.Buffer
	if json.Compact(&b, schema) != nil {
		return string(schema)
	}
	return b.String()
}

// formatQuery implements FormatQuery. render writes a reply, and results writes the results of its
// calls. System and user messages stay unchanged. A reply that becomes empty is left out. Images of
// results stand behind the texts of all results.
func formatQuery(h messages.History, render func([]messages.AssistantContent) string, results func([]messages.ToolOutput) string) (messages.History, error) {
	if err := h.Validate(); err != nil {
		return nil, fmt.Errorf("markdownpolicy: the history cannot be rendered: %w", err)
	}
	out := make(messages.History, 0, len(h))
	for i := 0; i < len(h); i++ {
		switch m := h[i].(type) {
		case messages.System, messages.User:
			out = append(out, m)
		case messages.Assistant:
			if text := render(m.Content); textscan.Trim(text) != "" {
				m.Content, m.Extras = messages.AssistantText(text).Content, nil
				out = append(out, m)
			}
		case messages.Tool:
			outputs, said := []messages.ToolOutput{m.ToolOutput}, messages.User{Cache: m.Cache}
			for ; i+1 < len(h) && h[i+1].Role() == messages.RoleTool; i++ {
				next := h[i+1].(messages.Tool)
				outputs, said.Cache = append(outputs, next.ToolOutput), cmp.Or(next.Cache, said.Cache)
			}
			said.Content = append(said.Content, messages.Text{Text: results(outputs)})
			for _, o := range outputs {
				for _, image := range o.Images {
					said.Content = append(said.Content, image)
				}
			}
			out = append(out, said)
		default:
			return nil, fmt.Errorf("markdownpolicy: message %d: %T cannot be rendered", i, m)
		}
	}
	return out.Clip(), nil
}

// tryAgain follows results of calls that other arguments may mend. Without it small models take the
// error for the end.
const tryAgain = "Correct the arguments and try again."

// mendable reports whether a call failed in a way that other arguments may mend.
func mendable(o messages.ToolOutput) bool {
	return o.Status == messages.StatusFailed && (o.Reason == "" || o.Reason == tools.ReasonError || o.Reason == tools.ReasonArguments)
}

// resultText returns a result in the form for a model: JSON objects and arrays without blanks,
// other text unchanged, and untrusted text between marks.
func resultText(o messages.ToolOutput) string {
	if t := textscan.TrimLeft(o.Output); t != "" && (t[0] == '{' || t[0] == '[') {
		var b bytes.Buffer
		if json.Compact(&b, []byte(o.Output)) == nil {
			o.Output = b.String()
		}
	}
	return o.ForModel()
}

// resultStatus returns how the call ended: "ok", or another status with its reason, such as "failed
// (timeout)".
func resultStatus(o messages.ToolOutput) string {
	switch {
	case o.OK():
		return string(messages.StatusOK)
	case o.Reason == "":
		return string(o.Status)
	default:
		return string(o.Status) + " (" + o.Reason + ")"
	}
}

// joinTexts returns the parts as a policy's parser would return them: neighbouring texts joined,
// blanks around texts and thoughts removed, and blank parts left out.
func joinTexts(parts []messages.AssistantContent) []messages.AssistantContent {
	var out []messages.AssistantContent
	var text strings.Builder
	end := func() {
		if t := textscan.Trim(text.String()); t != "" {
			out = append(out, messages.Text{Text: t})
		}
		text.Reset()
	}
	for _, p := range parts {
		switch p := p.(type) {
		case messages.Text:
			text.WriteString(p.Text)
		case messages.Thought:
			if t := textscan.Trim(p.Text); t != "" {
				end()
				out = append(out, messages.Thought{Text: t})
			}
		default:
			end()
			out = append(out, p)
		}
	}
	end()
	return out
}

// writeParts writes parts as joinTexts returns them, with a separator between any two.
func writeParts(parts []messages.AssistantContent, separator string, text, thought func(string) string, call func(messages.ToolCall) string) string {
	return writeGroups(parts, separator, text, thought, func(calls []messages.ToolCall) string { return joinEach(calls, separator, call) })
}

// taggedResults returns a function that writes results for a model, each between tags of that name,
// which give the id of the call.
func taggedResults(tag string) func([]messages.ToolOutput) string {
	return func(outputs []messages.ToolOutput) string {
		texts := make([]string, len(outputs))
		for i, o := range outputs {
			open := "<" + tag + " name=" + jsonscan.Quote(o.ToolName) + " call_id=" + jsonscan.Quote(o.CallID)
			if !o.OK() {
				open += " status=" + jsonscan.Quote(resultStatus(o))
			}
			texts[i] = tagPair{open: open + ">", close: "</" + tag + ">"}.write(resultText(o))
		}
		return withNext(texts, "\n", outputs, goOn)
	}
}

// goOn follows other results. Without it small models make calls that the task does not need.
const goOn = "If a step of the task is left, call the tool for it. If none is left, say the answer in a sentence."

// withNext joins the texts of results, and says what to do next.
func withNext(texts []string, separator string, outputs []messages.ToolOutput, next string) string {
	saysItself := func(o messages.ToolOutput) bool {
		return slices.Contains([]string{messages.ReasonSame, messages.ReasonLimit, messages.ReasonRepetition}, o.Reason)
	}
	switch {
	case slices.ContainsFunc(outputs, mendable):
		next = tryAgain
	case slices.ContainsFunc(outputs, saysItself):
		return strings.Join(texts, separator)
	}
	return strings.Join(texts, separator) + "\n\n" + next
}
