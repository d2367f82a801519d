package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// Position is a position in a file; both numbers start at 1.
type Position struct{ Line, Column int }

// positions holds the positions of values by JSON pointer; for a member of a mapping, the position
// of its key.
type positions map[string]Position

// of returns the position of a value, or of the nearest enclosing value.
func (p positions) of(pointer string) Position {
	for {
		if at, ok := p[pointer]; ok {
			return at
		}
		if pointer == "" {
			return Position{1, 1}
		}
		pointer = pointer[:max(0, strings.LastIndexByte(pointer, '/'))]
	}
}

// The escapes of a JSON pointer (RFC 6901).
var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// within returns the pointer of a part of a value.
func within(pointer string, part any) string { return pointer + "/" + escape.Replace(fmt.Sprint(part)) }

// Problem is one problem of a file. Its text quotes names, but no values.
type Problem struct {
	Pointer string // the JSON pointer (RFC 6901) of the value; "" means the whole file
	At      Position
	Text    string // description of the problem, in one line
}

// String returns line, column and path, followed by the text.
func (p Problem) String() string {
	where := fmt.Sprintf("%d:%d: ", p.At.Line, p.At.Column)
	if p.Pointer != "" {
		where += pathOf(p.Pointer) + ": "
	}
	return where + p.Text
}

