package config

import (
	"cmp"
	"errors"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
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
	if bad, ok := errors.AsType[*messagesapi.ConfigError](err); ok {
		found = append(found, c.problem(at+"/"+strings.ToLower(strings.ReplaceAll(bad.Field, ".", "/")), "%s", bad.Problem))
	}
	return found
}

// thinkingWords adds the words of settings to the schema of a model's keys.
func thinkingWords(model node) {
	model.at("summary")["enum"] = []string{"auto", "concise", "detailed"}
	model.at("cache")["enum"] = []messages.Cache{messages.Cache5m, messages.Cache1h}
	thinking := model.at("thinking", "properties")
	thinking.at("mode")["enum"] = []messagesapi.ThinkingMode{
		messagesapi.ThinkAdaptive, messagesapi.ThinkEnabled, messagesapi.ThinkBetween, messagesapi.ThinkDisabled,
	}
	thinking.at("display")["enum"] = []string{"summarized", "omitted"}
}

// completeThinking adds the rules of [Config.checkThinking] to the schema of a model.
func completeThinking(model node) {
	unlessAPI := func(api string, keys ...string) node {
		none := node{}
		for _, key := range keys {
			none[key] = false
		}
		return node{"if": node{"required": []string{"api"}, "properties": node{"api": node{"const": api}}}, "else": node{"properties": none}}
	}
	model["allOf"] = []node{unlessAPI(endpoint.Responses, "summary"), unlessAPI(endpoint.Anthropic, "thinking", "cache")}
	mode := func(modes ...messagesapi.ThinkingMode) node {
		return node{"properties": node{"mode": node{"enum": modes}}}
	}
	model.at("properties", "thinking")["allOf"] = []node{
		{
			"if":   mode(messagesapi.ThinkEnabled),
			"then": node{"required": []string{"budget"}, "properties": node{"budget": node{"minimum": 1024}}},
			"else": node{"properties": node{"budget": node{"const": 0}}},
		},
		{"if": mode(messagesapi.ThinkAdaptive, messagesapi.ThinkEnabled), "else": node{"properties": node{"display": false}}},
	}
}
