package templatetest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// format is a policy, and how a server marks the turns of its model.
type format struct {
	name      string
	policy    markdownpolicy.Policy
	user      func(text string) string
	assistant func(text string, asked bool) string // asked: directly after the user
	results   func(text string) string
	history   func(turns int) messages.History
	texts     bool     // the template takes arguments as text
	named     bool     // results have the name of their tool
	open      string   // a prompt ends with it where the model writes next; it is no part of what is told
	begins    []string // marks before a reply; the last one in front of its text counts
	ends      []string // marks behind a reply, or before the next turn

	// Of published templates:
	differences []difference // on purpose
	turns       int          // how many are compared; 0 is all
}

// difference is what a published template writes in another way than a policy.
type difference struct {
	about string
	mend  func(prompt string) string
}

// without returns a function that leaves out what a pattern finds.
func without(pattern string) func(string) string {
	return func(prompt string) string { return regexp.MustCompile(pattern).ReplaceAllString(prompt, "") }
}

// byIndentation is in templates of vLLM and SGLang: the indentation of an expression after a line
// that ends with a tag is part of the prompt.
var byIndentation = difference{"it writes the blanks of its own indentation", without(" {4,}")}

// quotedResult finds a result of gpt-oss that is a JSON string.
var quotedResult = regexp.MustCompile(`(to=assistant<\|channel\|>commentary<\|message\|>)("(?:[^"\\]|\\.)*")`)

// unquoted writes such results as text.
func unquoted(prompt string) string {
	return quotedResult.ReplaceAllStringFunc(prompt, func(found string) string {
		parts := quotedResult.FindStringSubmatch(found)
		var text string
		if json.Unmarshal([]byte(parts[2]), &text) != nil {
			return found
		}
		return parts[1] + text
	})
}

func same(text string) string { return text }

