package markdownpolicy_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// ollamaLine is a test case of Ollama. Its fields differ from test to test.
type ollamaLine struct {
	File, Func string
	N          int
	Case       json.RawMessage
}

// ollamaCase holds the fields of all tests. Equal fields of several tests are one field.
type ollamaCase struct {
	Tmpl struct {
		Ident string `json:"_ident"`
	}
	Inputs []string
	Chunks []string
	Input  looseText
	Steps  []ollamaStep

	Content, Buffer looseText // for tests of a part of a parser: its input
	RawToolCall     looseText
	Xml, Raw        looseText

	Calls, ExpectedCalls, ExpectedToolCalls ollamaCalls
	Expected, WantToolCall                  ollamaCalls
	ExpectedContent, ExpectedText           string
	ExpectedThinking                        string
	Want                                    any
	WantKeys, WantValues                    []string

	HasThinking, HasThinkingSupport, Think bool
	ThinkValue                             struct{ Value bool }
	PrefillMsg                             *struct{ Content string }
	Tag, Tool                              string
	Tools                                  json.RawMessage
}

type ollamaStep struct {
	Input       string
	WantContent string
	WantEvents  []struct {
		Type     string `json:"_type"`
		Content  string
		Raw      *string
		Name     string
		Args     string
		Thinking string
	}
}

// looseText is a string. Any other JSON value becomes "": it stands for an empty text, or for one
// that the corpus does not have.
type looseText string

func (s *looseText) UnmarshalJSON(data []byte) error {
	var v string
	_ = json.Unmarshal(data, &v)
	*s = looseText(v)
	return nil
}

// ollamaCalls are calls, or one call. Arguments given as a string are JSON.
type ollamaCalls []corpusCall

func (c *ollamaCalls) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("[")) {
		data = slices.Concat([]byte("["), data, []byte("]"))
	}
	var calls []*struct {
		Function struct {
			Name      string
			Arguments any
		}
	}
	if err := json.Unmarshal(data, &calls); err != nil {
		return err
	}
	for _, call := range calls {
		if call == nil || call.Function.Name == "" && call.Function.Arguments == nil {
			continue
		}
		arguments := call.Function.Arguments
		if s, ok := arguments.(string); ok {
			if err := json.Unmarshal([]byte(s), &arguments); err != nil {
				return err
			}
		}
		*c = append(*c, corpusCall{call.Function.Name, arguments})
	}
	return nil
}

func ollamaCases(t *testing.T, from corpus) (cases []corpusCase) {
	for _, l := range corpusLines[ollamaLine](t, from, "cases/ollama-tooltext.jsonl") {
		cases = append(cases, ollamaCorpusCase(t, l))
	}
	return cases
}

// ollamaCorpusCase says how each test of Ollama is read here.
func ollamaCorpusCase(t *testing.T, l ollamaLine) corpusCase {
	if l.Func == "TestParseOlmo3Value" {
		l.Case, l.Func = olmoValue(t, l.Case), "value"
	}
	var o ollamaCase
	require.NoError(t, json.Unmarshal(l.Case, &o), "%s %d", l.Func, l.N)
	o.restore(l)
	c := corpusCase{
		pieces: slices.Concat(o.Inputs, o.Chunks, []string{string(o.Input)}),
		calls:  slices.Concat(o.Calls, o.ExpectedCalls, o.ExpectedToolCalls, o.Expected, o.WantToolCall),
		text:   string(o.Content) + o.ExpectedContent + o.ExpectedText,
	}
	c.id = fmt.Sprintf("ollama-tooltext %s %s %d", strings.TrimSuffix(l.File, "_test.go"), strings.TrimPrefix(l.Func, "Test"), l.N)
	var options markdownpolicy.Options
	hermes := markdownpolicy.Hermes
	if d, ok := ollamaDialects[l.File]; ok {
		hermes = d.dialect
	}
	if o.thinks(l.File) {
		hermes.Thoughts = markdownpolicy.ThoughtsOpen
	}
	c.policy = hermes
	switch l.File {
	case "tools_test.go":
		o.template(&c, l.Func, options)
	case "ministral_test.go":
		c.policy = markdownpolicy.Mistral.With(options)
		if o.events(&c); o.Think { // their template ends with the mark
			c.pieces = slices.Insert(c.pieces, 0, "[THINK]")
		}
	case "parser_test.go":
		c.policy = markdownpolicy.Think{Policy: hermes, Start: markdownpolicy.ThoughtsTagged}
		o.events(&c)
	case "qwen3vl_nonthinking_test.go":
		c.policy = thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsNone)
		o.events(&c)
	default:
		o.events(&c)
		o.bodies(t, &c)
		switch {
		case strings.HasSuffix(l.Func, "Content"):
			o.body(&c, l.File, o.Content)
		case l.Func == "TestParseOlmo3FunctionCalls" || l.Func == "value":
			o.body(&c, l.File, o.Input)
		}
	}
	return c
}

