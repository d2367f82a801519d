package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/attachment"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/transcript"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/messages"
)

// chatCommand is a command of a chat.
type chatCommand struct {
	name     string
	argument string // what it takes; "" is nothing
	about    string
	do       func(ch *chat, ctx context.Context, argument string) error
	complete func(ch *chat, word string) []string // what its argument may become; nil: nothing
}

// The arguments of commands.
const (
	agentArgument = "[NAME]"
	fileArgument  = "FILE"
)

// chatCommands returns the commands of a chat, in the order of their names.
func chatCommands() []chatCommand {
	return []chatCommand{
		{"add", fileArgument + "...", "give the model files with your next turn: texts, pictures, PDFs and recordings", (*chat).add, filesFor},
		{"agent", agentArgument, "say which agent answers, or have another one answer from now on", (*chat).setAgent, (*chat).agentsFor},
		{"exit", "", "end the chat, as Ctrl-D does", func(*chat, context.Context, string) error { return errLeave }, nil},
		{"help", "", "list these commands", (*chat).help, nil},
		{"model", agentArgument, "say which model answers, or have another one answer from now on", (*chat).setModel, (*chat).modelsFor},
		{"save", fileArgument, "write the conversation to a new file, as Markdown", (*chat).save, filesFor},
		{"undo", "", "take the last turn back: the conversation goes on without it, under a new name", func(ch *chat, ctx context.Context, _ string) error {
			return ch.undo(ctx)
		}, nil},
	}
}

// What commands can end with.
var (
	errLeave         = errors.New("the chat ends")
	errNothingToUndo = errors.New("there is no turn to undo")
	errNothingToSave = errors.New("there is nothing to save yet")
)

// chatCommandList lists the commands for the help.
func chatCommandList() string {
	var b strings.Builder
	for _, c := range chatCommands() {
		fmt.Fprintf(&b, "  %-14s  %s\n", c.usage(), c.about)
	}
	return b.String()
}

func (c chatCommand) usage() string { return strings.TrimSpace("/" + c.name + " " + c.argument) }

// commandIn returns the command in a line without its slash; false if the line is none. The path of
// a file is none either.
func commandIn(typed string) (string, bool) {
	line, is := strings.CutPrefix(strings.TrimRight(typed, " \t\n"), "/")
	word, _, _ := strings.Cut(line, " ")
	return line, is && !strings.ContainsAny(line, "\n") && !strings.ContainsAny(word, "/.")
}

// obey does what a command says.
func (ch *chat) obey(ctx context.Context, line string) error {
	name, argument, _ := strings.Cut(line, " ")
	argument = strings.TrimSpace(argument)
	all := chatCommands()
	i := slices.IndexFunc(all, func(c chatCommand) bool { return c.name == name })
	if i < 0 {
		return fmt.Errorf("no command /%s%s; /help lists them, and a line that is none begins with a blank", plaintext.Head(plaintext.Visible(name), 40), meantCommand(name, all))
	}
	c := all[i]
	switch needs := c.argument != "" && c.argument[0] != '['; {
	case needs && argument == "":
		return fmt.Errorf("/%s needs a file: %s", name, c.usage())
	case c.argument == "" && argument != "":
		return fmt.Errorf("/%s takes nothing after it", name)
	}
	return c.do(ch, ctx, argument)
}

// meantCommand returns a question about the command that was meant; "" if none is near.
func meantCommand(name string, all []chatCommand) string {
	near := "exit"
	if !slices.Contains([]string{"quit", "q", "bye"}, strings.ToLower(name)) {
		var names []string
		for _, c := range all {
			names = append(names, c.name)
		}
		near = similar.Nearest(name, names)
	}
	if near == "" {
		return ""
	}
	return "; did you mean /" + near + "?"
}

func (ch *chat) help(context.Context, string) error {
	for line := range strings.Lines(chatCommandList()) {
		ch.screen.ShowWrapped(terminal.Plain.Line(strings.TrimRight(line, "\n")))
	}
	return nil
}

// add reads files for the next turn.
func (ch *chat) add(_ context.Context, argument string) error {
	files, err := attachment.ReadAll(attachment.PathsIn(argument))
	if err != nil {
		return err
	}
	ch.files = append(ch.files, files...)
	for _, f := range files {
		ch.say("with your next turn: " + f.String())
	}
	return nil
}

// setAgent has another agent answer, with its own model.
func (ch *chat) setAgent(_ context.Context, name string) error {
	if ch.cfg == nil {
		return errors.New("there are no agents without a configuration; see segue config --help")
	}
	if name == "" {
		ch.say("agent " + cmp.Or(plaintext.Visible(ch.flags.Agent), "(chosen by your first turn)"))
		return nil
	}
	if _, _, err := ch.cfg.Choose(config.Request{Agent: name}); err != nil {
		return err
	}
	ch.flags.Agent, ch.flags.Model = name, ""
	ch.say("agent " + plaintext.Visible(name) + " answers from now on")
	return nil
}

// setModel has another model answer.
func (ch *chat) setModel(ctx context.Context, name string) error {
	if name == "" {
		ch.say("model " + plaintext.Visible(ch.model()))
		return nil
	}
	f := *ch.flags
	f.Model = name
	if ch.cfg == nil || f.Agent != "" {
		j, err := run.JobOf(ctx, ch.CLI, &f, ch.cfg, ch.screen)
		if err != nil {
			return err
		}
		j.Close() // it has no store
	}
	ch.flags.Model = name
	ch.say("model " + plaintext.Visible(name) + " answers from now on")
	return nil
}

// model returns the model that answers next.
func (ch *chat) model() string {
	usual := endpoint.EnvironmentModel(ch.flags.API.Value, ch.Getenv)
	if ch.cfg == nil {
		return cmp.Or(ch.flags.Model, usual)
	}
	if agent, ok := ch.cfg.Agents[ch.flags.Agent]; ok {
		usual = cmp.Or(ch.cfg.ModelOf(agent), usual)
	} else {
		usual = "of the agent, which your first turn chooses"
	}
	return cmp.Or(ch.flags.Model, usual)
}

// save writes the conversation to a file that is not there yet, and that only the user can read.
func (ch *chat) save(ctx context.Context, path string) error {
	so, err := run.SoFar(ctx, ch.CLI, ch.runs, ch.session, ch.screen)
	if err != nil {
		return err
	}
	h := ch.told(&so)
	if len(h) == 0 {
		return errNothingToSave
	}
	if paths := attachment.PathsIn(path); len(paths) == 1 { // without its quotes
		path = paths[0]
	}
	path = attachment.InHome(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there already, and is not replaced", plaintext.Visible(path))
	case err != nil:
		return fmt.Errorf("cannot write the conversation: %w", err)
	}
	_, err = io.WriteString(f, transcript.Markdown(ch.session, h))
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // err says why
		return fmt.Errorf("cannot write the conversation: %w", err)
	}
	ch.say("saved: " + plaintext.Visible(path) + " (" + plaintext.Counted(turnsIn(h), "turn") + ")")
	return nil
}

// turnsIn counts the turns of a conversation: what somebody said in words.
func turnsIn(h messages.History) (n int) {
	for _, m := range h {
		if u, ok := m.(messages.User); ok && !slices.ContainsFunc(u.Content, func(c messages.UserContent) bool {
			_, text := c.(messages.Text)
			return !text
		}) {
			n++
		}
	}
	return n
}
