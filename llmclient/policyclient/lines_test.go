package policyclient_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// lines is a small policy: a line "call NAME {…}" is a call, a line "think …" is a thought, and all
// other text is text.
type lines struct{}

func (lines) Name() string   { return "lines" }
func (lines) Stop() []string { return []string{"result "} }

func (lines) FormatInstructions(defs []tools.Definition) string {
	if len(defs) == 0 {
		return ""
	}
	said := "LINES. Tools:"
	for _, d := range defs {
		said += " " + d.Name
	}
	return said
}

func (lines) FormatQuery(h messages.History) (messages.History, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	var out messages.History
	for _, m := range h {
		switch m := m.(type) {
		case messages.Assistant:
			out = append(out, messages.AssistantText(lines{}.Render(m.Content)))
		case messages.Tool:
			out = append(out, messages.UserText("result "+m.CallID+" "+m.ForModel()))
		default:
			out = append(out, m)
		}
	}
	return out, nil
}

func (lines) Render(parts []messages.AssistantContent) string {
	var b strings.Builder
	for _, p := range parts {
		if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
			b.WriteString("\n")
		}
		switch p := p.(type) {
		case messages.Text:
			b.WriteString(p.Text)
		case messages.Thought:
			b.WriteString("think " + p.Text + "\n")
		case messages.ToolCall:
			b.WriteString("call " + p.Name + " " + p.Arguments + "\n")
		default:
		}
	}
	return b.String()
}

func (lines) ParseResponse(text string) (markdownpolicy.Document, error) {
	p := lines{}.NewParser()
	p.Write(text)
	doc, _, err := p.Close()
	return doc, err
}

func (lines) NewParser() markdownpolicy.Parser { return &linesParser{} }

type linesParser struct {
	text     string
	pos      int
	inText   bool // pos is not at the beginning of a line
	calls    int
	released []markdownpolicy.Part
	taken    int // of released
	err      *markdownpolicy.ParseError
}

func (p *linesParser) Write(piece string) []markdownpolicy.Part {
	p.text += piece
	for p.err == nil && p.pos < len(p.text) && p.line(false) {
	}
	return p.take()
}

func (p *linesParser) Close() (markdownpolicy.Document, []markdownpolicy.Part, error) {
	for p.err == nil && p.pos < len(p.text) && p.line(true) {
	}
	if p.pos < len(p.text) {
		p.add(messages.Text{Text: p.text[p.pos:]}, len(p.text))
	}
	rest := p.take()
	doc := markdownpolicy.Document{Policy: "lines"}
	for _, part := range p.released {
		t, text := part.Content.(messages.Text)
		if n := len(doc.Parts); text && n > 0 {
			if before, ok := doc.Parts[n-1].Content.(messages.Text); ok {
				doc.Parts[n-1].Content, doc.Parts[n-1].End = messages.Text{Text: before.Text + t.Text}, part.End
				continue
			}
		}
		doc.Parts = append(doc.Parts, part)
	}
	if p.err != nil {
		return doc, rest, p.err
	}
	return doc, rest, nil
}

func (p *linesParser) take() []markdownpolicy.Part {
	fresh := append([]markdownpolicy.Part(nil), p.released[p.taken:]...)
	p.taken = len(p.released)
	return fresh
}

func (p *linesParser) add(c messages.AssistantContent, end int) {
	p.released = append(p.released, markdownpolicy.Part{Content: c, Start: p.pos, End: end})
	p.pos = end
}

// line reads a line, or the available part of one, and reports whether it could.
func (p *linesParser) line(final bool) bool {
	line, _, whole := strings.Cut(p.text[p.pos:], "\n")
	end := p.pos + len(line)
	if whole {
		end++
	}
	whole = whole || final
	call, isCall := strings.CutPrefix(line, "call ")
	thought, isThought := strings.CutPrefix(line, "think ")
	mayBe := strings.HasPrefix("call ", line) || strings.HasPrefix("think ", line)
	switch {
	case p.inText || !isCall && !isThought && (whole || !mayBe):
		p.inText = !strings.HasSuffix(p.text[:end], "\n")
		p.add(messages.Text{Text: p.text[p.pos:end]}, end)
	case !whole:
		return false
	case isThought:
		p.add(messages.Thought{Text: thought}, end)
	default:
		name, arguments, _ := strings.Cut(call, " ")
		if !json.Valid([]byte(arguments)) {
			p.err = &markdownpolicy.ParseError{Policy: "lines", Offset: p.pos, Line: 1 + strings.Count(p.text[:p.pos], "\n"), Expected: "a JSON object", Found: arguments}
			return false
		}
		p.calls++
		p.add(messages.ToolCall{ID: fmt.Sprint("call_", p.calls), Name: name, Arguments: arguments}, end)
	}
	return true
}
