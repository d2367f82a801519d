package frame

import (
	"encoding/json"
	"errors"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/compact"
	"github.com/segue-go/segue/strategy/internal/search"
	"github.com/segue-go/segue/tools"
)

// Conversation is the base of a strategy that leads a conversation with a model. It holds what was
// said, the notes, the tools, and what a compaction needs. Embed it, and make it with [Converse].
type Conversation struct {
	Frame
	Notes

	History  messages.History
	Repaired []string            // repairs of the input messages
	Calls    []messages.ToolCall // that await results, if the strategy keeps them
	Asked    int                 // model calls answered
	Finish   llmclient.FinishReason

	Defs     []tools.Definition // that may be used
	Search   *search.Search     // knows which of them are offered
	ToolsErr error              // the tools do not fit the Config

	Compact compact.Compactor
	Pending strategy.Trigger // what is due after the summary that is awaited
	News    *string          // why the request after that summary would not extend the last one without it

	self Converser
}

// Converser is a strategy that embeds a [Conversation].
type Converser interface {
	// Reached returns the work done so far, for an error.
	Reached() delegation.Output

	// Resume takes a conversation that a compaction made shorter, and fires the trigger with the
	// request that the compaction was for.
	Resume(on strategy.Trigger, h messages.History) nextstep.NextStep
}

// Converse returns the conversation of a new strategy.
func Converse(t *strategy.Table, s *Settings, self Converser) Conversation {
	return Conversation{Frame: New(t, s), Compact: s.compaction.Compactor(), self: self}
}

// Resume is that of a strategy without compaction.
func (c *Conversation) Resume(strategy.Trigger, messages.History) nextstep.NextStep {
	return c.OutOfTurn()
}

// Open begins the conversation: system prompt, earlier conversation, goal. With keep, a
// conversation that begins with a system message keeps this message. The error is that of the
// Config or of the tools.
func (c *Conversation) Open(in delegation.Input, system string, keep bool) error {
	if err := c.settings.Err; err != nil {
		return err
	}
	if keep {
		c.History, c.Repaired = in.Conversation("")
	}
	if len(c.History) == 0 || c.History[0].Role() != messages.RoleSystem {
		c.History, c.Repaired = in.Conversation(system)
	}
	c.Search.Recall(c.History)
	c.Compact.Start(c.History)
	return c.ToolsErr
}

// Use takes the tools that the frame may use; see [Tools].
func (c *Conversation) Use(defs []tools.Definition, names []string) {
	c.Defs, c.ToolsErr = Tools(c.settings.Pkg, defs, names)
}

// StartSearch decides which of the tools are offered at first.
func (c *Conversation) StartSearch(o search.Options) {
	search, err := c.settings.Plan.Start(c.settings.Pkg, c.Defs, o)
	c.Search, c.ToolsErr = search, errors.Join(c.ToolsErr, err)
}

// EditCalls implements strategy.CallEditor: the last message, which no request has contained yet,
// has the calls as they were made.
func (c *Conversation) EditCalls(calls []messages.ToolCall) {
	if a, ok := c.History.Last().(messages.Assistant); ok {
		edited := a.WithCalls(calls)
		c.History[len(c.History)-1], c.Calls = edited, edited.Calls()
	}
}

// HasNews reports whether the model is asked again although it has answered: it has not seen a
// note, and the trigger for that is allowed.
func (c *Conversation) HasNews(on strategy.Trigger) bool { return len(c.Untold()) > 0 && c.Can(on) }

// TellNotes adds the untold notes to the conversation.
func (c *Conversation) TellNotes() { c.History = c.Told(c.History) }

// Fire fires a trigger with a step made from prompts. If a prompt could not be filled in, it ends
// with an error.
func (c *Conversation) Fire(on strategy.Trigger, step nextstep.NextStep) nextstep.NextStep {
	if err := c.PromptErr(); err != nil {
		return c.Abort(delegation.CodeInvalid, err)
	}
	return c.Then(on, step)
}

// Abort ends the strategy with an error and the work done so far.
func (c *Conversation) Abort(code delegation.Code, err error) nextstep.NextStep {
	return c.Fail(delegation.NewError(code, err), c.self.Reached())
}

// Describe adds to the metadata of an output what all conversations tell.
func (c *Conversation) Describe(m *delegation.Metadata) {
	switch c.Finish {
	case "", llmclient.FinishStop, llmclient.FinishToolCalls:
	default:
		_ = m.Set("finish", c.Finish)
	}
	made, failed := c.Compact.Counts()
	if made > 0 {
		_ = m.Set("compactions", made)
	}
	if failed > 0 {
		_ = m.Set("summaries_failed", failed)
	}
	SetList(m, "repaired", c.Repaired)
	SetUnused(m, c.Untold())
}

// Recall reads a snapshot into a memory of that version. In it found is the list of the tools that
// were searched for; nil for a strategy without a search.
func (c *Conversation) Recall(version int, snapshot json.RawMessage, memory any, found *[]string) error {
	if err := errors.Join(c.settings.Err, c.ToolsErr); err != nil {
		return err
	}
	if err := Restore(c.settings.Pkg, version, snapshot, memory); err != nil || found == nil {
		return err
	}
	if err := c.Search.Restore(*found); err != nil {
		return c.Misfit(err.Error())
	}
	return nil
}

// RecallCompaction takes what a snapshot has of the compaction of a conversation.
func (c *Conversation) RecallCompaction(s *compact.State, h messages.History) error {
	if !c.Compact.Restore(s, h) {
		return c.Misfit("the compaction does not fit the Config or the history")
	}
	return nil
}

// Misfit returns the error for a snapshot that does not fit the strategy.
func (c *Conversation) Misfit(problem string) error {
	return misfit(c.settings.Pkg, errors.New(problem))
}
