package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Request is what the agent of a task is chosen by.
type Request struct {
	Agent  string // the name that was asked for; "" is none
	Source string // where the task comes from; "" if nobody said
	Goal   string // the task
}

// Choose returns the name of the agent of a request, and what chose it, in words: the name that was
// asked for, else the first rule that fits where it came from, else the first that fits its text,
// else the default, or the only agent there is. A name that no agent has is an error, and so is a
// request that nothing fits.
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

// mustHave returns an error unless the file has the agent.
func (c *Config) mustHave(agent string) error {
	if _, ok := c.Agents[agent]; !ok {
		return fmt.Errorf("no agent %q in %s; there are: %s", agent, c.Path, listed(c.Agents))
	}
	return nil
}

// fits says what of a rule fits a task: "" is nothing.
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

// has reports whether words stand one after another in a text.
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

// wordsOf returns the words of a text in small letters. A word is letters, marks and digits.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}
