package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Think separates a model's thoughts, between <think> and </think>, from a reply; another policy
// reads the rest. A thought without an end extends to the end of the reply. A tag between double
// quotes on its line, as in the arguments of a call, is not a tag, nor is one in a value that [GLM]
// or [Hermes] reads without quotes, or one after a backslash, which is removed.
type Think struct {
	Policy Policy // reads the rest; nil is [Fenced]
	Start  ThinkStart
}

// ThinkStart selects how the first thought of a reply begins.
type ThinkStart string

// The ways in which a thought begins.
const (
	// ThinkAny reads both forms below: text before a first </think> is a thought. Nothing is
	// released before the first tag, because it may still be part of a thought.
	ThinkAny ThinkStart = ""

	// ThinkTagged is for models that write <think>: a </think> without a <think> is text, and text
	// is released at once.
	ThinkTagged ThinkStart = "tagged"

	// ThinkOpen is for models whose prompt ends with <think>: a reply begins within a thought, with
	// or without the tag.
	ThinkOpen ThinkStart = "open"
)

const (
	thinkTag    = "<think>"
	thinkEndTag = "</think>"
)

func (t Think) policy() Policy {
	if t.Policy == nil {
		return Fenced{}
	}
	return t.Policy
}

// WithTools implements [Tooled].
func (t Think) WithTools(defs []tools.Definition) Policy {
	if t.Policy == nil {
		t.Policy = Fenced{}
	}
	t.Policy = withTools(t.Policy, defs)
	return t
}

// Name returns the name of the policy that reads the rest.
func (t Think) Name() string { return nameOf(t.policy()) }

// FormatInstructions returns the instructions of the policy that reads the rest: models that write
// such thoughts need no instructions for them.
func (t Think) FormatInstructions(defs []tools.Definition) string {
	return t.policy().FormatInstructions(defs)
}

// FormatQuery implements [Policy]. Past thoughts are written between tags. [GLM], [Kimi], [DeepSeek]
// and [Harmony] write them as their models know them, and leave out those that are not told again.
func (t Think) FormatQuery(h messages.History) (messages.History, error) {
	switch p := t.policy().(type) {
	case GLM, Kimi, DeepSeek, Harmony:
		return p.FormatQuery(h)
	}
	return formatQuery(h, t.Render, t.results)
}

// results writes results in the form in which the policy that reads the rest writes them after
// calls.
func (t Think) results(outputs []messages.ToolOutput) string {
	var turn messages.Assistant
	h := messages.History{nil}
	for _, o := range outputs {
		turn.Content = append(turn.Content, messages.ToolCall{ID: o.CallID, Name: o.ToolName, Arguments: "{}"})
		h = append(h, messages.Tool{ToolOutput: o})
	}
	h[0] = turn
	rendered, err := t.policy().FormatQuery(h)
	if err != nil {
		return Fenced{}.results(outputs)
	}
	var texts []string
	for _, m := range rendered {
		if u, ok := m.(messages.User); ok {
			texts = append(texts, u.Text())
		}
	}
	return strings.Join(texts, "\n\n")
}

// Render implements [Renderer].
func (t Think) Render(parts []messages.AssistantContent) string {
	var blocks []string
	var rest []messages.AssistantContent
	end := func() {
		if text := render(t.policy(), rest); text != "" {
			blocks = append(blocks, escapeTags(text, isValued(t.policy())))
		}
		rest = nil
	}
	for i, p := range joinTexts(parts) {
		thought, ok := p.(messages.Thought)
		if !ok {
			if i == 0 && t.Start == ThinkOpen {
				blocks = append(blocks, thinkTag+thinkEndTag)
			}
			rest = append(rest, p)
			continue
		}
		end()
		blocks = append(blocks, thinkTag+"\n"+strings.ReplaceAll(thought.Text, thinkEndTag, `\`+thinkEndTag)+"\n"+thinkEndTag)
	}
	end()
	return strings.Join(blocks, "\n\n")
}

// escapeTags writes a backslash before each tag that would be read as a tag.
func escapeTags(text string, valued bool) string {
	var b strings.Builder
	values := newShelter(valued)
	from := 0
	for {
		at, length := nextTag(text, from)
		if length == 0 {
			b.WriteString(text[from:])
			return b.String()
		}
		b.WriteString(text[from:at])
		if sheltered, _ := values.around(text, at, at+length, true); !sheltered {
			b.WriteByte('\\')
		}
		b.WriteString(text[at : at+length])
		from = at + length
	}
}

// nextTag returns the position and the length of the next tag, or length 0.
func nextTag(text string, from int) (at, length int) {
	for at = from; ; at++ {
		i := strings.IndexByte(text[at:], '<')
		if i < 0 {
			return len(text), 0
		}
		at += i
		if strings.HasPrefix(text[at:], thinkTag) {
			return at, len(thinkTag)
		}
		if strings.HasPrefix(text[at:], thinkEndTag) {
			return at, len(thinkEndTag)
		}
	}
}
