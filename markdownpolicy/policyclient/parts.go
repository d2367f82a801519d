package policyclient

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// whole is a parser for a policy that reads only whole replies.
type whole struct {
	policy markdownpolicy.Policy
	text   strings.Builder
}

// Write implements markdownpolicy.Parser.
func (w *whole) Write(piece string) []markdownpolicy.Part {
	w.text.WriteString(piece)
	return nil
}

// Close implements markdownpolicy.Parser.
func (w *whole) Close() (markdownpolicy.Document, []markdownpolicy.Part, error) {
	doc, err := w.policy.ParseResponse(w.text.String())
	return doc, doc.Parts, err
}

// joined returns parts that were released in pieces, with neighbouring texts as one, and neighbouring thoughts.
func joined(pieces []markdownpolicy.Part) []markdownpolicy.Part {
	var out []markdownpolicy.Part
	for _, p := range pieces {
		if len(out) == 0 || !join(&out[len(out)-1], p) {
			out = append(out, p)
		}
	}
	return out
}

// join puts a piece behind a part of its kind.
func join(part *markdownpolicy.Part, piece markdownpolicy.Part) bool {
	switch more := piece.Content.(type) {
	case messages.Text:
		if t, ok := part.Content.(messages.Text); ok {
			part.Content, part.End = messages.Text{Text: t.Text + more.Text}, piece.End
			return true
		}
	case messages.Thought:
		if t, ok := part.Content.(messages.Thought); ok {
			part.Content, part.End = messages.Thought{Text: t.Text + more.Text}, piece.End
			return true
		}
	default:
	}
	return false
}

// withoutMended returns the parts of a text that was cut off: without the call at the cut, where that was mended.
func withoutMended(doc markdownpolicy.Document, text string) []markdownpolicy.Part {
	n := len(doc.Parts)
	if n == 0 || len(doc.Repairs) == 0 {
		return doc.Parts
	}
	last := doc.Parts[n-1]
	_, call := last.Content.(messages.ToolCall)
	if call && doc.Repairs[len(doc.Repairs)-1].Offset >= last.Start && strings.TrimSpace(text[min(last.End, len(text)):]) == "" {
		return doc.Parts[:n-1]
	}
	return doc.Parts
}

// beside returns the parts of a message's text, and where they stood among them the thoughts and calls that the server
// told apart from the text.
func beside(native []messages.AssistantContent, parts []markdownpolicy.Part) []messages.AssistantContent {
	var all []messages.AssistantContent
	at := 0
	for _, c := range native {
		if t, ok := c.(messages.Text); ok {
			at += len(t.Text)
			continue
		}
		for len(parts) > 0 && parts[0].Start < at {
			all, parts = append(all, parts[0].Content), parts[1:]
		}
		all = append(all, c)
	}
	for _, p := range parts {
		all = append(all, p.Content)
	}
	return all
}

// seam is where the last part of a reply ends that calls were made texts of.
type seam struct {
	end  int
	text bool // it is one
}

// texts returns parts with the source of each call as text, and the blanks between two texts that a call stood between.
func (s *seam) texts(parts []markdownpolicy.Part, source string) []markdownpolicy.Part {
	var out []markdownpolicy.Part
	for _, p := range parts {
		held, isText := "", false
		switch c := p.Content.(type) {
		case messages.Text:
			held, isText = c.Text, true
		case messages.ToolCall:
			held, isText = source[min(p.Start, len(source)):min(p.End, len(source))], true
		default:
		}
		if gap := source[min(s.end, p.Start, len(source)):min(p.Start, len(source))]; isText && s.text && strings.TrimSpace(gap) == "" {
			held, p.Start = gap+held, p.Start-len(gap)
		}
		s.end, s.text = p.End, isText
		if isText {
			p.Content = messages.Text{Text: held}
		}
		out = append(out, p)
	}
	return out
}
