package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/attachment"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
)

// turn makes a run of what somebody says.
func (ch *chat) turn(ctx context.Context, text string) error {
	if err := ch.chooseAgent(ctx, text); err != nil {
		return err
	}
	history, err := ch.history(ctx)
	if err != nil {
		return err
	}
	j, err := run.JobOf(ctx, ch.CLI, ch.flags, ch.cfg, ch.screen)
	if err != nil {
		return err
	}
	defer j.CloseFiles() // the store is that of all turns
	j.Runs = ch.runs
	if err := run.NoteBegun(ch.CLI, &j, ch.flags, ch.cfg, ch.place); err != nil {
		return err
	}
	j.Task.Session = ch.session
	j.Task.Input = delegation.Input{
		Goal:     attachment.WithTexts(text, ch.files),
		Messages: slices.Concat(history, attachment.Parts(ch.files)),
	}
	heard := run.Printer{Form: cli.FormText}
	partial := ""
	j.Heard = func(e machine.Event) {
		heard.Listen(e)
		if end, ok := e.Detail.(machine.RunFinished); ok && end.Output.Result == nil {
			partial = heard.Answer(end)
		}
	}
	at := *ch.CLI // what is typed at an approval that Ctrl-C ends is for the next turn
	input, release := terminal.Cancellable(ch.Stdin)
	defer release()
	if ch.typing() {
		at.Stdin = input
	}
	err = run.Perform(ctx, &at, j, ch.flags.Out, ch.screen)
	ch.turns++
	ch.Ahead = at.Ahead
	ch.files, ch.partial = nil, partial
	return err
}

// chooseAgent chooses the agent of the first turn: that of the last turn of the conversation, or by
// the rules of the configuration. All turns have it until /agent names another one.
func (ch *chat) chooseAgent(ctx context.Context, text string) error {
	if ch.cfg == nil || ch.flags.Agent != "" {
		return nil
	}
	agent, why := "", "that of the turn before"
	if last, err := lastTurn(ctx, ch.runs, ch.session); err == nil && last != nil {
		agent = last.Header.Labels[run.AgentLabel]
	}
	if _, there := ch.cfg.Agents[agent]; !there {
		var err error
		if agent, why, err = ch.cfg.Choose(config.Request{Source: ch.flags.Source, Goal: text}); err != nil {
			return err
		}
	}
	ch.flags.Agent = agent
	ch.screen.ShowProgress("agent " + agent + " (" + why + ")")
	return nil
}

// history returns the conversation so far, with what came of an answer that was broken off. The
// system prompt belongs to the agent: that of another one is left out.
func (ch *chat) history(ctx context.Context) (messages.History, error) {
	last, err := lastTurn(ctx, ch.runs, ch.session)
	if err != nil || last == nil {
		return nil, err
	}
	var h messages.History
	err = ch.reads(ctx, last.Key, func(o *orchestrator.Orchestrator) (err error) {
		h, err = o.History(ctx, "", ch.session)
		return err
	})
	if err != nil {
		return nil, cli.Failed(err)
	}
	h = h.Clip()
	if last.Header.Labels[run.AgentLabel] != ch.flags.Agent {
		h = slices.DeleteFunc(slices.Clone(h), func(m messages.Message) bool { return m.Role() == messages.RoleSystem })
	}
	if ch.partial != "" && len(h) > 0 && h[len(h)-1].Role() != messages.RoleAssistant {
		h = append(h, messages.AssistantText(ch.partial))
	}
	return h, nil
}

// reads does something with an orchestrator that has the strategies of a run, and asks no model. If
// what the run was begun with cannot be had any more, they are those of the command.
func (ch *chat) reads(ctx context.Context, key checkpoint.Key, do func(*orchestrator.Orchestrator) error) error {
	f := &run.Flags{Reads: true, Mute: true, Given: func(string) bool { return false }, Store: ch.flags.Store}
	j, err := run.JobAgain(ctx, ch.CLI, f, ch.runs, key, ch.screen)
	if err != nil {
		return ch.runs.Through(ctx, func(_ context.Context, o *orchestrator.Orchestrator) error { return do(o) })
	}
	defer j.CloseFiles()
	o, err := j.Orchestrator(nil)
	if err != nil {
		return err
	}
	return do(o)
}

