package openaichat_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// said is a message of a recorded conversation, as it was written down.
type said struct {
	Role    string
	Content json.RawMessage
	Calls   []struct {
		Function struct{ Name string }
	} `json:"tool_calls"`
	Function *struct{ Name string } `json:"function_call"`
	raw      json.RawMessage
}

func (m *said) text() (text string) {
	_ = json.Unmarshal(m.Content, &text)
	return text
}

// conversation is a recorded conversation that is held again, message by message.
type conversation struct {
	ID       string
	Messages []json.RawMessage

	all  []said
	next int
}

func (c *conversation) read(t *testing.T) {
	t.Helper()
	for _, raw := range c.Messages {
		m := said{raw: raw}
		require.NoError(t, json.Unmarshal(raw, &m))
		c.all = append(c.all, m)
	}
}

// take returns the next message if it has one of these roles.
func (c *conversation) take(roles ...string) *said {
	if c.next >= len(c.all) {
		return nil
	}
	m := &c.all[c.next]
	if !slices.Contains(roles, m.Role) {
		return nil
	}
	c.next++
	return m
}

// tools returns the tools that the conversation calls. Each answers what the recorded one did.
func (c *conversation) tools() (all []tools.Tool) {
	known := map[string]bool{}
	add := func(name string) {
		if name == "" || known[name] {
			return
		}
		known[name] = true
		all = append(all, tools.NewRaw(tools.Definition{Name: name, ReadOnly: true, Sequential: true}, func(context.Context, string) (string, error) {
			m := c.take("tool", "function")
			if m == nil {
				return "", errors.New("the recorded conversation has no result here")
			}
			return m.text(), nil
		}))
	}
	for i := range c.all {
		for _, call := range c.all[i].Calls {
			add(call.Function.Name)
		}
		if f := c.all[i].Function; f != nil {
			add(f.Name)
		}
	}
	return all
}

// TestPrefix_recordedConversations holds recorded conversations again, each turn as a run of its
// own. Every request of a conversation begins with the last one, byte for byte, also that of the
// next turn: what a client reads, it sends back as it came.
func TestPrefix_recordedConversations(t *testing.T) {
	const dir = "../../../shared/corpus/transcripts"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the corpus of recorded conversations is not at ../shared/corpus, beside the repository")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	require.NoError(t, err)
	held, compared := 0, 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(raw)) {
			c := new(conversation)
			require.NoError(t, json.Unmarshal([]byte(line), c))
			c.read(t)
			compared += holdAgain(t, c)
			held++
		}
	}
	t.Logf("%d conversations, %d requests that extend the last one", held, compared)
	require.GreaterOrEqual(t, held, 14)
	require.Greater(t, compared, 120)
}

// holdAgain holds a conversation again, and returns how many requests were compared.
func holdAgain(t *testing.T, c *conversation) (compared int) {
	t.Helper()
	var last *sentBody
	var s *server
	s = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		body, _ := s.Sent()
		now := new(sentBody)
		if err := json.Unmarshal([]byte(body), now); err != nil {
			t.Error(err)
		}
		if last != nil {
			compared++
			if !now.begins(last) {
				t.Errorf("%s: after\n%.2000s\nit sends\n%.2000s", c.ID, last.Messages, body)
			}
		}
		last = now
		m := c.take("assistant")
		if m == nil {
			http.Error(w, `{"error":{"message":"the recording ends here"}}`, http.StatusBadRequest)
			return
		}
		finish := `"stop"`
		if len(m.Calls) > 0 || m.Function != nil {
			finish = `"tool_calls"`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":` + finish + `,"message":` + string(m.raw) + `}]}`))
	})
	var history messages.History
	if m := c.take("system"); m != nil {
		history = messages.History{messages.System{Text: m.text()}}
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client: newClient(t, s, func(*openaichat.Config) {}), Tools: c.tools(),
		Strategies: strategy.Set{completetask.Name: completetask.New(completetask.Config{})},
	})
	require.NoError(t, err)
	for turn := c.take("user"); turn != nil; turn = c.take("user") {
		if turn.text() == "" {
			break
		}
		result, err := o.Run(t.Context(), orchestrator.Task{Strategy: completetask.Name, Input: delegation.Input{Goal: turn.text(), Messages: history}})
		if err != nil { // after the results of tools somebody speaks, or nobody
			require.ErrorContains(t, err, "the recording ends here", c.ID)
		}
		history = result.Output.Messages
	}
	for _, m := range c.all[c.next:] { // one recording goes on after its end
		require.Equal(t, "assistant", m.Role, c.ID)
	}
	s.Close()
	return compared
}
