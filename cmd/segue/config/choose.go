package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/segue-go/segue/internal/similar"
)

// Request holds the data by which the agent for a task is chosen.
type Request struct {
	Agent  string // the requested name; "" means none
	Source string // where the task comes from; "" if unknown
	Goal   string // the task
}

// Choose returns the name of the agent for a request, and the reason in words. It uses the first
// that applies: the requested name, the first rule whose source matches, the first rule whose
// keywords or pattern match the task, the default, the only agent. It returns an error if no agent
// has the requested name, or if nothing applies.
func (c *Config) Choose(r Request) (agent, why string, err error) {
	if r.Agent != "" {
		return r.Agent, "--agent", c.mustHave(r.Agent)
	}
	for i, rule := range c.Rules {
		if rule.Source != "" && rule.Source == r.Source {
			return rule.Agent, fmt.Sprintf("rules[%d], its source", i), nil
		}
	}
	words := wordsOf(r.Goal)
	for i, rule := range c.Rules {
		if fitting := rule.fits(r.Goal, words); fitting != "" {
			return rule.Agent, fmt.Sprintf("rules[%d], its %s", i, fitting), nil
		}
	}
	if c.Default != "" {
		return c.Default, "default", nil
	}
	if names := sortedKeys(c.Agents); len(names) == 1 {
		return names[0], "the only one", nil
	}
	return "", "", fmt.Errorf("no rule of %s fits the task, and there is no default; name an agent with --agent: %s", c.Path, listed(c.Agents))
}

// mustHave returns an error if the file does not have the agent.
func (c *Config) mustHave(agent string) error {
	if _, ok := c.Agents[agent]; !ok {
		return fmt.Errorf("no agent %q in %s%s; there are: %s", agent, c.Path, similar.Aside(agent, sortedKeys(c.Agents)), listed(c.Agents))
	}
	return nil
}

// fits returns the key of a rule that matches a task; "" if none does.
func (r Rule) fits(goal string, words []string) string {
	if r.Pattern != "" {
		if form, err := regexp.Compile(r.Pattern); err == nil && form.MatchString(goal) {
			return "pattern"
		}
	}
	for _, keyword := range r.Keywords {
		if has(words, wordsOf(keyword)) {
			return "keywords"
		}
	}
	return ""
}

// has reports whether a text contains the words in a row.
func has(text, words []string) bool {
	if len(words) == 0 {
		return false
	}
	for i := range len(text) - len(words) + 1 {
		if slices.Equal(text[i:i+len(words)], words) {
			return true
		}
	}
	return false
}

// wordsOf returns the words of a text in lower case. A word consists of letters, marks and digits.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}
