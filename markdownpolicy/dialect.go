package markdownpolicy

import "strings"

// Dialect is a family of models that write calls as [Hermes] reads them, by the marks that they set
// around a call.
type Dialect string

// The dialects. The marks of a dialect that stand around a list of calls, or say that the reply
// ends, are left out of the text.
const (
	DialectHermes   Dialect = "hermes"   // <tool_call>: Hermes, Qwen, Qwen-Coder, GLM, Nemotron
	DialectDeepSeek Dialect = "deepseek" // <｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}: DeepSeek V3 and R1, Cogito
	DialectLFM      Dialect = "lfm"      // <|tool_call_start|>[name(key="value")]: LFM2
	DialectOlmo     Dialect = "olmo"     // <function_calls>name(key="value"), a call on each line: OLMo 3
	DialectGemma    Dialect = "gemma"    // <start_function_call>call:name{key:<escape>value<escape>}: FunctionGemma
)

// deepSeekSeparators stand between the name and the arguments of a call.
var deepSeekSeparators = []string{"<｜tool▁sep｜>", "<|tool▁sep|>"}

// marks returns the marks that the dialect writes around a call.
func (d Dialect) marks() tagPair { return d.pairs()[0] }

// pairs returns the marks that may stand around a call.
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

// leftOut returns the tags of what is left out of the text: marks that say nothing, and results
// that the model made up.
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
			return madeUp{held.begin(start, after)}
		}})
	}
	return tags
}

// madeUp leaves out what stands between two marks.
type madeUp struct{ block }

func (b madeUp) read(text string, final bool) verdict {
	v := b.block.read(text, final)
	v.parts = nil
	return v
}

// asciiBars returns a mark with the bars that some templates write.
func asciiBars(mark string) string { return strings.ReplaceAll(mark, "｜", "|") }