// pathOf converts a JSON pointer to a path for people: agents.planner.children[0].agent.
func pathOf(pointer string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if _, err := strconv.Atoi(part); err == nil && b.Len() > 0 {
			b.WriteString("[" + part + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(shown(unescape.Replace(part)))
	}
	return b.String()
}

// shown returns a key for a path. If the space after the key's colon is missing, the value is part
// of the key: shown omits that part.
func shown(key string) string {
	if i := strings.IndexAny(key, ":="); i >= 0 {
		key = key[:i+1] + "…"
	}
	return plaintext.OneLine(key)
}

// readYAML reads a YAML document whose values have a JSON form.
func readYAML(text []byte) (any, positions, []Problem) {
	if p, is := foreign(text); is {
		return nil, nil, []Problem{p}
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if p, large := tooLarge(text); large {
		return nil, nil, []Problem{p}
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, nil, []Problem{syntaxProblem(err)}
	}
	r := &yamlReader{at: positions{"": {1, 1}}}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	switch len(bodies) {
	case 0:
		return nil, r.at, []Problem{{At: Position{1, 1}, Text: "the file is empty"}}
	case 1:
		value := r.value("", bodies[0])
		return value, r.at, r.problems
	default:
		return nil, r.at, []Problem{{At: placeOf(bodies[1]), Text: "the file holds more than one document"}}
	}
}

// Limits of a file. Time and memory for reading grow with the square of the depth, and with the
// square of the number of tokens.
const (
	maxDepth  = 100 // levels that begin in one line or in brackets
	maxTokens = 10_000
)

// tooLarge returns the position at which a text exceeds a limit. Levels by indentation need no
// limit: the length of their text grows with their square too.
func tooLarge(text []byte) (Problem, bool) {
	open, line, begun := 0, 0, 0 // open brackets, line number, levels begun in this line
	for i, t := range lexer.Tokenize(string(text)) {
		if t.Position.Line != line {
			line, begun = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			open++
		case token.MappingEndType, token.SequenceEndType:
			open = max(0, open-1)
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			begun++
		default:
		}
		at := Position{t.Position.Line, t.Position.Column}
		if open+begun > maxDepth {
			return Problem{At: at, Text: fmt.Sprintf("this is more than %d levels deep", maxDepth)}, true
		}
		if i >= maxTokens {
			return Problem{At: at, Text: fmt.Sprintf("the file has more than %d words and marks", maxTokens)}, true
		}
	}
	return Problem{}, false
}

// syntaxProblem converts an error of the parser to a problem, without any text of the file.
func syntaxProblem(err error) Problem {
	p := Problem{At: Position{1, 1}, Text: "it is not YAML"}
	if e, ok := errors.AsType[yaml.Error](err); ok {
		p.Text += ": " + unquoted(e.GetMessage())
		if t := e.GetToken(); t != nil && t.Position != nil {
			p.At = Position{t.Position.Line, t.Position.Column}
		}
	}
	return p
}

// unquoted returns a message of the parser, or a replacement if the message quotes the file: the
// parser uses double quotes only for text of the file.
func unquoted(message string) string {
	switch {
	case strings.HasPrefix(message, "mapping key"):
		if first := definedAt.FindStringSubmatch(message); first != nil {
			return twiceSince(first[1])
		}
		return "the key is there twice"
	case strings.HasPrefix(message, "value is not allowed in this context"):
		return "this does not belong here: see whether the lines are indented alike"
	case strings.Contains(message, "'\t'"):
		return "a tab stands where only blanks may: indent with blanks"
	case strings.HasPrefix(message, "invalid header option"):
		return "after | and > the text begins on the next line"
	case strings.HasSuffix(message, "is a reserved character"):
		return "a text that begins with this character needs quotes"
	case strings.Contains(message, `"`):
		return "this cannot be read"
	default:
		return plaintext.OneLine(message)
	}
}

// definedAt matches where a key is the first time, as the parser says it.
var definedAt = regexp.MustCompile(`already defined at \[(\d+):\d+\]$`)

func twiceSince(line string) string {
	return "the key is there twice, first in line " + line + ": keep one of them"
}

// yamlReader converts YAML nodes to JSON values.
type yamlReader struct {
	at       positions
	problems []Problem
}

func (r *yamlReader) refuse(pointer string, n ast.Node, text string) {
	r.problems = append(r.problems, Problem{pointer, placeOf(n), text})
}

// value returns a node as encoding/json would decode it.
func (r *yamlReader) value(pointer string, n ast.Node) any {
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(pointer, n.Values)
	case *ast.MappingValueNode:
		return r.mapping(pointer, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, item := range n.Values {
			own := within(pointer, i)
			r.at[own] = placeOf(item)
			list[i] = r.value(own, item)
		}
		return list
	case *ast.StringNode:
		return r.text(pointer, n)
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.IntegerNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	case *ast.BoolNode:
		return n.Value
	case nil, *ast.NullNode:
		return nil
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		r.refuse(pointer, n, "anchors and aliases are not supported; write it out")
	case *ast.TagNode:
		r.refuse(pointer, n, "tags are not supported")
	default:
		r.refuse(pointer, n, "this is no value that JSON has")
	}
	return nil
}

// text returns the value of a string. The parser returns some numbers as strings: large ones, and
// those with an exponent but no point. text converts these to numbers.
func (r *yamlReader) text(pointer string, n *ast.StringNode) any {
	switch {
	case n.Token.Type != token.StringType || !numberForm.MatchString(n.Value):
		return n.Value
	case strings.ContainsAny(n.Value, ".eE"):
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			r.refuse(pointer, n, "the number is too large")
		}
		return f
	default:
		return json.Number(n.Value)
	}
}

// numberForm matches numbers in JSON.
var numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

func (r *yamlReader) mapping(pointer string, values []*ast.MappingValueNode) any {
	members := make(map[string]any, len(values))
	for _, v := range values {
		key, ok := keyOf(v.Key)
		if !ok {
			r.refuse(pointer, v.Key, "a key must be a word; merge keys and keys of several parts are not supported")
			continue
		}
		own := within(pointer, key)
		if _, twice := members[key]; twice {
			r.refuse(own, v.Key, twiceSince(strconv.Itoa(r.at[own].Line)))
			continue
		}
		r.at[own] = placeOf(v.Key)
		members[key] = r.value(own, v.Value)
	}
	return members
}

func keyOf(n ast.MapKeyNode) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return n.GetToken().Value, true
	default:
		return "", false
	}
}

// placeOf returns the position at which a node begins.
func placeOf(n ast.Node) Position {
	var t *token.Token
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return placeOf(n.Values[0])
		}
		t = n.Start
	case *ast.MappingValueNode:
		return placeOf(n.Key)
	default:
		t = n.GetToken()
	}
	if t == nil || t.Position == nil {
		return Position{1, 1}
	}
	return Position{t.Position.Line, t.Position.Column}
}

// inOrder sorts problems by position, and keeps only the first one of each value: later ones are
// consequences of the first.
func inOrder(problems []Problem) []Problem {
	seen := map[string]bool{}
	kept := slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool {
		twice := seen[p.Pointer]
		seen[p.Pointer] = p.Pointer != ""
		return twice
	})
	byPlace(kept)
	return kept
}

// byPlace sorts problems by position.
func byPlace(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if a.At.Line != b.At.Line {
			return a.At.Line - b.At.Line
		}
		return a.At.Column - b.At.Column
	})
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
