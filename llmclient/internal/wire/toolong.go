package wire

import (
	"slices"
	"strings"
)

// evidence says where words stand, and with which status they count.
type evidence uint8

const (
	inName  evidence = iota // in the code or the type, with any status
	clearly                 // in the message of a bad request, or of a refusal by a rate limit
	plainly                 // in the message of a bad request
)

// tooLong are the words, in lower case, by which servers say that a conversation is too long for
// the model, and who says them. An "…" stands for anything between two words. Limits of output, of
// tokens a minute and of single fields, such as a name, have words of their own, and are not here.
var tooLong = []struct {
	where  evidence
	source string
	words  []string
}{
	{inName, "OpenAI, Azure", []string{"context_length_exceeded"}},
	{inName, "llama.cpp", []string{"exceed_context_size_error"}},
	{inName, "GitHub Copilot", []string{"model_max_prompt_tokens_exceeded"}},
	{inName, "gateways", []string{"too_many_prompt_tokens"}},
	{inName, "Anthropic", []string{"request_too_large"}},
	{inName, "Volcano Ark", []string{"outofcontexterror"}},

	{clearly, "OpenAI, OpenRouter, vLLM, SGLang, LM Studio", []string{"context length", "context window", "maximum context"}},
	{clearly, "Groq, vLLM", []string{"reduce the length"}},
	{clearly, "llama.cpp", []string{"context size"}},
	{clearly, "Ollama", []string{"max context", "prompt too long"}},
	{clearly, "Anthropic, Fireworks", []string{"prompt is too long"}},
	{clearly, "OpenAI, Azure, of a request beyond the tokens of a minute", []string{"request too large", "must be reduced"}},

	{plainly, "OpenAI, of one text or of the number of messages", []string{
		"string too long…maximum length 1048576", "'messages': array too long", "'input': array too long",
	}},
	{plainly, "OpenAI", []string{"tokens exceed"}},
	{plainly, "Anthropic, of the prompt and max_tokens together", []string{"exceed context limit"}},
	{plainly, "Amazon Bedrock, Anyscale", []string{"input is too long", "input too long"}},
	{plainly, "Gemini", []string{"maximum number of tokens", "input token count"}},
	{plainly, "GitHub Copilot", []string{"prompt token count"}},
	{plainly, "xAI", []string{"maximum prompt length"}},
	{plainly, "Moonshot", []string{"model token limit", "message token length exceed"}},
	{plainly, "Cohere", []string{"too many tokens"}},
	{plainly, "gateways", []string{"exceeds token limit"}},
	{plainly, "DashScope, Xunfei", []string{"range of input length"}},
	{plainly, "Z.AI", []string{"prompt exceeds max length", "prompt 超长"}},
	{plainly, "SiliconFlow", []string{"length of prompt_tokens", "max_total_tokens…max_seq_len"}},
	{plainly, "Baidu", []string{"prompt tokens too long"}},
	{plainly, "Volcano Ark", []string{"exceed max message tokens"}},
	{plainly, "TGI, Together", []string{"`inputs` must have less than", "`inputs` tokens + `max_new_tokens` must be"}},
	{plainly, "TensorRT-LLM, DeepInfra", []string{"maximum input length", "exceeds maximum sequence length", "sum of prompt length"}},
	{plainly, "SGLang", []string{"input length…exceeds the maximum"}},
	{plainly, "vLLM, older versions", []string{
		"the prompt…too long to fit into the model", "input prompt…is too long", "decoder prompt…longer than the maximum model length",
		"max_tokens must be at least 1, got -", // what the prompt leaves of the window
	}},
}

// saysTooLong reports whether a text, in lower case, says that the conversation is too long.
func saysTooLong(where evidence, text string) bool {
	for _, row := range tooLong {
		if row.where == where && slices.ContainsFunc(row.words, func(words string) bool { return holds(text, words) }) {
			return true
		}
	}
	return false
}

func holds(text, words string) bool {
	for part := range strings.SplitSeq(words, "…") {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return true
}
