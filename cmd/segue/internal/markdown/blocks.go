package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// renderer writes the blocks of a text.
type renderer struct {
	source  []byte
	color   bool
	columns int
}

const (
	minColumns = 10 // of a block, however deep it is nested
	mostNested = 8  // blocks in blocks that are set in
)

// block returns the lines of a block in so many columns.
func (r *renderer) block(n ast.Node, columns, depth int) []string {
	columns = max(columns, minColumns)
	switch n := n.(type) {
	case *ast.Heading:
		return r.wrap(r.heading(n), columns, false)
	case *ast.List:
		return r.list(n, columns, depth)
	case *ast.Blockquote:
		return prefixed("| ", "| ", r.children(n, columns-2, depth+1), depth)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return r.code(n, columns)
	case *ast.HTMLBlock:
		return r.raw(n)
	case *ast.ThematicBreak:
		return []string{strings.Repeat("-", min(columns, 40))}
	case *extast.Table:
		return r.table(n, columns)
	default: // a paragraph
		return r.wrap(r.inline(n), columns, false)
	}
}

// children returns the lines of the blocks in a block.
func (r *renderer) children(n ast.Node, columns, depth int) []string {
	var lines []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c != n.FirstChild() && c.HasBlankPreviousLines() {
			lines = append(lines, "")
		}
		lines = append(lines, r.block(c, columns, depth)...)
	}
	return lines
}

func (r *renderer) list(n *ast.List, columns, depth int) []string {
	var lines []string
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if item != n.FirstChild() && item.HasBlankPreviousLines() {
			lines = append(lines, "")
		}
		lines = append(lines, r.item(n, item, number, columns, depth)...)
		number++
	}
	return lines
}

// item returns the lines of an item of a list, set in below its mark.
func (r *renderer) item(list *ast.List, item ast.Node, number, columns, depth int) []string {
	mark := "- "
	if list.IsOrdered() {
		mark = strconv.Itoa(number) + ". "
	}
	lines := r.children(item, columns-len(mark), depth+1)
	if len(lines) == 0 {
		return []string{strings.TrimSpace(mark)}
	}
	return prefixed(mark, strings.Repeat(" ", len(mark)), lines, depth)
}

// prefixed sets lines in, unless they are in many blocks already.
func prefixed(first, others string, lines []string, depth int) []string {
	if depth >= mostNested {
		return lines
	}
	for i := range lines {
		prefix := others
		if i == 0 {
			prefix = first
		}
		lines[i] = strings.TrimRight(prefix+lines[i], " ")
	}
	return lines
}

// code returns lines of code, which are not wrapped: a terminal copies them as they were written.
func (r *renderer) code(n ast.Node, columns int) []string {
	indent := "    "
	if columns < 60 {
		indent = "  "
	}
	lines := r.raw(n)
	for i, line := range lines {
		if line != "" {
			lines[i] = indent + r.dressed(line, styleCode)
		}
	}
	return lines
}

// raw returns the lines of a block as they stand.
func (r *renderer) raw(n ast.Node) []string {
	var lines []string
	segments := n.Lines()
	for i := range segments.Len() {
		at := segments.At(i)
		lines = append(lines, strings.TrimRight(string(at.Value(r.source)), "\n"))
	}
	if html, ok := n.(*ast.HTMLBlock); ok && html.HasClosure() {
		lines = append(lines, strings.TrimRight(string(html.ClosureLine.Value(r.source)), "\n"))
	}
	return lines
}

func (r *renderer) heading(n *ast.Heading) []span {
	spans := r.inline(n)
	if !r.color {
		return append([]span{{text: strings.Repeat("#", n.Level) + " "}}, spans...)
	}
	looks := styleBold
	if n.Level <= 2 {
		looks = styleTitle
	}
	for i := range spans {
		spans[i].style = plaintext.Join(";", looks, spans[i].style)
	}
	return spans
}
