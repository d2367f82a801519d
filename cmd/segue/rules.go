package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// choose returns the agent of a request, and what chose it: the name that was asked for, else the
// first rule that fits where it came from, else the first that fits its text, else the default.
func (c *configuration) choose(name, source, goal string) (agent, why string, err error) {
	if name != "" {
		if _, ok := c.Agents[name]; !ok {
			return "", "", fmt.Errorf("no agent %q in %s; there are: %s", name, c.path, listed(c.Agents))
		}
		return name, "--agent", nil
	}
	for i, r := range c.Rules {
		if r.Source != "" && r.Source == source {
			return r.Agent, fmt.Sprintf("rules[%d], its source", i), nil
		}
	}
	words := wordsOf(goal)
	for i, r := range c.Rules {
		if fitting := r.fits(goal, words); fitting != "" {
			return r.Agent, fmt.Sprintf("rules[%d], its %s", i, fitting), nil
		}
	}
	if c.Default != "" {
		return c.Default, "default", nil
	}
	if names := sortedKeys(c.Agents); len(names) == 1 {
		return names[0], "the only one", nil
	}
	return "", "", fmt.Errorf("no rule of %s fits the task, and there is no default; name an agent with --agent: %s", c.path, listed(c.Agents))
}

// fits says what of a rule fits a task: "" is nothing.
func (r ruleConfig) fits(goal string, words []string) string {
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
