package markdownpolicy

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
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
