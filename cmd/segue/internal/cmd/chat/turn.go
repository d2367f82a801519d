package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/checkpoint"
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
	so, err := run.SoFar(ctx, ch.CLI, ch.runs, ch.session, ch.screen)
	if err != nil {
		return err
	}
	if ch.cfg != nil && ch.flags.Agent == "" {
		if err := ch.flags.ChooseAgent(ch.cfg, text, &so, ch.screen); err != nil {
			return err
		}
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
		Messages: slices.Concat(ch.told(&so), attachment.Parts(ch.files)),
	}
	heard := run.Printer{Form: cli.FormText}
	partial := ""
	j.Heard = func(e machine.Event) {
		heard.Listen(e)
		if end, ok := e.Detail.(machine.RunFinished); ok {
			if end.Output.Result == nil {
				partial = heard.Answer(end)
			}
			ch.goOnWith(end.Strategy)
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

// goOnWith has an agent answer the next turn, with its own model unless it has answered before.
func (ch *chat) goOnWith(agent string) {
	if ch.cfg == nil || agent == ch.flags.Agent {
		return
	}
	if _, there := ch.cfg.Agents[agent]; there {
		ch.flags.Agent, ch.flags.Model = agent, ""
	}
}

// told returns what the next turn is told of the conversation, with what came of an answer that was
// broken off.
func (ch *chat) told(so *orchestrator.Conversation) messages.History {
	h := run.ToldTo(ch.flags.Agent, so, ch.cfg)
	if ch.partial != "" && len(h) > 0 && h[len(h)-1].Role() != messages.RoleAssistant {
		h = append(h, messages.AssistantText(ch.partial))
	}
	return h
}

// undo begins a branch of the conversation that ends before its last turn. The turn is kept where
// it was.
func (ch *chat) undo(ctx context.Context) error {
	last, err := ch.runs.LastTurn(ctx, ch.session)
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
		err = run.Reads(ctx, ch.CLI, ch.runs, key, ch.screen, func(o *orchestrator.Orchestrator) error {
			_, err := runs.Fork(ctx, o, runs.ForkConfig{From: key, Session: name})
			return err
		})
		if err != nil {
			return cli.Failed(err)
		}
	}
	kept := ch.session
	ch.session, ch.partial = name, ""
	ch.goOnWith(last.Header.Labels[run.AgentLabel])
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
