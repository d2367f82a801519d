package openaichat

import (
	"strings"

	"github.com/segue-go/segue/llmclient/internal/openaiapi"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// Reasoning selects which fields of an earlier reply, besides its text and calls, are sent back to
// the server: thoughts and signatures in Assistant.Extras, and fields in ToolCall.Extras.
type Reasoning string

// ReasoningAuto decides by the host of the base URL. It sends these fields of messages, if present:
//
//	deepseek.com, moonshot.ai, moonshot.cn, kimi.com, z.ai, bigmodel.cn
//	    reasoning_content, in turns in which tools were called: DeepSeek and Moonshot refuse a
//	    request without it there, and ignore or refuse it elsewhere. A thought of another provider
//	    replaces a missing one.
//	openrouter.ai, ai-gateway.vercel.sh, minimax.io, minimaxi.com
//	    reasoning_details, or else reasoning
//	generativelanguage.googleapis.com
//	    extra_content, which holds Gemini's thought signatures
//
// Other hosts get none of these fields: OpenAI, Groq and Mistral refuse unknown fields. The extras
// of tool calls are sent to all hosts except these three and Azure. Sources: the providers' pages
// on thinking with tools, as of 2026.
const (
	ReasoningAuto   Reasoning = ""
	ReasoningNever  Reasoning = "never"  // nothing is sent back
	ReasoningAlways Reasoning = "always" // all Extras of all messages and calls are sent back, whichever provider they came from
)

const openAIHost = openaiapi.Host

// provider describes what the servers of one domain accept.
type provider struct {
	domain     string
	tokenField TokenField
	strict     bool                // refuses unknown fields
	fields     []string            // of Assistant.Extras; the first one present is sent
	toolTurns  bool                // send fields only in turns in which tools were called
	refuses    features            // what it refuses of that the API has, or that others take
	anyArgs    bool                // takes arguments of calls that are no JSON
	mistral    bool                // writes files and sounds as Mistral does, and has its order of messages
	id         func(string) string // the id of a call in the form that it takes; nil: any
}

// providers returns the providers whose servers differ from most.
//
// What they refuse is said by: OpenAI's reference of Chat Completions, where a file has file_data
// or file_id and a tool message has text alone (images there brought an error, and in 2026 are
// taken but not seen), and its error "Unknown parameter: 'messages[0].content[0].cache_control'"
// (2026); Groq's own client, whose parts are texts, images and JSON documents (2025), its page on
// the compatibility with OpenAI, where messages[].name brings an error, and its error "property
// 'cache_control' is unsupported" (2026); Mistral's errors "extra_forbidden" for name (2024) and
// for other unknown fields (2026), and its own client for how files and sounds are written (2026);
// DeepSeek's error "unknown variant image_url, expected text" (2026); Anthropic's page on its layer
// for OpenAI's SDK, which leaves all this out without a word (2026).
func providers() []provider {
	const openAI = cacheMarks | fileURLs | toolImages
	content := []string{fieldReasoningContent}
	details := []string{fieldDetails, fieldReasoning}
	return []provider{
		{domain: openAIHost, tokenField: TokensMaxCompletion, strict: true, refuses: openAI, anyArgs: true, id: wire.ChatID},
		{domain: "openai.azure.com", tokenField: TokensMaxCompletion, strict: true, refuses: openAI, anyArgs: true, id: wire.ChatID},
		{domain: "groq.com", strict: true, refuses: cacheMarks | authorNames | files | sounds},
		{domain: "mistral.ai", strict: true, refuses: cacheMarks | authorNames, mistral: true, id: wire.MistralID},
		{domain: "anthropic.com", refuses: cacheMarks | authorNames | files | sounds | toolImages | strictTools | schemas},
		{domain: "deepseek.com", fields: content, toolTurns: true, refuses: images | files | sounds},
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

// providerFor returns the provider of a host name, or of a domain above it.
func providerFor(name string) provider {
	for _, p := range providers() {
		if name == p.domain || strings.HasSuffix(name, "."+p.domain) {
			return p
		}
	}
	return provider{}
}

// dialect describes how requests to one server are written.
type dialect struct {
	provider
	allExtras bool
	callExtra bool
	effort    string // reasoning_effort; "": not sent
}

func newDialect(cfg Config, hostname string) dialect {
	d := dialect{provider: providerFor(hostname), effort: cfg.Effort}
	if d.tokenField == "" {
		d.tokenField = TokensMax
	}
	if cfg.TokenField != TokensAuto {
		d.tokenField = cfg.TokenField
	}
	if cfg.SendRefused {
		d.refuses = 0
	}
	d.callExtra = !d.strict
	switch cfg.Reasoning {
	case ReasoningAuto: // decided by the host
	case ReasoningNever:
		d.fields, d.callExtra = nil, false
	case ReasoningAlways:
		d.allExtras, d.callExtra = true, true
	}
	return d
}