// restore adds what the corpus lost of a case: the minus sign of an expected number, and a text
// that their test computes.
func (o *ollamaCase) restore(l ollamaLine) {
	switch fmt.Sprint(strings.TrimPrefix(l.Func, "Test"), " ", l.N) {
	case "LFM2Parser_parseToolCallsContent 19":
		o.Expected[0].arguments = map[string]any{"offset": -10.0}
	case "value 3":
		o.ExpectedCalls[0].arguments = map[string]any{"v": -10.0}
	case "FindArguments 30":
		data := strings.Repeat("a{b}c", 100)
		o.Buffer, o.Want = looseText(`{"name": "test", "arguments": {"data": "`+data+`"}}`), map[string]any{"data": data}
	}
}

// objectFinder reads a text with FindObject: the object becomes the arguments of a call without a
// name.
type objectFinder struct{ markdownpolicy.Policy }

func (objectFinder) ParseResponse(text string) (doc markdownpolicy.Document, _ error) {
	if object, ok := markdownpolicy.FindObject(text); ok {
		doc.Parts = []markdownpolicy.Part{{Content: messages.ToolCall{Arguments: object}}}
	}
	return doc, nil
}

// ollamaDialects are the dialects of the parsers that have one, and their marks around a call.
var ollamaDialects = map[string]struct {
	dialect     markdownpolicy.Format
	open, close string
}{
	"cogito_test.go":        {markdownpolicy.LooseDeepSeek, "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"},
	"deepseek3_test.go":     {markdownpolicy.LooseDeepSeek, "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"},
	"lfm2_test.go":          {markdownpolicy.LFM, "<|tool_call_start|>", "<|tool_call_end|>"},
	"olmo3_test.go":         {markdownpolicy.Olmo, "<function_calls>", "</function_calls>"},
	"functiongemma_test.go": {markdownpolicy.FunctionGemma, "", ""},
	"glm46_test.go":         {markdownpolicy.Hermes, "<tool_call>", "</tool_call>"},
	"qwen3coder_test.go":    {markdownpolicy.Hermes, "<tool_call>", "</tool_call>"},
}

// thinks reports whether a reply begins within a thought.
func (o ollamaCase) thinks(file string) bool {
	return o.HasThinking || o.HasThinkingSupport || o.ThinkValue.Value ||
		file == "cogito_test.go" && o.ExpectedThinking != "" || file == "qwen3vl_thinking_test.go" && o.PrefillMsg == nil
}

// body puts the marks of a call around the input of a part of a parser.
func (o ollamaCase) body(c *corpusCase, file string, held looseText) {
	marks := ollamaDialects[file]
	c.pieces = []string{marks.open + strings.TrimSuffix(strings.TrimPrefix(string(held), marks.open), marks.close) + marks.close}
	c.anyText = true
}

// template reads the cases of the template-based parser and of the functions below it.
func (o ollamaCase) template(c *corpusCase, test string, options markdownpolicy.Options) {
	options.Tools = definitions(map[string][]string{
		"get_temperature": nil, "get_conditions": nil, "say_hello": nil, "say_hello_world": nil, "get_address": nil, "add": nil,
	})
	if test == "TestParser" { // it is more lenient than the functions below it
		options.Mode = markdownpolicy.ModeRepair
	}
	hermes := thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsNone).With(options)
	deepseek := thinking(markdownpolicy.LooseDeepSeek, markdownpolicy.ThoughtsNone).With(options)
	c.policy = map[string]markdownpolicy.Policy{
		"qwen": hermes, "deepseek": deepseek, "mistral": markdownpolicy.Mistral.With(options),
		"json": markdownpolicy.Llama.With(options), "list": markdownpolicy.Mistral.With(options),
	}[o.Tmpl.Ident]
	c.streamed = true
	switch test {
	case "TestContent": // the part of a text that is text at the end
		c.streamed = false
		c.policy, c.pieces = markdownpolicy.Llama.With(options), []string{string(o.Content)}
		if o.Tag == "<tool_call>" {
			c.policy = hermes
		}
		c.text, _ = o.Want.(string)
	case "TestFindArguments": // the arguments of the first call
		c.anyName, c.anyText, c.first = true, true, true
		c.pieces, c.text = []string{string(o.Buffer)}, ""
		switch buffer := string(o.Buffer); {
		case strings.HasPrefix(buffer, "<"):
			c.policy = deepseek
		case o.Tool != "" || strings.Contains(buffer, `"name"`):
			c.policy, c.pieces = hermes, []string{"<tool_call>" + buffer + "</tool_call>"}
		case !strings.HasPrefix(buffer, "{"): // text around the arguments
			c.policy = objectFinder{}
		default:
			c.policy, c.pieces = markdownpolicy.Mistral.With(options), []string{"[TOOL_CALLS]f[ARGS]" + buffer}
		}
		if o.Want != nil {
			c.calls = []corpusCall{{"", o.Want}}
		}
	}
}

