package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// The styles, as the parameters of ECMA-48's "select graphic rendition".
const (
	styleBold   = "1"
	styleTitle  = "1;4"
	styleItalic = "3"
	styleLink   = "4"
	styleDim    = "2"
	styleStruck = "9"
	styleCode   = "35" // read on a light and on a dark background
)

// span is a text in one style. A line break in it is one of the author's.
type span struct{ text, style string }

// inline returns the text in a block.
func (r *renderer) inline(block ast.Node) []span {
	var all []span
	for n := block.FirstChild(); n != nil; n = n.NextSibling() {
		all = append(all, r.spans(n)...)
	}
	return all
}

func (r *renderer) spans(n ast.Node) []span {
	switch n := n.(type) {
	case *ast.Text:
		return r.text(n)
	case *ast.String:
		return []span{{text: clean(string(n.Value))}}
	case *ast.CodeSpan:
		return r.marked("`", styleCode, []span{{text: r.rawText(n)}})
	case *ast.Emphasis:
		if n.Level > 1 {
			return r.marked("**", styleBold, r.inline(n))
		}
		return r.marked("*", styleItalic, r.inline(n))
	case *extast.Strikethrough:
		return r.marked("~~", styleStruck, r.inline(n))
	case *extast.TaskCheckBox:
		if n.IsChecked {
			return []span{{text: "[x] "}}
		}
		return []span{{text: "[ ] "}}
	case *ast.Link:
		return r.link(r.inline(n), string(n.Destination))
	case *ast.Image:
		return r.link(append([]span{{text: "image: "}}, r.inline(n)...), string(n.Destination))
	case *ast.AutoLink:
		return []span{{text: clean(string(n.Label(r.source))), style: styleLink}}
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			at := n.Segments.At(i)
			b.Write(at.Value(r.source))
		}
		return []span{{text: clean(b.String())}}
	default:
		return r.inline(n)
	}
}

// text returns a text, in which character references stand for their characters.
func (r *renderer) text(n *ast.Text) []span {
	value := n.Segment.Value(r.source)
	if !n.IsRaw() {
		value = resolved(value)
	}
	s := clean(string(value))
	switch {
	case n.HardLineBreak():
		s += "\n"
	case n.SoftLineBreak():
		s += " "
	}
	return []span{{text: s}}
}

// resolved returns a text in which character references stand for their characters.
func resolved(text []byte) []byte {
	return util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(text)))
}

// rawText returns the text in a node as it was written.
func (r *renderer) rawText(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c, ok := c.(*ast.Text); ok {
			b.Write(c.Segment.Value(r.source))
		}
	}
	return clean(b.String())
}

// marked returns spans in a style, or between marks if there are no colors.
func (r *renderer) marked(mark, style string, in []span) []span {
	if !r.color {
		return append(append([]span{{text: mark}}, in...), span{text: mark})
	}
	for i := range in {
		in[i].style = plaintext.Join(";", style, in[i].style)
	}
	return in
}

// link returns a text with the address that it leads to, so that one cannot pass for another.
func (r *renderer) link(in []span, to string) []span {
	to = clean(string(resolved([]byte(to))))
	var shown strings.Builder
	for i := range in {
		shown.WriteString(in[i].text)
		in[i].style = plaintext.Join(";", styleLink, in[i].style)
	}
	if to == "" || shown.String() == to || "mailto:"+shown.String() == to {
		return in
	}
	return append(in, span{text: " (" + to + ")", style: styleDim})
}

// clean returns a text without line breaks, tabs and terminal control characters. A character
// reference can have brought some.
func clean(s string) string {
	return plaintext.Printable(strings.NewReplacer("\n", " ", "\t", " ").Replace(s))
}

func (r *renderer) dressed(s, style string) string {
	if !r.color || style == "" || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}
