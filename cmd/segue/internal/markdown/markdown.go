// Package markdown writes the Markdown of a model for a terminal: wrapped words, lists, tables,
// code, and links with their addresses. Nothing of what a model writes can control the terminal.
package markdown

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// Settings are the properties of a terminal.
type Settings struct {
	Columns int  // the width; less than 20 counts as 20
	Color   bool // without it, emphasis, code and headings keep the marks of their source
}

// Render returns a text as lines for a terminal, each with its newline.
func Render(source string, s Settings) string {
	stream := Stream{}
	return stream.Write(source, s) + stream.Close(s)
}

// Stream renders a text that comes in pieces. What it returns is final: nothing is written anew.
// However the text is divided into pieces, the lines are the same. The zero Stream is ready.
type Stream struct {
	source strings.Builder // what is not done yet
	read   int             // of it, in bytes: complete lines that were read
	units  int             // of it that were written
	begun  bool            // a block was written
}

// longBlock is the size in bytes from which on a block that goes on is not read again for each
// line, but when it is an eighth longer: the work for a long list, table or code stays in
// proportion to its length.
const longBlock = 4096

// Write adds a piece, and returns the lines of the blocks that became complete with it.
func (s *Stream) Write(piece string, to Settings) string {
	s.source.WriteString(piece)
	if !strings.Contains(piece, "\n") {
		return ""
	}
	all := s.source.String()
	complete := strings.LastIndexByte(all, '\n') + 1
	if s.read > longBlock && complete-s.read < s.read/8 {
		return ""
	}
	s.read = complete
	units, closed, done := read(all[:complete], to)
	lines := s.take(units[:closed])
	if done {
		s.source.Reset()
		s.source.WriteString(all[complete:])
		s.read, s.units = 0, 0
	}
	return lines
}

// Close returns the lines of what there is of the last block. The stream is then empty again.
func (s *Stream) Close(to Settings) string {
	units, _, _ := read(s.source.String(), to)
	rest := s.take(units)
	*s = Stream{}
	return rest
}

// take returns the units that were not written yet.
func (s *Stream) take(units []unit) string {
	var b strings.Builder
	for _, u := range units[min(s.units, len(units)):] {
		if u.apart && s.begun {
			b.WriteString("\n")
		}
		for _, line := range u.lines {
			b.WriteString(line + "\n")
		}
		s.begun = true
	}
	s.units = max(s.units, len(units))
	return b.String()
}

// unit is the smallest part that is written at once: a block, an item of a list, or a line of code.
type unit struct {
	apart bool // a blank line is before it
	lines []string
}

// blocks parses Markdown as GitHub does, except for definitions of links: a text can use one before
// it is there, so that both are shown as they stand.
var blocks = newParser()

func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(slices.Concat(parser.DefaultBlockParsers()[1:], []util.PrioritizedValue{
			util.Prioritized(underlined{parser.NewSetextHeadingParser()}, 100), // in the place of the first
		})...),
		parser.WithInlineParsers(slices.Concat(parser.DefaultInlineParsers(), []util.PrioritizedValue{
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		})...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

// read returns the units of a text, how many of them no further line can change, and whether the
// text is done: what follows is read without it.
func read(text string, to Settings) (units []unit, closed int, done bool) {
	r, doc := parse(text, to)
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		units = append(units, r.units(n)...)
	}
	last := doc.LastChild()
	if last == nil {
		return units, 0, false
	}
	switch last.Kind() {
	case ast.KindHeading, ast.KindThematicBreak:
		return units, len(units), true
	case ast.KindFencedCodeBlock, ast.KindCodeBlock:
		return units, len(units), false
	case ast.KindParagraph, ast.KindBlockquote, extast.KindTable:
		if endsBlank(r.source) {
			return units, len(units), true
		}
	}
	return units, max(0, len(units)-1), false
}

// endsBlank reports whether the last line of a text is blank.
func endsBlank(source []byte) bool {
	source = bytes.TrimSuffix(source, []byte("\n"))
	return len(bytes.TrimSpace(source[bytes.LastIndexByte(source, '\n')+1:])) == 0
}

func parse(source string, to Settings) (*renderer, ast.Node) {
	r := &renderer{source: []byte(plaintext.Printable(source)), color: to.Color, columns: max(to.Columns, 20)}
	return r, blocks.Parse(text.NewReader(r.source))
}

// units divides a block at the top of the text.
func (r *renderer) units(n ast.Node) []unit {
	switch n := n.(type) {
	case *ast.List:
		var all []unit
		number := n.Start
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			apart := item == n.FirstChild() || item.HasBlankPreviousLines()
			all = append(all, unit{apart, r.item(n, item, number, r.columns, 0)})
			number++
		}
		return all
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		var all []unit
		for i, line := range r.code(n, r.columns) {
			all = append(all, unit{i == 0, []string{line}})
		}
		return all
	default:
		return []unit{{true, r.block(n, r.columns, 0)}}
	}
}
