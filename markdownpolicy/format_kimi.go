package markdownpolicy

import (
	"strconv"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Kimi is the format of Kimi K2 and K2 Thinking. The calls of a reply are in one section; each has
// an id with the name of the tool and a number that counts the calls of the conversation from 0,
// and a JSON object with the arguments:
//
//	<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|><|tool_calls_section_end|>
//
// A result follows a line with the id of its call. Thoughts are between <think> and </think>; those
// of finished work are not told again. The zero value is ready to use.
//
// A call may stand without its section, its id without the number, and the arguments may be missing
// if there are none. A call without its end mark is accepted at the end of the text, if its JSON is
// complete.
//
// The marks are special tokens, which servers may take away. If Options.Tools has the tool, a call
// is also read without them: functions.get_weather:0{"city": "Paris"}. It must begin a line or
// directly follow a text that ends with no letter or digit, nothing but calls may follow it, and it
// may not be shown as code or as a quotation.
//
// The form was learned from the chat template of moonshotai/Kimi-K2-Thinking (November 2025) and
// its guide to tool calls, docs/tool_call_guidance.md (July 2025), read in November 2026.
type Kimi struct {
	Options
	Thoughts Thoughts // "" is ThoughtsTagged
}

const (
	kimiSection    = "<|tool_calls_section_begin|>"
	kimiSectionEnd = "<|tool_calls_section_end|>"
	kimiCall       = "<|tool_call_begin|>"
	kimiArguments  = "<|tool_call_argument_begin|>"
	kimiCallEnd    = "<|tool_call_end|>"
	kimiOne        = "<|tool_call_section_begin|>" // for kimiSection
	kimiOneEnd     = "<|tool_call_section_end|>"
	kimiStop       = "<|im_end|>"
)

// Name implements [Namer].
func (Kimi) Name() string { return "kimi" }

// WithTools implements [Tooled].
func (k Kimi) WithTools(defs []tools.Definition) Policy {
	k.Options = k.withTools(defs)
	return k
}

// ParseResponse implements [Policy].
func (k Kimi) ParseResponse(text string) (Document, error) { return parse(k.NewParser(), text) }

// NewParser implements [Streamer].
func (k Kimi) NewParser() Parser { return newMarkParser(k.Name(), k.Mode, k.syntax()) }

// Render implements [Renderer]. It counts calls from 0.
func (k Kimi) Render(parts []messages.AssistantContent) string {
	calls := 0
	return k.render(parts, func(c messages.ToolCall) string {
		calls++
		return kimiID(c.Name, calls-1)
	})
}

// kimiID returns the id of the n-th call of a conversation.
func kimiID(tool string, n int) string { return "functions." + tool + ":" + strconv.Itoa(n) }

func (k Kimi) render(parts []messages.AssistantContent, id func(messages.ToolCall) string) string {
	return k.Thoughts.write(parts, "", k.syntax().escape, k.begins(), func(calls []messages.ToolCall) string {
		return kimiSection + joinEach(calls, "", func(c messages.ToolCall) string {
			return kimiCall + id(c) + kimiArguments + string(appendArguments(nil, c.Arguments)) + kimiCallEnd
		}) + kimiSectionEnd
	})
}

// FormatQuery implements [Policy].
func (k Kimi) FormatQuery(history messages.History) (messages.History, error) {
	calls, ids := 0, map[string]string{}
	reply := func(parts []messages.AssistantContent) string {
		return k.render(parts, func(c messages.ToolCall) string {
			ids[c.ID] = kimiID(c.Name, calls)
			calls++
			return ids[c.ID]
		})
	}
	return thoughtsOfWork.tell(history, reply, func(outputs []messages.ToolOutput) string {
		return joinEach(outputs, "\n", func(o messages.ToolOutput) string { return "## Return of " + ids[o.CallID] + "\n" + toldResult(o) })
	})
}

// FormatInstructions implements [Policy].
func (k Kimi) FormatInstructions(defs []tools.Definition) string {
	return instructWith(`You can call tools. Write all calls of a reply between `+kimiSection+` and `+kimiSectionEnd+`. For each call, write `+kimiCall+
		`, then functions., the name of the tool, a colon and the number of the call in this conversation, counted from 0, then `+kimiArguments+
		`, the arguments as a JSON object that fits the schema of the tool, and `+kimiCallEnd+`. The results come in the next message, each after a line with "## Return of" and its call.
Thoughts that are not for the user stand between <think> and </think>, before the calls. All other text is for the user.
To write one of these marks as plain text, put a backslash before it.`, k.examples(), defs,
		"The tools that you can call, as JSON:\n["+joinEach(defs, ",", toolObject)+"]")
}

func (k Kimi) examples() []example { return workedExamples(k.Render) }

func (Kimi) begins() []string { return []string{kimiSection, kimiOne, kimiCall} }

func (k Kimi) syntax() *hermesSyntax {
	form := namedForm{open: kimiCall, behind: kimiArguments, closings: []string{kimiCallEnd}, shown: "functions.name:0", name: k.tool}
	tags := []tag{form.tag(k.Options)}
	for _, mark := range []string{kimiSection, kimiSectionEnd, kimiOne, kimiOneEnd, kimiStop} {
		tags = append(tags, dropped(mark))
	}
	bare := &bareForm{Options: k.Options, head: k.bareHead, never: neverBeforeCall + letters}
	for _, d := range k.Tools {
		tags = append(tags, tag{harmonyFunctions + d.Name + ":", bare.block})
	}
	bare.syntax = newTagSyntax(tags...)
	return k.Thoughts.thinking(k.Options, k.begins(), []string{kimiCallEnd, kimiSectionEnd, kimiOneEnd}, tags...)
}

// bareHead reads the id of a call without marks.
func (k Kimi) bareHead(text string, at int, final bool) (tool string, object int, wait bool) {
	if object, wait = endOfHead(text, at, "{", final); object >= 0 {
		tool = k.tool(textscan.TrimRight(text[at:object]))
	}
	return tool, object, wait
}

// tool returns the name of the tool in the id of a call, or "".
func (k Kimi) tool(id string) string {
	if k.Options.tool(id) != nil {
		return id
	}
	if i := strings.LastIndexByte(id, ':'); i >= 0 {
		if _, err := strconv.Atoi(id[i+1:]); err != nil {
			return ""
		}
		id = id[:i]
	}
	return strings.TrimPrefix(id, harmonyFunctions)
}

// toolObject returns a tool as JSON, as requests of the Chat Completions API have it.
func toolObject(d tools.Definition) string {
	return `{"type":"function","function":{"name":` + jsonscan.Quote(d.Name) + `,"description":` + jsonscan.Quote(d.Description) +
		`,"parameters":` + compactSchema(d.Parameters) + "}}"
}
