package config

import (
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
