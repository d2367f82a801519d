package markdownpolicy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Policy is a text format for thoughts and tool calls.
//
// A Policy may implement these optional interfaces, found by type assertion:
//
//	Namer     Name() string                                     for errors and reports
//	Streamer  NewParser() Parser                                reads a reply while it arrives
//	Renderer  Render(parts []messages.AssistantContent) string  writes what ParseResponse reads
//	Stopper   Stop() []string                                   sequences that stop a model
//	Schemer   ReplySchema(defs, must, answer) json.RawMessage   for servers that hold replies to one
type Policy interface {
	// FormatInstructions returns the instructions for a model about the format and the tools. They
	// go into the system prompt, once. Without tools they describe only the rest of the format, and
	// may be empty.
	FormatInstructions(defs []tools.Definition) string

	// ParseResponse parses a reply. An error is a [*ParseError]. The Document then holds the parts
	// before the error, and the unreadable rest as text.
	ParseResponse(text string) (Document, error)

	// FormatQuery renders past thoughts, calls and results in the policy's format, as plain system,
	// user and assistant text: the result contains no Tool message and no call. It does not change
	// history. If history breaks a law of messages.History.Validate, it returns an error that names
	// the law.
	FormatQuery(history messages.History) (messages.History, error)
}

// Namer is a [Policy] with a name.
type Namer interface{ Name() string }

// Streamer is a [Policy] that reads a reply while it arrives.
type Streamer interface{ NewParser() Parser }

// Renderer is a [Policy] that can write what it reads.
type Renderer interface {
	Render(parts []messages.AssistantContent) string
}

// Stopper is a [Policy] whose replies should be stopped at certain texts, if the provider can do
// so.
type Stopper interface{ Stop() []string }

// Mode selects what happens to text that is meant as a call but cannot be read as one.
type Mode string

// The modes.
const (
	ModeError  Mode = "error"  // an error with the position and the expected text; the default
	ModeText   Mode = "text"   // it becomes text
	ModeRepair Mode = "repair" // it is repaired if that cannot change its meaning, and an error otherwise
)

// Options are common to all policies. The zero value is ready to use.
type Options struct {
	Mode Mode // "" is ModeError

	// Tools are the tools that may be called, if they are known. The names help some formats to
	// distinguish calls from prose. Nil allows any name.
	Tools []tools.Definition
}

// Tooled is a [Policy] that reads replies better if it knows the tools. All built-in policies are
// Tooled.
type Tooled interface {
	// WithTools returns the policy for replies in which these tools may be called. A policy that
	// already has tools keeps them.
	WithTools(defs []tools.Definition) Policy
}

func (o Options) withTools(defs []tools.Definition) Options {
	if o.Tools == nil {
		o.Tools = defs
	}
	return o
}

// withTools returns any policy for replies in which these tools may be called.
func withTools(p Policy, defs []tools.Definition) Policy {
	if t, ok := p.(Tooled); ok {
		return t.WithTools(defs)
	}
	return p
}

// builtins are the built-in policies, the default first. Each has its name.
var builtins = []Policy{Fenced, XML, ReAct{}, Hermes, Llama, Pythonic, Mistral, GLM, Kimi, DeepSeek, Harmony, Gemma, MiniMax, Gemma4, DeepSeekV32, Structured{}}

// Names returns the names of the built-in policies, the default first.
func Names() []string {
	names := make([]string, len(builtins))
	for i, p := range builtins {
		names[i] = nameOf(p)
	}
	return names
}

// New returns the built-in policy with that name; "" is the default. An error lists the names.
func New(name string, o Options) (Policy, error) {
	for _, p := range builtins {
		if name != "" && nameOf(p) != name {
			continue
		}
		switch p := p.(type) {
		case ReAct:
			return ReAct{o}, nil
		case Structured:
			return Structured{Options: o}, nil
		case Format:
			return p.With(o), nil
		}
	}
	return nil, fmt.Errorf("markdownpolicy: there is no policy %q; there are: %s", name, strings.Join(Names(), ", "))
}

