package llmclient

// knownPrice is a row of the list: a price, and where its numbers stood.
type knownPrice struct {
	model string
	Price
	source string
}

// The pages that the list was read from, all on 2026-11-22, most of them as stored copies. A commit
// names the version of a file. The provider's own page comes first where one was found.
const (
	pageAnthropic    = "https://platform.claude.com/docs/en/about-claude/pricing, of about September 2026"
	pageAnthropicOld = "https://platform.claude.com/docs/zh-CN/about-claude/pricing, of about March 2026"
	pageSonnet5      = "https://platform.claude.com/docs/zh-CN/models/sonnet-5/overview, of about September 2026"
	pageGrok43       = "https://docs.x.ai/docs/models/grok-4-fast (Grok 4.3), of about May 2026"
	pageGrok45       = "https://docs.x.ai/developers/grok-4-5, of about July 2026"
	listGitHub       = "https://github.com/github/docs 024f6b0f data/tables/copilot/models-and-pricing.yml, of about September 2026"
	listMorph        = "https://www.morphllm.com/openai-api-pricing, of June 2026"
	listMorphGoo     = "https://www.morphllm.com/gemini-api-pricing, of about May 2026"
	listWillison     = "https://github.com/simonw/llm-prices e99b335f data/openai.json, of about November 2025"
	listWillisonG    = "https://github.com/simonw/llm-prices 96ead2e0 data/google.json, of about November 2025"
	listCatwalk      = "https://github.com/charmbracelet/catwalk 0029fc4b openai.json, of about November 2025"
	listCatwalkG     = "https://github.com/charmbracelet/catwalk 021b34d3 gemini.json, of about October 2026"
	listCatwalkX     = "https://github.com/charmbracelet/catwalk 031d27f0 xai.json, of about August 2026"
	listCatwalkM     = "https://github.com/charmbracelet/catwalk 00f9a0b8 mistral.json, of about May 2026"
	pageHub          = "https://llmcloudhub.com/openai/gpt-4o-2024-05-13, of 2026-05-08"
	pagePricing      = "https://www.llmpricing.site/models/openai/openai-gpt-4o-2024-05-13, of about May 2026"
	listPuter        = "https://developer.puter.com/tutorials/mistral-api-pricing/, of June 2026"
	listAPIYI        = "https://docs.apiyi.com/models/index.md, of about September 2026"
	notesFuel19      = "https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.19, of 2026-09-07"
	notesFuel21      = "https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.21, of 2026-09-23"
	notesFuel22      = "https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.22, of 2026-10-01"
	notesFuel23      = "https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.23, of 2026-10-16"
	notesClaudit18   = "https://github.com/kurofune/claudit/releases/tag/v1.8.2, of 2026-09-24"
	notesClaudit19   = "https://github.com/kurofune/claudit/releases/tag/v1.9.2, of 2026-10-25"
	notesTelemetry   = "https://github.com/uttamdeb/agent-telemetry/releases/tag/v1.6.6, of 2026-09-30"
)

// dollars returns a price that says nothing of writing into a cache.
func dollars(input, cached, output float64) Price {
	return Price{Input: input, CachedInput: cached, Output: output}
}

// claude returns a price of Anthropic, where writing into a cache for five minutes costs a quarter
// more than other input with every model; see pageAnthropic and notesClaudit18.
func claude(input, cached, output float64) Price {
	return Price{Input: input, CachedInput: cached, CacheWrites: 1.25 * input, Output: output}
}

