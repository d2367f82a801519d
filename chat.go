package segue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// Chat is a conversation with an agent, turn by turn. It is not safe for concurrent use.
//
// To go on in another process, keep it in a file ([Agent.OpenChat]), or write History as JSON where
// you like, and hand it to [Agent.Chat] there.
type Chat struct {
	agent *Agent
	file  string // where History is kept; "": nowhere

	// History is the conversation so far. It obeys the laws of [messages.History.Validate] whatever
	// became of a turn.
	History messages.History
}

// Chat begins a conversation, or goes on with one: System takes the place of the system prompt that
// it was held under. The slice is read-only from then on.
func (a *Agent) Chat(history messages.History) *Chat { return &Chat{agent: a, History: history} }

// OpenChat is [Agent.Chat] with a conversation that is kept in a file: the one that the file holds,
// or a new one where there is no such file. Each turn that changes the History writes the file anew,
// whole or not at all, as JSON, for its owner alone to read; a turn whose History cannot be written
// ends with that error, and with the answer. Two chats must not have one file at the same time: the
// later turn would take the place of the other.
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

// Ask is [Agent.Ask] with all that was said before. What was said in a turn that fails stays in the
// History; of a turn that waits for somebody nothing does.
func (c *Chat) Ask(ctx context.Context, text string) (string, error) {
	o, err := c.agent.Orchestrator()
	if err != nil {
		return "", err
	}
	res, err := o.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: text, Messages: c.History}})
	err = unlessWaiting(res, err)
	if res.Status != orchestrator.StatusWaiting {
		if kept := c.keep(res.Output); kept != nil {
			err = errors.Join(err, kept)
		}
	}
	return res.Output.Text(), err
}

// Stream is [Agent.Stream] with all that was said before. A turn that is broken out of leaves the
// History as it was.
func (c *Chat) Stream(ctx context.Context, text string) iter.Seq2[string, error] {
	return c.agent.stream(ctx, delegation.Input{Goal: text, Messages: c.History}, c.keep)
}

// keep takes the conversation over, unless the turn did not begin.
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
		err = replaceFile(c.file, data)
	}
	if err != nil {
		return fmt.Errorf("segue: the conversation cannot be kept: %w", err)
	}
	return nil
}

// replaceFile writes a file whole or not at all, for its owner alone to read.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
