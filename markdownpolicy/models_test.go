package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
)

func TestForModel(t *testing.T) {
	thinks := func(p markdownpolicy.Policy) markdownpolicy.Policy { return markdownpolicy.Think{Policy: p} }
	qwen := thinks(thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsNone))
	v3 := markdownpolicy.DeepSeekV3
	for _, c := range []struct {
		name string
		want markdownpolicy.Policy
	}{
		{"zai-org/GLM-4.5-Air-FP8", markdownpolicy.GLM},
		{"glm-4.6", markdownpolicy.GLM},
		{"zai-org/GLM-4.7", thinks(markdownpolicy.GLM47)},
		{"glm-5.1", thinks(markdownpolicy.GLM47)},
		{"moonshotai/Kimi-K2-Instruct-0905", markdownpolicy.Kimi},
		{"kimi-k2-thinking:cloud", markdownpolicy.Kimi},
		{"moonshotai/Kimi-K2.5", thinks(markdownpolicy.Kimi)},
		{"deepseek-ai/DeepSeek-V3-0324", v3},
		{"deepseek-v3", v3},
		{"deepseek-ai/DeepSeek-V3.1-Terminus", thinks(markdownpolicy.DeepSeek)},
		{"deepseek-ai/DeepSeek-V3.2-Exp", thinks(markdownpolicy.DeepSeek)},
		{"deepseek-r1:671b", thinks(v3)},
		{"openai/gpt-oss-20b", forgetting(markdownpolicy.Harmony)},
		{"gpt-oss:120b", forgetting(markdownpolicy.Harmony)},
		{"google/gemma-3-27b-it", markdownpolicy.Gemma},
		{"gemma3:4b", markdownpolicy.Gemma},
		{"functiongemma", markdownpolicy.FunctionGemma},
		{"Qwen/Qwen3-8B", qwen},
		{"qwen2.5-coder:7b", qwen},
		{"NousResearch/Hermes-3-Llama-3.1-8B", markdownpolicy.Hermes},
		{"meta-llama/Llama-3.1-8B-Instruct", markdownpolicy.Llama},
		{"llama3.3", markdownpolicy.Llama},
		{"meta-llama/Llama-3.2-3B-Instruct", markdownpolicy.Pythonic},
		{"meta-llama/Llama-4-Scout-17B-16E-Instruct", markdownpolicy.Pythonic},
		{"mistralai/Mistral-7B-Instruct-v0.3", markdownpolicy.Mistral},
		{"mistral-small3.2", markdownpolicy.Mistral},
		{"mistral", markdownpolicy.Mistral},
		{"LiquidAI/LFM2-1.2B", markdownpolicy.LFM},
		{"allenai/Olmo-3-7B-Instruct", markdownpolicy.Olmo},
		{"deepseek-r1:671b-q4_K_M", thinks(v3)},
		{"deepseek/deepseek-r1-0528:free", thinks(v3)},
		{"deepseek/deepseek-chat-v3-0324:free", v3},
		{"deepseek/deepseek-chat-v3.1", thinks(markdownpolicy.DeepSeek)},
		{"accounts/fireworks/models/deepseek-v3p1", thinks(markdownpolicy.DeepSeek)},
		{"accounts/fireworks/models/glm-4p5", markdownpolicy.GLM},
		{"accounts/fireworks/models/kimi-k2p5", thinks(markdownpolicy.Kimi)},
		{"accounts/fireworks/models/llama-v3p1-8b-instruct", markdownpolicy.Llama},
		{"hf.co/unsloth/gpt-oss-20b-GGUF:Q4_K_M", forgetting(markdownpolicy.Harmony)},
		{"Qwen3-Coder-30B-A3B-Instruct-UD-Q4_K_XL.gguf", qwen},
		{"mistral:7b", markdownpolicy.Mistral},
		{"mistralai/codestral-2508", markdownpolicy.Mistral},
		{"accounts/fireworks/models/deepseek-v3p2", thinks(markdownpolicy.DeepSeekV32)},
		{"deepseek-r1:8b", nil},
		{"deepseek-r1:14b-qwen-distill-q4_K_M", nil},
		{"deepseek-r1:latest", nil},
		{"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", nil},
		{"tngtech/deepseek-r1t2-chimera:free", nil},
		{"deepseek-ai/DeepSeek-V3-Base", nil},
		{"moonshotai/Kimi-K2-Base", nil},
		{"google/embeddinggemma-300m", nil},
		{"Qwen/Qwen3-Embedding-8B", nil},
		{"Dolphin3.0-Llama3.1-8B", nil},
		{"nvidia/mistral-nemo-minitron-8b-instruct", nil},
		{"mistral:7b-instruct-v0.2-q4_0", nil},
		{"codestral:22b", nil},
		{"", nil},
		{"gpt-4.1-mini", nil},
		{"claude-sonnet", nil},
		{"phi4", nil},
		{"gemma2:9b", nil},
		{"kimi-k3", nil},
		{"deepseek-ai/DeepSeek-V3.2", thinks(markdownpolicy.DeepSeekV32)},
		{"google/gemma-4-31B-it", markdownpolicy.Gemma4},
		{"MiniMaxAI/MiniMax-M2.1", thinks(markdownpolicy.MiniMax)},
		{"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", nil},
		{"nvidia/Llama-3.1-Nemotron-70B-Instruct", nil},
		{"mistralai/Mistral-7B-Instruct-v0.1", nil},
		{"meta-llama/Meta-Llama-3-8B-Instruct", nil},
		{"Salesforce/Llama-xLAM-2-8b-fc-r", nil},
		{"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16/GGUF", nil},
	} {
		p, ok := markdownpolicy.ForModel(c.name)
		require.Equal(t, c.want != nil, ok, c.name)
		require.Equal(t, c.want, p, c.name)
	}
}
