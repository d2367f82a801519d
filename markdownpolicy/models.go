package markdownpolicy

import (
	"regexp"
	"strings"
)

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