func formats() []format {
	const kimiTool = "<|im_system|>tool<|im_middle|>"
	deepSeekUser := func(text string) string { return "<｜User｜>" + text }
	deepSeek := func(text string, asked bool) string {
		if asked {
			text = "<｜Assistant｜></think>" + text
		}
		return text + "<｜end▁of▁sentence｜>"
	}
	deepSeekBegins := []string{"<｜Assistant｜>", "<｜Assistant｜></think>", "<｜tool▁output▁end｜>", "<｜tool▁outputs▁end｜>"}
	deepSeekEnds := []string{"<｜end▁of▁sentence｜>"}
	kimiUser := func(text string) string { return "<|im_user|>user<|im_middle|>" + text + "<|im_end|>" }
	kimiAssistant := func(text string) string { return "<|im_assistant|>assistant<|im_middle|>" + text + "<|im_end|>" }
	kimiResults := func(text string) string { // each result has a turn of its own
		return kimiTool + strings.ReplaceAll(text, "\n## Return", "<|im_end|>"+kimiTool+"## Return") + "<|im_end|>"
	}
	kimiBegins, kimiEnds := []string{"<|im_assistant|>assistant<|im_middle|>"}, []string{"<|im_end|>"}
	glm47, _ := markdownpolicy.ForModel("zai-org/GLM-4.7")
	return []format{
		{
			name: "glm", policy: markdownpolicy.GLM, history: conversation,
			user:      func(text string) string { return "<|user|>\n" + text },
			assistant: func(text string, _ bool) string { return "<|assistant|>\n" + thinking(text, "\n") },
			results:   func(text string) string { return "<|observation|>\n" + text },
			begins:    []string{"<|assistant|>"}, ends: []string{"<|user|>", "<|observation|>"},
		},
		{
			name: "glm-4.7", policy: glm47, history: conversation,
			user: func(text string) string { return "<|user|>" + text },
			assistant: func(text string, _ bool) string {
				if !strings.HasPrefix(text, "<think>") {
					text = "</think>" + text
				}
				return "<|assistant|>" + text
			},
			results: func(text string) string { return "<|observation|>" + text },
			begins:  []string{"<|assistant|>"}, ends: []string{"<|user|>", "<|observation|>"},
		},
		{
			name: "kimi", policy: markdownpolicy.Kimi, history: conversation,
			user: kimiUser, assistant: func(text string, _ bool) string { return kimiAssistant(thinking(text, "")) }, results: kimiResults,
			begins: kimiBegins, ends: kimiEnds,
		},
		{
			name: "kimi-k2", policy: markdownpolicy.Kimi, history: withoutThoughts,
			user: kimiUser, assistant: func(text string, _ bool) string { return kimiAssistant(text) }, results: kimiResults,
			begins: kimiBegins, ends: kimiEnds,
		},
		{
			name: "deepseek", policy: markdownpolicy.DeepSeek, history: conversation, texts: true,
			user: deepSeekUser, assistant: deepSeek, results: same,
			begins: deepSeekBegins, ends: deepSeekEnds, differences: []difference{byIndentation},
		},
		{
			name: "deepseek-v3", policy: markdownpolicy.DeepSeekV3, history: conversation, texts: true,
			user:      func(text string) string { return deepSeekUser(text) + "<｜Assistant｜>" },
			assistant: func(text string, _ bool) string { return deepSeek(text, false) },
			results:   same,
			begins:    deepSeekBegins, ends: deepSeekEnds,
			differences: []difference{byIndentation, {"it ends a prompt with a line break", func(prompt string) string { return strings.TrimRight(prompt, "\n") }}},
		},
		{
			name: "deepseek-r1", policy: markdownpolicy.DeepSeekV3, history: conversation, texts: true,
			user: deepSeekUser,
			assistant: func(text string, asked bool) string {
				if asked {
					text = "<｜Assistant｜>" + text
				}
				return deepSeek(text, false)
			},
			results: same,
			begins:  deepSeekBegins, ends: deepSeekEnds,
			turns: 2, // in a third, it leaves out the marks in front of calls and results, except the first ones
			differences: []difference{{"it writes no line break between results", func(prompt string) string {
				return strings.ReplaceAll(prompt, "<｜tool▁output▁end｜><｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>\n<｜tool▁output▁begin｜>")
			}}},
		},
		{
			name: "harmony", policy: markdownpolicy.Harmony, history: oneByOne,
			user: func(text string) string { return "<|start|>user<|message|>" + text + "<|end|>" },
			assistant: func(text string, _ bool) string {
				if !strings.HasPrefix(text, "<|start|>") { // an answer
					text = "<|start|>assistant<|channel|>final<|message|>" + text + "<|end|>"
				}
				return text
			},
			results: same,
			begins:  []string{"<|start|>assistant"}, ends: []string{"<|start|>user", "<|start|>functions."},
			differences: []difference{
				{"it writes results as JSON strings", unquoted},
				{"it ends calls as other messages", func(prompt string) string {
					return regexp.MustCompile(`( json<\|message\|>[^<]*)<\|end\|>`).ReplaceAllString(prompt, "$1<|call|>")
				}},
				{"it tells the thoughts of finished work", func(prompt string) string {
					answered := max(0, strings.LastIndex(prompt, "<|channel|>final"))
					return without(`<\|start\|>assistant<\|channel\|>analysis<\|message\|>[^<]*<\|end\|>`)(prompt[:answered]) + prompt[answered:]
				}},
			},
		},
		{
			name: "gemma", policy: markdownpolicy.Gemma, history: withoutThoughts,
			user:      func(text string) string { return "<start_of_turn>user\n" + text + "<end_of_turn>\n" },
			assistant: func(text string, _ bool) string { return "<start_of_turn>model\n" + text + "<end_of_turn>\n" },
			results:   func(text string) string { return "<start_of_turn>user\n" + text + "<end_of_turn>\n" },
			begins:    []string{"<start_of_turn>model\n"}, ends: []string{"<end_of_turn>"},
		},
		{
			name: "minimax", policy: markdownpolicy.MiniMax, history: conversation,
			user:      func(text string) string { return "]~b]user\n" + text + "[e~[\n" },
			assistant: func(text string, _ bool) string { return "]~b]ai\n" + text + "[e~[\n" },
			results:   func(text string) string { return "]~b]tool\n" + text + "[e~[\n" },
			begins:    []string{"]~b]ai\n"}, ends: []string{"[e~["},
		},
		{
			name: "deepseek-v3.2", policy: markdownpolicy.DeepSeekV32, history: conversation,
			user: func(text string) string { return deepSeekUser(text) + "<｜Assistant｜>" },
			assistant: func(text string, _ bool) string {
				if !strings.HasPrefix(text, "<think>") {
					text = "</think>" + text
				}
				return text + "<｜end▁of▁sentence｜>"
			},
			results: func(text string) string { return "\n\n" + text + "\n\n" },
			begins:  []string{"<｜Assistant｜>", "<｜Assistant｜></think>", "</function_results>\n\n", "</function_results>\n\n</think>"}, ends: deepSeekEnds,
			open: "<think>",
		},
		{
			name: "gemma4", policy: markdownpolicy.Gemma4, history: withoutTexts, named: true,
			user: func(text string) string { return "<|turn>user\n" + text + "<turn|>\n" },
			assistant: func(text string, asked bool) string {
				if asked {
					text = "<|turn>model\n" + text
				}
				if !strings.Contains(text, "<|tool_call>") {
					text += "<turn|>\n"
				}
				return text
			},
			results: same,
			begins:  []string{"<|turn>model\n", "<tool_response|>"}, ends: []string{"<turn|>", "<|tool_response>"},
			differences: []difference{{"it writes a line break behind a thought", func(prompt string) string { return strings.ReplaceAll(prompt, "\n<channel|>", "<channel|>") }}},
		},
	}
}

