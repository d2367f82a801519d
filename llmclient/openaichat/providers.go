package openaichat

import "strings"

// Reasoning says what goes back to the server of the fields that an earlier reply had beside its
// text and calls: thoughts and signatures in Assistant.Extras, and fields in ToolCall.Extras.
type Reasoning string

// ReasoningAuto goes by the host of the base URL. Of messages it sends, where they have them:
//
//	deepseek.com, moonshot.ai, moonshot.cn, kimi.com, z.ai, bigmodel.cn
//	    reasoning_content, in turns in which tools were called: DeepSeek and Moonshot refuse a request without, and
//	    ignore or refuse it elsewhere. A thought of another provider stands in for a missing one.
//	openrouter.ai, ai-gateway.vercel.sh, minimax.io, minimaxi.com
//	    reasoning_details; reasoning where there are none
//	generativelanguage.googleapis.com
//	    extra_content, which holds Gemini's thought signatures
//
// and to any other host nothing: OpenAI, Groq and Mistral refuse fields they do not know. To all
// but those three, and Azure, it sends the extras of tool calls. Sources: the providers' pages on
// thinking with tools, as of 2026.
const (
	ReasoningAuto   Reasoning = ""
	ReasoningNever  Reasoning = "never"  // nothing goes back
	ReasoningAlways Reasoning = "always" // all Extras of all messages and calls go back, whoever they came from
)

const openAIHost = "api.openai.com"

// provider says what the servers of one domain take.
type provider struct {
	domain     string
	tokenField TokenField
	strict     bool     // refuses fields it does not know
	fields     []string // of Assistant.Extras, the first that is there
	toolTurns  bool     // fields only in turns in which tools were called
}

// providers are those whose servers differ from what most take.
func providers() []provider {
	content := []string{fieldReasoningContent}
	details := []string{fieldDetails, fieldReasoning}
	return []provider{
		{domain: openAIHost, tokenField: TokensMaxCompletion, strict: true},
		{domain: "openai.azure.com", tokenField: TokensMaxCompletion, strict: true},
		{domain: "groq.com", strict: true},
		{domain: "mistral.ai", strict: true},
		{domain: "deepseek.com", fields: content, toolTurns: true},
		{domain: "moonshot.ai", fields: content, toolTurns: true},
		{domain: "moonshot.cn", fields: content, toolTurns: true},
		{domain: "kimi.com", fields: content, toolTurns: true},
		{domain: "z.ai", fields: content, toolTurns: true},
		{domain: "bigmodel.cn", fields: content, toolTurns: true},
		{domain: "openrouter.ai", fields: details},
		{domain: "ai-gateway.vercel.sh", fields: details},
		{domain: "minimax.io", fields: details},
		{domain: "minimaxi.com", fields: details},
		{domain: "generativelanguage.googleapis.com", fields: []string{fieldExtraContent}},
	}
}

// providerFor returns what the host of that name, or the domain above it, wants.
func providerFor(name string) provider {
	for _, p := range providers() {
		if name == p.domain || strings.HasSuffix(name, "."+p.domain) {
			return p
		}
	}
	return provider{}
}

// dialect is how requests to one server are written.
type dialect struct {
	provider
	allExtras bool
	callExtra bool
}

func newDialect(cfg Config, hostname string) dialect {
	d := dialect{provider: providerFor(hostname)}
	if d.tokenField == "" {
		d.tokenField = TokensMax
	}
	if cfg.TokenField != TokensAuto {
		d.tokenField = cfg.TokenField
	}
	d.callExtra = !d.strict
	switch cfg.Reasoning {
	case ReasoningAuto: // as the host wants it
	case ReasoningNever:
		d.fields, d.callExtra = nil, false
	case ReasoningAlways:
		d.allExtras, d.callExtra = true, true
	}
	return d
}
