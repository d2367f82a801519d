package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/internal/similar"
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
	Policy   string   `json:"policy,omitempty" jsonschema:"the text format for tool calls, as --policy"`
	System   string   `json:"system,omitempty" jsonschema:"the system prompt, as --system"`
	Dir      string   `json:"dir,omitempty" jsonschema:"the folder of the tools for files, as --dir: from the working folder"`
	Approve  string   `json:"approve,omitempty" jsonschema:"which tool calls need your approval, as --approve"`
	Protect  []string `json:"protect,omitempty" jsonschema:"more files that you are asked about each time, as --protect"`
	NoAsk    bool     `json:"no_ask,omitempty" jsonschema:"do not let the model ask you questions, as --no-ask"`
	MaxSteps int      `json:"max_steps,omitempty" jsonschema:"most steps, as --max-steps; negative: no bound"`
}

// Setting is a setting of a profile.
type Setting struct {
	Flag   string   // the name of the flag that it stands for
	Values []string // as the flag reads them; more than one only if the flag may be said again
	At     Position // in the file
}

// Settings returns the settings of a profile, in the order of the keys. It returns an error if
// there is no such profile, or if a file that was found says in it what only you can say.
func (c *Config) Settings(profile string) ([]Setting, error) {
	p, ok := c.Profiles[profile]
	if !ok {
		return nil, fmt.Errorf("no profile %q in %s%s; there are: %s", profile, c.Path, similar.Aside(profile, sortedKeys(c.Profiles)), listed(c.Profiles))
	}
	given := map[string][]string{
		"agent": one(p.Agent), "source": one(p.Source), "strategy": one(p.Strategy), "model": one(p.Model), "api": one(p.API), "base_url": one(p.BaseURL),
		"policy": one(p.Policy), "system": one(p.System), "dir": one(p.Dir), "approve": one(p.Approve), "protect": p.Protect,
	}
	at := within("/profiles", profile)
	if c.says(at + "/no_ask") {
		given["no_ask"] = one(strconv.FormatBool(p.NoAsk))
	}
	if p.MaxSteps != 0 {
		given["max_steps"] = one(strconv.Itoa(p.MaxSteps))
	}
	var all []Setting
	for _, key := range sortedKeys(given) {
		if len(given[key]) == 0 {
			continue
		}
		where := c.at.of(within(at, key))
		if c.Found && looses(key, p.Approve) {
			return nil, fmt.Errorf("%s:%d:%d: profiles.%s.%s: a file that was found cannot say this; say --%s, or name the file with --config",
				c.Path, where.Line, where.Column, profile, key, flagOf(key))
		}
		all = append(all, Setting{Flag: flagOf(key), Values: given[key], At: where})
	}
	return all, nil
}

// looses reports whether a setting allows more than a run without the profile: to send keys
// elsewhere, to read and change files, or to make calls that you are not asked about.
func looses(key, word string) bool {
	return key == "api" || key == "base_url" || key == "dir" || key == "approve" && approve.Loosens(word)
}

// flagOf returns the flag that a key of a profile stands for.
func flagOf(key string) string { return strings.ReplaceAll(key, "_", "-") }

func one(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// Pointer returns the JSON pointer of a part of a configuration, by the keys that lead to it.
func Pointer(keys ...string) string {
	pointer := ""
	for _, key := range keys {
		pointer = within(pointer, key)
	}
	return pointer
}

// Where returns where a value is in the file, by its JSON pointer, such as /agents/helper/model;
// "" if the file does not say it, and for the pointer "".
func (c *Config) Where(pointer string) string {
	at, ok := c.at[pointer]
	if !ok || pointer == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", c.Path, at.Line, at.Column)
}