// tool returns the tool with that name, or nil.
func (o Options) tool(name string) *tools.Definition {
	i := slices.IndexFunc(o.Tools, func(d tools.Definition) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Tools[i]
}

// mayCall reports whether name may be the name of a tool, as far as the tools are known.
func (o Options) mayCall(name string) bool { return o.Tools == nil || o.tool(name) != nil }

// ForModel returns the policy for the format that a model was trained on, by the name under which
// servers offer it: "zai-org/GLM-4.5-Air", "gpt-oss:20b", "qwen3". It knows nothing of the server:
// where that turns calls into native ones, no policy is needed. ok is false if the model is unknown
// or was trained on no format of its own; then [Fenced] is a good choice.
//
// For models whose prompt ends with <think> where they think, the policy is a [Think]: it reads
// thoughts with and without their first tag.
func ForModel(name string) (p Policy, ok bool) {
	name = plainModel(name)
	family, _, _ := strings.Cut(name, ":")
	for _, m := range models {
		for mark := range strings.FieldsSeq(m.names) {
			exact, whole := strings.CutSuffix(mark, "$")
			if whole && family == exact || !whole && strings.Contains(name, mark) {
				return m.policy, m.policy != nil
			}
		}
	}
	return nil, false
}

// separators are what servers write in different ways in the name of a model, also within a
// version: glm-4.5, glm4_5, glm-4p5.
var separators = regexp.MustCompile(`[-_. ]|([0-9])p([0-9])`)

// plainModel returns the last part of a name without separators, in small letters.
func plainModel(name string) string {
	name = strings.ToLower(name)
	return separators.ReplaceAllString(name[strings.LastIndexByte(name, '/')+1:], "$1$2")
}

// models lists parts of models' names, as plainModel returns them, with the policy; $ means the
// whole name, without the tag that servers write after a colon. The first that fits counts. A nil
// policy is for models with a format that is not read, or with none. The sources for GLM-4.5 to
// 4.7, Kimi K2, DeepSeek V3, R1, V3.1 and V3.2, gpt-oss, Gemma 3 and 4, MiniMax M2 and Nemotron 3
// were read in November 2026. The others are where the formats of the older policies are published;
// that Kimi K2.5 and 2.6 write as K2 does, and MiniMax M2.1 and later as M2, was not seen in a
// template. The rows of models without a format were not read in model cards.
var models = []struct {
	names  string
	policy Policy
	source string // where the format is published, and since when
}{
	{"base embed rerank qwen3guard qwen3asr qwen3tts", nil, "they do not chat"},
	{
		"distill deepseekr10528qwen deepseekr1qwen deepseekr1llama deepseekr1:1 deepseekr1:7 deepseekr1:8 deepseekr1:3 deepseekr1:latest",
		nil, "the distilled models of DeepSeek R1 were not trained on calls (model card, January 2025); Ollama names them by their size",
	},
	{"chimera cogito dolphin tulu minitron", nil, "trained on formats of their own, or none, on the base of other models"},
	{"functiongemma", FunctionGemma, "ai.google.dev/gemma/docs/functiongemma, December 2025"},
	{"gemma3", Gemma, "ai.google.dev/gemma/docs/capabilities/function-calling, March 2025"},
	{"gemma4", Gemma4, "chat template of google/gemma-4-31B-it, read in November 2026"},
	{"minimaxm2", Think{Policy: MiniMax}, "github.com/MiniMax-AI/MiniMax-M2, docs/tool_calling_guide.md, November 2025"},
	{"gptoss", Format{row: Harmony.row, ForgetThoughts: true}, "cookbook.openai.com/articles/openai-harmony, August 2025"},
	{"glm45 glm46", GLM, "chat templates of zai-org/GLM-4.5 and GLM-4.6, July and September 2025"},
	{"glm47 glm5", Think{Policy: GLM47}, "chat template of zai-org/GLM-4.7, December 2025"},
	{"kimik25 kimik26", Think{Policy: Kimi}, "docs.vllm.ai, vllm.parser.kimi_k2, with thoughts unless they are turned off, 2026"},
	{"kimik2", Kimi, "huggingface.co/moonshotai/Kimi-K2-Instruct, docs/tool_call_guidance.md, July 2025"},
	{"deepseekv31 deepseekchatv31 deepseekv32exp", Think{Policy: DeepSeek}, "model card of deepseek-ai/DeepSeek-V3.1, August 2025"},
	{"deepseekv32", Think{Policy: DeepSeekV32}, "deepseek-ai/DeepSeek-V3.2, encoding, December 2025"},
	{"deepseekv4", nil, "another mark around the calls of V3.2, which is not read"},
	{"deepseekr1", Think{Policy: DeepSeekV3}, "chat template of deepseek-ai/DeepSeek-R1, January 2025"},
	{"deepseekv3 deepseekchatv3", DeepSeekV3, "chat template of deepseek-ai/DeepSeek-V3-0324, March 2025"},
	{"hermes2pro hermes3 hermes4 hermes2theta", Hermes, "github.com/NousResearch/Hermes-Function-Calling, March 2024"},
	{"qwen3 qwen25 qwq", Think{Policy: Format{row: Hermes.row, Thoughts: ThoughtsNone}}, "qwen.readthedocs.io, function calling, September 2024"},
	{"lfm2", LFM, "docs.liquid.ai, tool use, July 2025"},
	{"olmo3", Olmo, "chat template of allenai/Olmo-3-7B-Instruct, November 2025"},
	{"nemotron3 nemotronnano3", Think{Policy: Format{row: Hermes.row, Thoughts: ThoughtsNone}}, "docs.vllm.ai, vllm.parser.nemotron_v3: as Qwen3, December 2025"},
	{"llama4", Pythonic, "llama_models, models/llama4/prompt_format.md, April 2025"},
	{"nemotron xlam toolace functionary", nil, "formats of their own on the base of Llama"},
	{"llama321b llama323b", Pythonic, "llama_models, models/llama3_2/text_prompt_format.md, September 2024"},
	{"llama31 llama32 llama33 llamav31 llamav33", Llama, "llama_models, models/llama3_1/prompt_format.md, July 2024"},
	{"codestralmamba codestral22b codestral$ mistral:7binstructv02 mistral:v02", nil, "before Mistral's models were trained on calls"},
	{
		"mistral7binstructv03 mistralnemo mistralsmall mistralmedium mistrallarge ministral magistral devstral codestral pixtral mixtral8x22b mistral$",
		Mistral,
		"docs.mistral.ai, tokenization and tool calling, May 2024",
	},
}
