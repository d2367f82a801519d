package markdownpolicy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Think separates a model's thoughts, between <think> and </think>, from a reply; another policy
// reads the rest. A thought without an end extends to the end of the reply. A tag between double
// quotes on its line, as in the arguments of a call, is not a tag, nor is one in a value that [GLM]
// or [Hermes] reads without quotes, or one after a backslash, which is removed.
type Think struct {
	Policy Policy   // reads the rest; nil is [Fenced]
	Start  Thoughts // how the first thought of a reply begins: ThoughtsTagged, ThoughtsOpen or ThoughtsAny; "" is ThoughtsAny
}

const (
	thinkTag    = "<think>"
	thinkEndTag = "</think>"
)

func (t Think) policy() Policy {
	if t.Policy == nil {
		return Fenced
	}
	return t.Policy
}

// WithTools implements [Tooled].
func (t Think) WithTools(defs []tools.Definition) Policy {
	if t.Policy == nil {
		t.Policy = Fenced
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

// ReplySchema implements [Schemer].
func (t Think) ReplySchema(defs []tools.Definition, must bool, answer json.RawMessage) json.RawMessage {
	return replySchema(t.policy(), defs, must, answer)
}

// FormatQuery implements [Policy]. Past thoughts are written between tags. [GLM], [Kimi], [DeepSeek]
// and [Harmony] write them as their models know them, and leave out those that are not told again.
func (t Think) FormatQuery(h messages.History) (messages.History, error) {
	switch p := t.policy().(type) {
	case Format:
		if p.keep() > thoughtsAll {
			return p.FormatQuery(h)
		}
	case Structured:
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
		return Fenced.row.results(outputs)
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
			if i == 0 && t.Start == ThoughtsOpen {
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

// shelter finds tags that are within quotes or, if valued, within values that are written without
// quotes.
type shelter struct {
	valued bool
	quotes quotes
	values values
}

func newShelter(valued bool) shelter {
	s := shelter{valued: valued}
	if valued {
		s.values.calls = finders(toolCallMarks.open)
		s.values.marks = finders(toolCallMarks.close, pairValue.open, parameterMark)
		s.values.ends = finders(pairValue.close, parameterEnd)
	}
	return s
}

// from returns the shelter for the text from a position.
func (s shelter) from(pos int) shelter {
	s.quotes = quotes{pos: pos}
	s.values.pos, s.values.place = pos, placeText
	return s
}

// around reports whether a tag is within quotes or a value. sure is false if more text is needed.
// Positions must not decrease from call to call.
func (s *shelter) around(text string, at, behind int, final bool) (within, sure bool) {
	if within, sure = s.quotes.around(text, at, behind, final); within || !sure || !s.valued {
		return within, sure
	}
	return s.values.around(text, at, final)
}

// isValued reports whether a policy reads values that are written without quotes.
func isValued(p Policy) bool {
	switch p := p.(type) {
	case Format:
		return p.form().valued
	case Chain:
		return slices.ContainsFunc(p, isValued)
	default:
		return false
	}
}

// values finds the values in calls that are written without quotes, as GLM and Qwen-Coder write
// them. A value ends before its call does, and before the next call begins.
type values struct {
	pos   int // the text before it was read
	place place
	calls []*textscan.Finder // of the mark that begins a call
	marks []*textscan.Finder // of those that begin values, and that ends a call
	ends  []*textscan.Finder // of those that end values
	end   *textscan.Finder   // of the mark that ends the value
}

type place uint8

const (
	placeText place = iota
	placeCall
	placeValue
)

// around reports whether a tag is within a value.
func (v *values) around(text string, at int, final bool) (within, sure bool) {
	if v.read(text, at); v.place != placeValue {
		return false, true
	}
	end, mark := firstMark([]*textscan.Finder{v.calls[0], v.marks[0], v.end}, text, at)
	return mark == v.end.Mark, end >= 0 || final
}

// read reads the text before a position.
func (v *values) read(text string, at int) {
	for {
		var i int
		var mark string
		switch v.place {
		case placeText:
			i, mark = firstMark(v.calls, text, v.pos)
		case placeCall:
			i, mark = firstMark(v.marks, text, v.pos)
		case placeValue:
			i, mark = firstMark([]*textscan.Finder{v.marks[0], v.end}, text, v.pos)
		}
		if i < 0 || i >= at {
			v.pos = at
			return
		}
		switch {
		case v.place == placeText && escapeBefore(text, 0, i) < i:
		case v.place == placeText, v.place == placeValue && mark == v.end.Mark:
			v.place = placeCall
		case mark == pairValue.open:
			v.place, v.end = placeValue, v.ends[0]
		case mark == parameterMark:
			v.place, v.end = placeValue, v.ends[1]
		default:
			v.place = placeText
		}
		v.pos = i + len(mark)
	}
}

// quotes counts double quotes. A lone one, between blanks, begins nothing; nor does one directly
// after a digit, which means inches. One that looks as if it began a quotation ends none.
type quotes struct {
	pos   int // the text before it was read
	odd   bool
	ahead int // from pos to here no quote closes
}

// around reports whether a tag is between two double quotes on its line. sure is false if more of
// the line is needed. Positions must not decrease from call to call.
func (q *quotes) around(text string, at, behind int, final bool) (quoted, sure bool) {
	if !q.open(text, at) {
		return false, true
	}
	for q.ahead = max(q.ahead, behind); q.ahead < len(text); q.ahead++ {
		last := q.ahead+1 == len(text)
		switch text[q.ahead] {
		case '"':
			return !beginsQuotation(text, q.ahead), !last || final
		case '\n':
			return false, true
		case '\\':
			if last {
				return false, final
			}
			q.ahead++
		}
	}
	return false, final
}

// open reports whether a quotation is open at a position, on its line.
func (q *quotes) open(text string, at int) bool {
	if i := strings.LastIndexByte(text[q.pos:at], '\n'); i >= 0 {
		q.pos, q.odd = q.pos+i+1, false
	}
	for q.pos < at {
		i := strings.IndexAny(text[q.pos:at], `"\`)
		if i < 0 {
			q.pos = at
			break
		}
		i += q.pos
		q.pos = i + 1
		switch {
		case text[i] == '"' && q.odd:
			q.odd = beginsQuotation(text, i)
		case text[i] == '"':
			q.odd = !isLoneQuote(text, i)
		case q.pos < at && q.odd: // a character after a backslash does not count
			q.pos++
		}
	}
	return q.odd
}

// beforeString are the bytes of JSON and of prose that may precede a quotation.
const beforeString = "{[(,:"

// isLoneQuote reports whether a quote is directly after a digit, or between blanks after a word.
func isLoneQuote(text string, at int) bool {
	before := strings.TrimRight(text[:at], " \t")
	switch {
	case before == "":
		return false
	case len(before) == at:
		return strings.IndexByte("0123456789", text[at-1]) >= 0
	default:
		return isBlankAt(text, at+1) && strings.IndexByte(beforeString+"\n", before[len(before)-1]) < 0
	}
}

// beginsQuotation reports whether a quote looks as if it began a quotation: what precedes it may
// precede one, and text follows directly.
func beginsQuotation(text string, at int) bool {
	return (isBlankAt(text, at-1) || strings.IndexByte(beforeString, text[at-1]) >= 0) &&
		!isBlankAt(text, at+1) && strings.IndexByte(`,}]):;.!?>/"`, text[at+1]) < 0
}

// isBlankAt reports whether there is a blank, or no text, at a position.
func isBlankAt(text string, at int) bool {
	return at < 0 || at >= len(text) || textscan.IsBlank(text[at])
}