// knownPrices has a model only where its provider's page was found, or two others that agree.
var knownPrices = []knownPrice{
	{"gpt-6.1-sol", dollars(2, 0.1, 10), notesFuel22 + "; " + notesTelemetry},
	{"gpt-6-sol", dollars(2, 0.2, 10), notesFuel21 + "; " + notesTelemetry},
	{"gpt-6-astra", dollars(10, 1, 50), notesFuel19 + "; " + listAPIYI},
	{"gpt-5.6-terra", dollars(2, 0.2, 12), listGitHub + "; " + notesFuel19 + "; " + listAPIYI},
	{"gpt-5.6-luna", dollars(0.2, 0.02, 1.2), listGitHub + "; " + notesFuel19 + "; " + listAPIYI},
	{"gpt-5.5", dollars(5, 0.5, 30), listGitHub + "; " + listMorph},
	{"gpt-5.4", dollars(2.5, 0.25, 15), listGitHub + "; " + listMorph},
	{"gpt-5.4-mini", dollars(0.75, 0.075, 4.5), listGitHub + "; " + listMorph},
	{"gpt-5.4-nano", dollars(0.2, 0.02, 1.25), listGitHub + "; " + listMorph},
	{"gpt-5.1", dollars(1.25, 0.125, 10), listWillison + "; " + listCatwalk + " (cached input rounded to 0.13)"},
	{"gpt-5", dollars(1.25, 0.125, 10), listWillison + "; " + listCatwalk + " (cached input rounded to 0.13)"},
	{"gpt-5-mini", dollars(0.25, 0.025, 2), listWillison + "; " + listCatwalk + "; " + listGitHub},
	{"gpt-5-nano", dollars(0.05, 0.005, 0.4), listWillison + "; " + listCatwalk},
	{"gpt-4.1", dollars(2, 0.5, 8), listWillison + "; " + listCatwalk},
	{"gpt-4.1-mini", dollars(0.4, 0.1, 1.6), listWillison + "; " + listCatwalk},
	{"gpt-4.1-nano", dollars(0.1, 0.025, 0.4), listWillison + "; " + listCatwalk},
	{"gpt-4o", dollars(2.5, 1.25, 10), listWillison + "; " + listCatwalk},
	{"gpt-4o-2024-05-13", dollars(5, 0, 15), pageHub + "; " + pagePricing},
	{"gpt-4o-mini", dollars(0.15, 0.075, 0.6), listWillison + "; " + listCatwalk},
	{"o3", dollars(2, 0.5, 8), listCatwalk + "; https://deploybase.ai/articles/openai-pricing, of March 2026 (input and output)"},
	{"o4-mini", dollars(1.1, 0.275, 4.4), listWillison + "; " + listCatwalk},
	{"o3-mini", dollars(1.1, 0.55, 4.4), listWillison + "; " + listCatwalk},

	{"claude-fable-5-1", claude(10, 0.25, 50), pageAnthropic},
	{"claude-fable-5", claude(10, 1, 50), pageAnthropic},
	{"claude-opus-5-5", claude(4, 0.2, 20), notesClaudit18 + "; " + notesFuel21},
	{"claude-opus-5", claude(5, 0.5, 25), pageAnthropic},
	{"claude-opus-4-8", claude(5, 0.5, 25), pageAnthropic},
	{"claude-opus-4-7", claude(5, 0.5, 25), pageAnthropic},
	{"claude-opus-4-6", claude(5, 0.5, 25), pageAnthropic},
	{"claude-opus-4-5", claude(5, 0.5, 25), pageAnthropic},
	{"claude-sonnet-5-5", claude(2, 0.1, 10), notesClaudit19 + "; " + notesFuel23},
	{"claude-sonnet-5", claude(2, 0.2, 10), pageSonnet5},
	{"claude-sonnet-4-6", claude(3, 0.3, 15), pageAnthropicOld + "; " + listGitHub},
	{"claude-sonnet-4-5", claude(3, 0.3, 15), pageAnthropicOld + "; " + listGitHub},
	{"claude-haiku-4-5", claude(1, 0.1, 5), pageAnthropicOld + "; " + listGitHub},

	{"gemini-3.5-flash", dollars(1.5, 0.15, 9), listGitHub + "; " + listMorphGoo + " (input and output)"},
	{"gemini-3.1-pro-preview", dollars(2, 0.2, 12), listGitHub + "; " + listCatwalkG},
	{"gemini-3-flash-preview", dollars(0.5, 0.05, 3), listCatwalkG + "; " + listMorphGoo + " (input and output)"},
	{"gemini-2.5-pro", dollars(1.25, 0.125, 10), listWillisonG + "; " + listCatwalkG},
	{"gemini-2.5-flash", dollars(0.3, 0.03, 2.5), listWillisonG + "; " + listCatwalkG},
	{"gemini-2.5-flash-lite", dollars(0.1, 0.01, 0.4), listWillisonG + "; " + listMorphGoo + " (input and output)"},

	{"grok-4.6", dollars(2, 0.5, 6), listGitHub + "; " + listCatwalkX},
	{"grok-4.5", dollars(2, 0.5, 6), pageGrok45 + " (input and output); " + listGitHub},
	{"grok-4.3", dollars(1.25, 0.2, 2.5), pageGrok43},

	{"mistral-medium-3.5", dollars(1.5, 0, 7.5), listCatwalkM + "; " + listPuter},
	{"mistral-large-2512", dollars(0.5, 0, 1.5), listCatwalkM + "; " + listPuter},
	{"mistral-small-2603", dollars(0.1, 0, 0.3), listCatwalkM + "; " + listPuter},
	{"codestral-2508", dollars(0.3, 0, 0.9), listCatwalkM + "; " + listPuter},
}

// KnownPrices returns prices of well-known models of OpenAI, Anthropic, Google, xAI and Mistral, by
// the names that the providers' own servers have for them. They are those of the standard tier, and
// of prompts below the length (200,000 or 272,000 tokens) above which some providers ask for more:
// a run with longer prompts costs more than is counted. What is written into a cache of Anthropic
// is counted as for five minutes ([messages.Cache5m]); for an hour it costs twice the price of
// input. With other providers it is counted as other input: some ask for a quarter more.
//
// Each row of the source names the pages where it was read, in November 2026. A model is left out
// where a single price would mislead: those of DeepSeek, whose price depends on the hour;
// claude-haiku-5-5, whose price is five times as high for prompts above 100,000 tokens; Gemini 3.6
// to 3.8 Flash and gpt-5.6-sol, which were on offer for a time.
//
// Prices change, and what a provider bills is what counts: give your own where it matters. The map
// is the caller's.
func KnownPrices() Prices {
	all := make(Prices, len(knownPrices))
	for _, k := range knownPrices {
		all[k.model] = k.Price
	}
	return all
}
