package compaction

// Config configures the compaction of a conversation. The zero Config is ready to use: old turns
// are summarized once the provider refuses a request because it is too long.
type Config struct {
	// Window is the number of tokens that the model can read. 0 means that it is not known: then
	// only a refusal by the provider (llmclient.CodeContextLength) starts a compaction, and says
	// about how large the window is. It is at least 100. Where it is known, any refusal of a longer
	// request as a bad one (llmclient.CodeBadRequest) counts as one because of its length.
	Window int `json:"window,omitempty"`

	At        float64 `json:"at,omitempty"`         // share of the Window at which a compaction starts, above 0 and up to 1; 0 means 0.8
	Keep      int     `json:"keep,omitempty"`       // turns at the end that stay, if they fit; 0 means 4
	How       How     `json:"how,omitempty"`        // "" means Summarize
	Model     string  `json:"model,omitempty"`      // for the summary; "" means that of the strategy
	MaxTokens int     `json:"max_tokens,omitempty"` // most tokens of a summary; 0 means 1024

	// BytesPerToken is about how many bytes a token has, until the usage of a reply says it better;
	// 0 means 4, as in English texts.
	BytesPerToken float64 `json:"bytes_per_token,omitempty"`

	// MaxSummaries limits the requests for summaries in one frame; then old turns are left out
	// instead. 0 means 20, negative means none.
	MaxSummaries int `json:"max_summaries,omitempty"`

	Prompts Prompts `json:"prompts,omitzero"` // the texts for the models
}

// How selects what becomes of old turns.
type How string

// The ways to make a conversation shorter.
const (
	Summarize How = "summarize" // a model writes a summary, which stands in their place; if it fails, Trim
	Trim      How = "trim"      // they are left out
)

// Prompts are templates (text/template) of the texts for the models; "" means the default. The data
// is a [PromptData].
type Prompts struct {
	System  string `json:"system,omitempty"`  // the system prompt of the request for a summary
	Request string `json:"request,omitempty"` // that request
	Summary string `json:"summary,omitempty"` // the message that has the summary, in the conversation
	Gap     string `json:"gap,omitempty"`     // the message that stands for turns that were left out, in the conversation. No data
}

// PromptData is the data for the prompts.
type PromptData struct {
	Transcript string // for Request: the old messages as text, a former summary included
	Task       string // for Request: the message that the model works on
	MaxWords   int    // for Request: half of Config.MaxTokens
	Summary    string // for Summary: what the model wrote
	Messages   int    // for Request and Summary: the number of old messages
}