// thinking adds the mark of a turn without thoughts.
func thinking(text, separator string) string {
	if strings.HasPrefix(text, "<think>") {
		return text
	}
	return "<think></think>" + separator + text
}

const question = "How warm is it in Paris?"

// conversation has up to three turns. The first is a question, three calls with a thought and a
// text, and their results; the second the answer and the next question; the third a call and its
// result.
func conversation(turns int) messages.History {
	h := messages.History{
		messages.UserText(question),
		messages.Assistant{Content: []messages.AssistantContent{
			messages.Thought{Text: "I need three tools."},
			messages.Text{Text: "Let me look."},
			call(0, "get_weather", `{"city": "Paris", "days": [1, 2]}`),
			call(1, "get_time", `{"note": "Zürich\nand \"Paris\"", "zone": "Europe/Paris"}`),
			call(2, "get_news", "{}"),
		}},
		result(0, "get_weather", "19 degrees"), result(1, "get_time", `{"now":"12:00"}`), result(2, "get_news", "Nothing new.\nReally."),
	}
	return more(h, turns, 3, messages.Thought{Text: "I know it."})
}

// oneByOne is conversation with one call in a reply, and no text beside it: the template of gpt-oss
// takes nothing else. The answer has no thought, which Unsloth's version would tell instead of it.
func oneByOne(turns int) messages.History {
	return more(messages.History{
		messages.UserText(question),
		messages.Assistant{Content: []messages.AssistantContent{messages.Thought{Text: "First the weather."}, call(0, "get_weather", `{"city": "Paris", "days": [1, 2]}`)}},
		result(0, "get_weather", "19 degrees"),
		messages.Assistant{Content: []messages.AssistantContent{
			messages.Thought{Text: "Then the time."},
			call(1, "get_time", `{"note": "Zürich\nand \"Paris\"", "zone": "Europe/Paris"}`),
		}},
		result(1, "get_time", `{"now":"12:00"}`),
	}, turns, 2)
}

// withoutTexts is conversation without text beside calls, which the template of Gemma 4 tells
// behind their results.
func withoutTexts(turns int) messages.History {
	h := conversation(turns)
	reply := h[1].(messages.Assistant)
	reply.Content = slices.Delete(slices.Clone(reply.Content), 1, 2)
	h[1] = reply
	return h
}

// withoutThoughts is conversation for a model that does not think.
func withoutThoughts(turns int) messages.History {
	h := conversation(turns)
	for i, m := range h {
		if reply, ok := m.(messages.Assistant); ok {
			reply.Content = slices.DeleteFunc(slices.Clone(reply.Content), func(c messages.AssistantContent) bool {
				_, ok := c.(messages.Thought)
				return ok
			})
			h[i] = reply
		}
	}
	return h
}

// more adds the second and the third turn. n is the number of calls so far.
func more(h messages.History, turns, n int, thought ...messages.AssistantContent) messages.History {
	if turns > 1 {
		h = append(h, messages.Assistant{Content: append(thought, messages.Text{Text: "19 degrees, at noon."})}, messages.UserText("And in Rome?"))
	}
	if turns > 2 {
		again := []messages.AssistantContent{messages.Thought{Text: "Again."}, call(n, "get_weather", `{"city": "Rome"}`)}
		h = append(h, messages.Assistant{Content: again}, result(n, "get_weather", "22 degrees"))
	}
	return h
}

func call(n int, name, arguments string) messages.ToolCall {
	return messages.ToolCall{ID: fmt.Sprintf("functions.%s:%d", name, n), Name: name, Arguments: arguments}
}

func result(n int, name, output string) messages.Message {
	return messages.Tool{ToolOutput: messages.ToolOutput{CallID: call(n, name, "").ID, ToolName: name, Output: output}}
}
