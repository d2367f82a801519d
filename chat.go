package segue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/wholefile"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// Chat is a conversation with an agent, turn by turn. It is not safe for concurrent use.
//
// To continue a conversation in another process, keep it in a file ([Agent.OpenChat]), or store
// History as JSON and pass it to [Agent.Chat] there.
type Chat struct {
	agent *Agent
	file  string // where History is kept; "": nowhere

	// History is the conversation so far. It obeys the laws of [messages.History.Validate] whatever
	// became of a turn.
	History messages.History
}

// Chat starts a conversation, or continues one. The System of the agent replaces the system prompt
// of the history. Do not modify the slice afterwards.
func (a *Agent) Chat(history messages.History) *Chat { return &Chat{agent: a, History: history} }

// OpenChat is [Agent.Chat] with a conversation in a file. It continues the conversation in the
// file, or starts a new one if the file does not exist. After each turn that changes History, the
// file is replaced as a whole, as JSON that only its owner can read. If the file cannot be written,
// the turn returns the answer and that error. Do not open the same file in two chats at a time: one
// of them would overwrite the turns of the other.
func (a *Agent) OpenChat(file string) (*Chat, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &Chat{agent: a, file: file}, nil
	}
	var history messages.History
	if err == nil {
		err = json.Unmarshal(data, &history)
	}
	if err == nil {
		err = history.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("segue: the conversation in %s cannot be read: %w", file, err)
	}
	return &Chat{agent: a, file: file, History: history}, nil
}

// Ask is [Agent.Ask] with the conversation so far. History keeps the messages of a turn that fails,
// and nothing of a turn that waits for a person.
func (c *Chat) Ask(ctx context.Context, text string) (string, error) {
	o, err := c.agent.Orchestrator()
	if err != nil {
		return "", err
	}
	res, err := o.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: text, Messages: c.History}})
	said, err := answer(res, err)
	if res.Status != machine.StatusWaiting {
		if kept := c.keep(res.Output); kept != nil {
			err = errors.Join(err, kept)
		}
	}
	return said, err
}

// Stream is [Agent.Stream] with the conversation so far. If the caller breaks out of a turn,
// History stays as it was.
func (c *Chat) Stream(ctx context.Context, text string) iter.Seq2[string, error] {
	return c.agent.stream(ctx, orchestrator.Task{Input: delegation.Input{Goal: text, Messages: c.History}}, c.keep)
}

// keep stores the conversation, unless the turn did not start.
func (c *Chat) keep(out delegation.Output) error {
	if len(out.Messages) == 0 {
		return nil
	}
	c.History = out.Messages
	if c.file == "" {
		return nil
	}
	data, err := json.Marshal(c.History)
	if err == nil {
		err = wholefile.Replace(c.file, data)
	}
	if err != nil {
		return fmt.Errorf("segue: the conversation cannot be kept: %w", err)
	}
	return nil
}
