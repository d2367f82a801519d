package config

import (
	"fmt"
)

// Profile is a set of settings that the command uses together. Each means what the flag of that
// name means.
type Profile struct {
	Agent    string   `json:"agent,omitempty" jsonschema:"the agent that does the task, as --agent"`
	Source   string   `json:"source,omitempty" jsonschema:"where the task comes from, as --source"`
	Strategy string   `json:"strategy,omitempty" jsonschema:"how to go about the task, as --strategy"`
	Model    string   `json:"model,omitempty" jsonschema:"a model of this file, or the provider's name of one, as --model"`
	API      string   `json:"api,omitempty" jsonschema:"how the server is spoken to, as --api"`
	BaseURL  string   `json:"base_url,omitempty" jsonschema:"the server, as --base-url: it gets OPENAI_API_KEY, or with api anthropic ANTHROPIC_API_KEY; a model of this file can have a key of its own"`
	Policy   string   `json:"policy,omitempty" jsonschema:"the text format for tool calls, as --policy; auto: the best that segue finds"`
	System   string   `json:"system,omitempty" jsonschema:"the system prompt, as --system"`
	Dir      string   `json:"dir,omitempty" jsonschema:"the folder of the tools for files, as --dir: from the working folder"`
	Approve  string   `json:"approve,omitempty" jsonschema:"which tool calls need your approval, as --approve"`
	Protect  []string `json:"protect,omitempty" jsonschema:"more files that you are asked about each time, as --protect"`
	NoAsk    bool     `json:"no_ask,omitempty" jsonschema:"do not let the model ask you questions, as --no-ask"`
	MaxSteps int      `json:"max_steps,omitempty" jsonschema:"most steps, as --max-steps; negative: no bound"`
}

// Where returns where a value is in the file, by the keys that lead to it, such as agents, helper
// and model; "" if the file does not say it.
func (c *Config) Where(keys ...string) string {
	pointer := ""
	for _, key := range keys {
		pointer = within(pointer, key)
	}
	if pointer == "" || !c.says(pointer) {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", c.Path, c.at[pointer].Line, c.at[pointer].Column)
}
