package markdownpolicy

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Hermes is the format that Hermes, Qwen and many other open models were trained on. A call is a
// JSON object with "name" and "arguments" between <tool_call> and </tool_call>. Thoughts are
// between <think> and </think>. The zero value is ready to use. See
// https://github.com/NousResearch/Hermes-Function-Calling.
//
// Between the tags, Hermes also reads what other models write there: several objects, an array of
// objects, the parameters of Qwen3-Coder
// (<function=name><parameter=key>value</parameter></function>), the same with a JSON object in
// place of the parameters, the pairs of GLM-4.5 and later
// (name<arg_key>key</arg_key><arg_value>value</arg_value>), calls in Python syntax, and an object in
// a code block. Values without a type get a type that the schema in Options.Tools allows, or else
// become strings. Calls are always written as JSON. Text in a call that is neither an argument nor
// known to be harmless is an error. Tags within a value are part of it, with those of whole calls.
//
// If Options.Tools are given, the name of a known tool and a JSON object between the tags are a
// call, and <function=name>…</function> of a known tool is a call without the tags around it, too,
// unless it is in a code span or block, in a line that is indented as code, or quoted.
//
// A call without a closing tag is accepted at the end of the text, if its JSON is complete. A
// thought without a closing tag extends to the end. A call in a thought is part of the thought,
// with two exceptions: the thought has no closing tag, or it ends with the call and is the end of
// the reply. So such a call is known only at the end of the reply.
type Hermes struct {
	Options
	Dialect  Dialect  // the marks around a call; "" is DialectHermes
	Thoughts Thoughts // "" is ThoughtsTagged
}

// Thoughts says how a model writes its thoughts.
type Thoughts string

// The ways to write thoughts.
const (
	ThoughtsTagged Thoughts = "tagged" // between <think> and </think>
	ThoughtsOpen   Thoughts = "open"   // the prompt ends with <think>, so a reply begins within a thought
	ThoughtsAny    Thoughts = "any"    // either: text before a first </think> is a thought; nothing is released before the first of these tags
	ThoughtsNone   Thoughts = "none"   // never: <think> is text, and past thoughts are not rendered
)

// hermesForm is the form of a call as JSON.
var hermesForm = callForm{name: "name", arguments: "arguments", others: []string{"parameters"}}

// Name implements [Namer].
func (Hermes) Name() string { return "hermes" }

// WithTools implements [Tooled].
func (h Hermes) WithTools(defs []tools.Definition) Policy {
	h.Options = h.withTools(defs)
	return h
}

// ParseResponse implements [Policy].
func (h Hermes) ParseResponse(text string) (Document, error) { return parse(h.NewParser(), text) }

// NewParser implements [Streamer].
func (h Hermes) NewParser() Parser { return newMarkParser(h.Name(), h.Mode, h.syntax()) }

// Render implements [Renderer].
func (h Hermes) Render(parts []messages.AssistantContent) string {
	marks := h.Dialect.marks()
	if h.Thoughts == ThoughtsNone {
		parts = slices.DeleteFunc(slices.Clone(parts), isThought)
	}
	text := h.syntax().render(parts, h.Thoughts.marks(h.begins()), func(c messages.ToolCall) string {
		return marks.open + "\n" + hermesForm.write(c) + "\n" + marks.close
	})
	if h.Thoughts == ThoughtsOpen && text != "" && !strings.HasPrefix(text, thoughtTags.open) {
		text = thoughtTags.write("") + "\n" + text
	}
	return text
}

func isThought(c messages.AssistantContent) bool {
	_, ok := c.(messages.Thought)
	return ok
}

// FormatQuery implements [Policy]. Results are written between <tool_response> and
// </tool_response>.
func (h Hermes) FormatQuery(history messages.History) (messages.History, error) {
	return formatQuery(history, h.Render, taggedResults("tool_response"))
}

// FormatInstructions implements [Policy].
func (h Hermes) FormatInstructions(defs []tools.Definition) string {
	marks := h.Dialect.marks()
	return instruct(`You can call tools. Write each call as a JSON object with the keys "name" and "arguments" between `+marks.open+` and `+marks.close+
		`. "arguments" is an object that fits the schema of the tool. You can make several calls, one after the other. `+showInstead, h.examples(), defs)
}

func (h Hermes) examples() []example { return workedExamples(h.Render) }