// events sets what their parser returns for each piece. If it returns the body of a call that is
// not of any model, such as "abc", the case gets a call as JSON with that body as its arguments.
func (o ollamaCase) events(c *corpusCase) {
	if o.Steps == nil {
		return
	}
	c.pieces, c.streamed = nil, true
	hermes, _ := c.policy.(markdownpolicy.Format)
	var raws []string
	for _, s := range o.Steps {
		c.pieces = append(c.pieces, s.Input)
		c.text += s.WantContent
		for _, e := range s.WantEvents {
			switch {
			case e.Raw != nil:
				raws = append(raws, *e.Raw)
			case e.Name != "":
				var arguments any
				_ = json.Unmarshal([]byte(e.Args), &arguments)
				c.calls = append(c.calls, corpusCall{e.Name, arguments})
			case e.Content == "</think>" && len(raws) > 0 && hermes.Thoughts == markdownpolicy.ThoughtsOpen: // is left out here
			case !strings.HasSuffix(e.Type, "ThinkingContent"):
				c.text += e.Content
			}
		}
	}
	if len(raws) == 0 {
		return
	}
	rest := strings.Join(c.pieces, "")
	var b strings.Builder
	for _, raw := range raws {
		before, after, _ := strings.Cut(rest, "<tool_call>")
		_, after, _ = strings.Cut(after, "</tool_call>")
		var call bytes.Buffer
		e := json.NewEncoder(&call)
		e.SetEscapeHTML(false)
		_ = e.Encode(map[string]any{"name": "raw", "arguments": map[string]string{"body": raw}})
		b.WriteString(before + "<tool_call>" + call.String() + "</tool_call>")
		c.calls = append(c.calls, corpusCall{"raw", map[string]any{"body": raw}})
		rest = after
	}
	c.pieces = strings.SplitAfter(b.String()+rest, "l") // anywhere
}

// bodies reads the cases for the text between the tags of Qwen-Coder and GLM.
func (o ollamaCase) bodies(t *testing.T, c *corpusCase) {
	switch {
	case o.Xml != "":
		o.body(c, "glm46_test.go", o.Xml)
		arguments := map[string]any{}
		for i, key := range o.WantKeys {
			arguments[key] = o.WantValues[i]
		}
		c.calls = []corpusCall{{"function_name", arguments}}
	case o.RawToolCall != "":
		o.body(c, "glm46_test.go", o.RawToolCall)
		if strings.Contains(string(o.Tools), "_unresolved") { // the corpus does not have the tools: they are derived from what is expected
			hermes := c.policy.(markdownpolicy.Format)
			hermes.Tools = typedAs(t, c.calls[0])
			c.policy = hermes
		}
	case o.Raw != "": // they convert it to XML, with the names as attributes
		o.body(c, "glm46_test.go", o.Raw)
		var function struct {
			Name      string `xml:"name,attr"`
			Parameter []struct {
				Name string `xml:"name,attr"`
				Text string `xml:",chardata"`
			} `xml:"parameter"`
		}
		require.NoError(t, xml.Unmarshal([]byte(o.Want.(string)), &function))
		arguments := map[string]any{}
		for _, p := range function.Parameter {
			arguments[p.Name] = strings.TrimSpace(p.Text)
		}
		c.calls = []corpusCall{{function.Name, arguments}}
	}
}

// olmoValue returns a call with the value as its argument.
func olmoValue(t *testing.T, line json.RawMessage) json.RawMessage {
	var value []any
	require.NoError(t, json.Unmarshal(line, &value))
	call := map[string]any{"Function": map[string]any{"Name": "f", "Arguments": map[string]any{"v": value[2]}}}
	made, err := json.Marshal(map[string]any{"input": fmt.Sprintf("f(v=%s)", value[1]), "expectedCalls": []any{call}})
	require.NoError(t, err)
	return made
}

// definitions returns tools with these names and string parameters.
func definitions(parameters map[string][]string) (defs []tools.Definition) {
	for name, names := range parameters {
		properties := map[string]any{}
		for _, p := range names {
			properties[p] = map[string]string{"type": "string"}
		}
		defs = append(defs, definition(name, properties))
	}
	return defs
}

// typedAs returns a tool whose parameters have the types of the call's arguments.
func typedAs(t *testing.T, call corpusCall) []tools.Definition {
	properties := map[string]any{}
	for name, value := range call.arguments.(map[string]any) {
		kind := map[string]string{"float64": "number", "bool": "boolean", "[]interface {}": "array", "string": "string"}[fmt.Sprintf("%T", value)]
		require.NotEmpty(t, kind)
		properties[name] = map[string]string{"type": kind}
	}
	return []tools.Definition{definition(call.name, properties)}
}

func definition(name string, properties map[string]any) tools.Definition {
	schema, _ := json.Marshal(map[string]any{"type": "object", "properties": properties})
	return tools.Definition{Name: name, Parameters: schema}
}
