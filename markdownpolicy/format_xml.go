package markdownpolicy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// XML is a format that uses only tags:
// <tool_call><name>…</name><arguments>{…}</arguments></tool_call>, with the arguments as a JSON
// object, and thoughts between <think> and </think>. Unlike in XML, nothing is escaped: entities
// are not decoded. Results are written between <tool_result> and </tool_result>.
//
// If Options.Tools are given, XML also reads calls in tags with the names of a tool and its
// parameters, such as <read_file><path>main.go</path></read_file>. A parameter ends at the first
// closing tag that is followed by another parameter of the tool, or by the end of the tool. Its
// text may hold any tags, with one exception: the opening tag of a parameter that the call has
// nowhere else, without the closing tag, is an error, because one of two closing tags is missing.
// Each parameter gets the type that its schema allows, or else is a string. The tag <read_file/> is
// a call without parameters, if the tool requires none and the tag is not in a code span or block,
// in a line that is indented as code, or quoted. So is <function=read_file>…</function>, as
// [Hermes] reads it.
//
// At the end of the text, closing tags may be missing, except the tag of a parameter that is not
// JSON, because the parameter may be cut off. A thought without a closing tag extends to the end.
var XML = Format{row: &row{
	name: "xml",
	told: `You can call tools. Write each call between <tool_call> and </tool_call>: the name of the tool between <name> and </name>, then the ` +
		`arguments between <arguments> and </arguments>, as a JSON object that fits the schema of the tool. Escape in it what JSON escapes, and nothing else. You can make several calls, one after the other. ` + showInstead,
	results: taggedResults("tool_result"),
	syntax:  func(f Format) syntax { return f.xmlSyntax() },
	write: func(f Format, parts []messages.AssistantContent) string {
		return f.xmlSyntax().render(parts, thoughtTags, func(c messages.ToolCall) string {
			arguments := string(appendArguments(nil, c.Arguments))
			if arguments[0] != '{' { // an object ends at its last bracket, other values end at the tag
				arguments = strings.ReplaceAll(arguments, "<", `\u003c`)
			}
			return "<tool_call>\n<name>" + c.Name + "</name>\n<arguments>" + arguments + "</arguments>\n</tool_call>"
		})
	},
}}

func (o Options) xmlSyntax() tagSyntax {
	reused := new(elementBlock) // only one is used at a time
	ends, shown := childEnds{}, new(commonmark.Shown)
	tags := []tag{thoughtTags.thought(), {"<tool_call>", func(start, after int) block {
		e := element{name: "tool_call", closing: "</tool_call>", start: start, after: after, pos: after, children: []string{"name", "arguments"}, json: "arguments", ends: ends, noRepair: o.Mode == ModeText}
		e.scan = reused.scan // reuses its memory
		e.scan.Begin(after)
		*reused = elementBlock{element: e, mode: o.Mode, call: o.readXML}
		return reused
	}}}
	for _, d := range o.Tools {
		if d.Name == "tool_call" || d.Name == "think" {
			continue
		}
		schema := o.properties(d.Name)
		children := slices.Sorted(maps.Keys(schema)) // so that an error names the same one each time
		closing, ends := "</"+d.Name+">", childEnds{}
		for _, mark := range []string{"<" + d.Name + "/>", "<" + d.Name + " />"} {
			tags = append(tags, tag{mark, func(start, after int) block {
				return emptyElement{name: d.Name, start: start, after: after, lacks: o.requires(d.Name), shown: shown}
			}})
		}
		tags = append(tags, tag{"<" + d.Name + ">", func(start, after int) block {
			e := element{name: d.Name, closing: closing, start: start, after: after, pos: after, children: children, ends: ends}
			*reused = elementBlock{element: e, mode: o.Mode, textWithoutChildren: true, call: func(fields []field) (Part, []Repair, *ParseError) {
				return readNamed(d.Name, start, fields, schema)
			}}
			return reused
		}})
	}
	return newTagSyntax(append(tags, o.functionTags(new(int))...)...)
}

// emptyElement is the tag of an element that is its own end.
type emptyElement struct {
	name         string
	start, after int
	lacks        bool // the tool requires parameters
	shown        *commonmark.Shown
}

func (e emptyElement) read(text string, _ bool) verdict {
	if e.lacks || e.shown.At(text, e.start) {
		return verdict{kind: isText, end: e.after}
	}
	part := callAt(e.start, e.name, "{}")
	part.End = e.after
	return verdict{kind: isParts, end: e.after, parts: []Part{part}}
}

// readXML makes a call from a name and arguments.
func (o Options) readXML(fields []field) (Part, []Repair, *ParseError) {
	var name, arguments field
	for _, f := range fields {
		if f.name == "name" {
			name = f
		} else {
			arguments = f
		}
	}
	called := textscan.Trim(name.text)
	if called == "" || strings.ContainsAny(called, "<\n") {
		return Part{}, nil, broken(name.at, "the name of a tool between <name> and </name>", called, nil)
	}
	text := textscan.Trim(arguments.text)
	at := arguments.at + strings.Index(arguments.text, text)
	read := func() (string, []Repair, *ParseError) { return readObject(text, at, o.Mode) }
	if text == "" || text == "null" || text[0] == '"' && json.Valid([]byte(text)) {
		read = func() (string, []Repair, *ParseError) { return readArguments(text, at, o.Mode) }
	}
	object, repairs, err := read()
	if err != nil {
		err.Expected = `the arguments of "` + called + `" as a JSON object between <arguments> and </arguments>`
		return Part{}, nil, err
	}
	return callAt(0, called, object), repairs, nil
}

// readNamed makes a call from parameters in tags of their own.
func readNamed(name string, at int, fields []field, schema map[string]property) (Part, []Repair, *ParseError) {
	arguments := make([]argument, len(fields))
	for i, f := range fields {
		arguments[i] = argument{name: f.name, text: trimLines(f.text)}
	}
	return callAt(at, name, argumentsObject(arguments, schema, property{})), nil, nil
}