// lastTurn returns the head of the last run of a conversation; nil if there is none.
func lastTurn(ctx context.Context, st *cli.RunStore, session string) (last *checkpoint.Head, err error) {
	turn := -1
	err = st.Through(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
		for head, err := range o.SessionRuns(ctx, "", session) {
			if err != nil {
				return cli.Failed(err)
			}
			if n, _ := strconv.Atoi(head.Header.Labels[orchestrator.LabelTurn]); n > turn { // 0 if it does not say
				last, turn = &head, n
			}
		}
		return nil
	})
	return last, err
}

// undo begins a branch of the conversation that ends before its last turn. The turn is kept where
// it was.
func (ch *chat) undo(ctx context.Context) error {
	last, err := lastTurn(ctx, ch.runs, ch.session)
	if err != nil {
		return err
	}
	if last == nil {
		return errNothingToUndo
	}
	goal := ch.runs.GoalOf(ctx, last.Key)
	before, err := turnBefore(ctx, ch.runs, last)
	if err != nil {
		return err
	}
	name, err := ch.free(ctx, ch.session)
	if err != nil {
		return err
	}
	if before != "" {
		key := checkpoint.Key{Run: before}
		err = ch.reads(ctx, key, func(o *orchestrator.Orchestrator) error {
			_, err := runs.Fork(ctx, o, runs.ForkConfig{From: key, Session: name})
			return err
		})
		if err != nil {
			return cli.Failed(err)
		}
	}
	kept := ch.session
	ch.session, ch.partial = name, ""
	ch.say("undone: " + plaintext.Head(plaintext.OneLine(goal), terminal.TextColumns))
	if hasCalls(ctx, ch.runs, last) {
		ch.say("what its tools changed stays as it is now")
	}
	ch.say("the conversation goes on as " + plaintext.Visible(name) + "; " + plaintext.Visible(kept) + " keeps that turn")
	return nil
}

// hasCalls reports whether a run has called tools.
func hasCalls(ctx context.Context, st *cli.RunStore, h *checkpoint.Head) bool {
	view, err := runview.Read(ctx, st, *h)
	return err == nil && slices.ContainsFunc(view.Frames, func(f runview.Frame) bool { return f.ToolCalls > 0 })
}

// turnBefore returns the run of the turn before a run; "" if there is none. The first run of a
// branch is a copy: the turn before it is that of the original.
func turnBefore(ctx context.Context, st *cli.RunStore, h *checkpoint.Head) (string, error) {
	session := h.Header.Labels[orchestrator.LabelSession]
	for h.Header.Origin.Run != "" && h.Header.Origin.Record > 0 {
		head, err := st.Head(ctx, checkpoint.Key{Run: h.Header.Origin.Run})
		if err != nil {
			return "", cli.Failed(err)
		}
		h, session = &head, head.Header.Labels[orchestrator.LabelSession]
	}
	origin := h.Header.Origin.Run
	if origin == "" {
		return "", nil
	}
	before, err := st.Head(ctx, checkpoint.Key{Run: origin})
	if err != nil {
		return "", cli.Failed(err)
	}
	if before.Header.Labels[orchestrator.LabelSession] != session {
		return "", nil // a fork with another task
	}
	return origin, nil
}

// branchBase returns the name of a conversation without the number of a branch, and that number.
func branchBase(name string) (base string, number int) {
	if i := strings.LastIndexByte(name, '+'); i > 0 {
		if n, err := strconv.Atoi(name[i+1:]); err == nil && n > 1 {
			return name[:i], n
		}
	}
	return name, 1
}
