package config

import (
	"cmp"
	"errors"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/llmclient"
	messagesapi "github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/messages"
)

// setThinking sets how the model thinks, and what the server caches.
func (m Model) setThinking(c *endpoint.Client) {
	c.Effort, c.Summary, c.Cache = m.Effort, m.Summary, messages.Cache(m.Cache)
	c.Thinking = messagesapi.Thinking{
		Mode: messagesapi.ThinkingMode(m.Thinking.Mode), Budget: m.Thinking.Budget, Display: m.Thinking.Display,
	}
}

// checkThinking finds keys that the API of a model does not have, and settings that its client
// refuses.
func (c *Config) checkThinking(at string, m Model) []Problem {
	api := cmp.Or(m.API, endpoint.Chat)
	var found []Problem
	for _, key := range []struct {
		name, api string
		given     bool
	}{
		{"summary", endpoint.Responses, m.Summary != ""},
		{"thinking", endpoint.Anthropic, m.Thinking != Thinking{}},
		{"cache", endpoint.Anthropic, m.Cache != ""},
	} {
		if key.given && key.api != api {
			found = append(found, c.problem(at+"/"+key.name, "is for models with api: %s, and this one has api: %s", key.api, api))
		}
	}
	if len(found) > 0 || api != endpoint.Anthropic {
		return found
	}
	client := endpoint.Client{API: api, Model: m.Model, NoEnvironment: true}
	m.setThinking(&client)
	_, err := client.New()
	if bad, ok := errors.AsType[*llmclient.ConfigError](err); ok {
		found = append(found, c.problem(at+"/"+strings.ToLower(strings.ReplaceAll(bad.Field, ".", "/")), "%s", bad.Problem))
	}
	return found
}
