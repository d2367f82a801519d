package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// underlined parses headings that are underlined. A line of dashes below a table is none, as on
// GitHub: with goldmark's own parser, the text before the table would become a heading after it.
type underlined struct{ parser.BlockParser }

// Open implements [parser.BlockParser].
func (u underlined) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	p, _ := pc.LastOpenedBlock().Node.(*ast.Paragraph)
	heading, state := u.BlockParser.Open(parent, reader, pc)
	if heading != nil && hasTable(p, reader, pc) {
		return nil, parser.NoChildren
	}
	return heading, state
}

// tabled is the key of the paragraph that was last seen to have a table.
var tabled = parser.NewContextKey()

// hasTable reports whether two lines of a paragraph are the beginning of a table.
func hasTable(p *ast.Paragraph, reader text.Reader, pc parser.Context) bool {
	if pc.Get(tabled) == p {
		return true
	}
	lines := p.Lines()
	for i := 1; i < lines.Len(); i++ {
		doc, head := ast.NewDocument(), ast.NewParagraph()
		doc.AppendChild(doc, head)
		head.Lines().Append(lines.At(i - 1))
		head.Lines().Append(lines.At(i))
		extension.NewTableParagraphTransformer().Transform(head, reader, parser.NewContext())
		if doc.FirstChild() != ast.Node(head) {
			pc.Set(tabled, p)
			return true
		}
	}
	return false
}