// begins returns the marks that begin calls.
func (h Hermes) begins() (marks []string) {
	for _, call := range h.Dialect.pairs() {
		marks = append(marks, call.open)
	}
	if len(h.Tools) > 0 {
		marks = append(marks, functionMark)
	}
	return marks
}

func (h Hermes) syntax() *hermesSyntax {
	var tags []tag
	closing, refused := []string{functionEnd}, new(int)
	if h.Dialect == DialectDeepSeek {
		closing = append(closing, deepSeekEnds...)
	}
	for _, marks := range h.Dialect.pairs() {
		ends := finders(marks.close)
		closing = append(closing, marks.close)
		tags = append(tags, tag{marks.open, func(start, after int) block {
			return &callBlock{Options: h.Options, start: start, after: after, ends: ends, refused: refused}
		}})
	}
	tags = slices.Concat(tags, h.functionTags(refused), h.Dialect.leftOut(), stopping("<|im_end|>", "<|endoftext|>"))
	return h.Thoughts.thinking(h.Options, h.begins(), closing, tags...)
}

// Dialect names a family of models by the marks that it writes around a call. [Hermes] reads them
// all.
type Dialect string

// The dialects. Marks around a list of calls, and marks at the end of a reply, are left out of the
// text.
const (
	DialectHermes   Dialect = "hermes"   // <tool_call>: Hermes, Qwen, Qwen-Coder, GLM, Nemotron
	DialectDeepSeek Dialect = "deepseek" // <｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}: DeepSeek V3 and R1, Cogito
	DialectLFM      Dialect = "lfm"      // <|tool_call_start|>[name(key="value")]: LFM2
	DialectOlmo     Dialect = "olmo"     // <function_calls>name(key="value"), a call on each line: OLMo 3
	DialectGemma    Dialect = "gemma"    // <start_function_call>call:name{key:<escape>value<escape>}: FunctionGemma
)

// deepSeekSeparators are the marks between the name and the arguments of a call.
var deepSeekSeparators = []string{"<｜tool▁sep｜>", "<|tool▁sep|>"}

// marks returns the marks that the dialect writes around a call.
func (d Dialect) marks() tagPair { return d.pairs()[0] }

// pairs returns the marks that the dialect accepts around a call.
func (d Dialect) pairs() []tagPair {
	switch d {
	case DialectDeepSeek:
		marks := tagPair{open: "<｜tool▁call▁begin｜>", close: "<｜tool▁call▁end｜>"}
		return []tagPair{marks, {open: asciiBars(marks.open), close: asciiBars(marks.close)}}
	case DialectLFM:
		return []tagPair{{open: "<|tool_call_start|>", close: "<|tool_call_end|>"}}
	case DialectOlmo:
		return []tagPair{{open: "<function_calls>", close: "</function_calls>"}}
	case DialectGemma:
		return []tagPair{{open: "<start_function_call>", close: "<end_function_call>"}}
	default:
		return []tagPair{{open: "<tool_call>", close: "</tool_call>"}}
	}
}

// leftOut returns the tags of what is left out of the text: marks without a meaning, and results
// that the model hallucinated.
func (d Dialect) leftOut() (tags []tag) {
	if d != DialectDeepSeek {
		return nil
	}
	for _, name := range []string{"tool▁calls▁begin", "tool▁calls▁end", "tool▁output▁begin", "tool▁output▁end", "end▁of▁sentence"} {
		mark := "<｜" + name + "｜>"
		tags = append(tags, dropped(mark), dropped(asciiBars(mark)))
	}
	for _, bar := range []string{"｜", "|"} {
		marks := tagPair{open: "<" + bar + "tool▁outputs▁begin" + bar + ">", close: "<" + bar + "tool▁outputs▁end" + bar + ">"}
		held := marks.thought()
		tags = append(tags, tag{marks.open, func(start, after int) block {
			return omittedBlock{held.begin(start, after)}
		}})
	}
	return tags
}

// omittedBlock drops the text between two marks.
type omittedBlock struct{ block }

func (b omittedBlock) read(text string, final bool) verdict {
	v := b.block.read(text, final)
	v.parts = nil
	return v
}

// asciiBars returns a mark with ASCII bars, which some templates write.
func asciiBars(mark string) string { return strings.ReplaceAll(mark, "｜", "|") }
