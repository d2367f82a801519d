// Package chat is segue chat, a conversation with a model.
package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/attachment"
	"github.com/segue-go/segue/cmd/segue/internal/chatline"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
)

// Commands returns the commands of this package.
func Commands(c *cli.CLI) []*cobra.Command {
	return []*cobra.Command{command(c)}
}

func command(c *cli.CLI) *cobra.Command {
	f := &run.Flags{Strategy: cli.OneOf(strategies.Words()...), Approve: cli.OneOf(approve.Words...)}
	cmd := &cobra.Command{
		Use:   "chat [flags]",
		Short: "Talk with a model, turn by turn",
		Long: `Chat begins a conversation, or goes on with one: each line that you type is a turn, and each turn is a run that starts with what
was said before. Conversations are kept: segue sessions lists them, and --session NAME goes on with one. The flags are those of
segue run; they hold for all turns of this chat.

A line that begins with / is a command of the chat:
` + chatCommandList() + `
Several lines are one turn if all but the last end with a backslash or Alt-Enter, if they stand between two """, or if they are
pasted. Tab completes commands, files, agents and models, and the arrow keys bring back what you have typed before; that is kept in
the state folder. Approvals, questions and notes (Tab, while a turn is at work) are as in segue run; what you type besides is for
the next prompt.

Ctrl-C ends a turn, and keeps what there is of it; a second one ends the process. Ctrl-D ends the chat.

If standard input is no terminal each of its lines is a turn, and the first one that fails ends the chat, with the exit code of
segue run.`,
		Example: `  segue chat
  segue chat --dir notes --session trip
  segue chat -f report.pdf.txt -f chart.png
  printf 'I am Ann\nWho am I?\n' | segue chat -q --output jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return errors.New("chat takes no TASK: type it when you are asked, or use segue run; see segue chat --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runChat(cmd.Context(), c, f) },
	}
	f.Offer(c, cmd)
	f.Settings.Offer(cmd, c, &f.Config)
	f.OfferFiles(cmd, "give the model this `FILE` with your first turn, a text, a picture, a PDF or a recording; may be said again")
	cmd.Flags().StringVar(&f.Session, "session", "", "go on with the conversation with this `NAME`, or begin it (default a new one that is named after the time)")
	_ = cmd.RegisterFlagCompletionFunc("session", c.CompleteSessions(&f.Store)) // the only error is an unknown flag
	return cmd
}

// chat is a conversation while somebody talks.
type chat struct {
	*cli.CLI
	flags  *run.Flags
	place  locate.Place
	cfg    *config.Config // nil: there is none
	runs   *cli.RunStore
	screen *terminal.Screen
	typed  *chatline.History

	session string
	turns   int               // that were made in this process
	files   []attachment.File // for the next turn
	partial string            // the answer of the last turn, as far as it came; "": it came whole, or not at all
}

// runChat executes segue chat.
func runChat(ctx context.Context, c *cli.CLI, f *run.Flags) error {
	if err := f.Settings.FromEnvironment(c.Getenv); err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	f.NoAsk = f.NoAsk || !f.Ask && !c.Interactive
	ctx, release := cli.UntilEnded(ctx)
	defer release()
	ch := &chat{CLI: c, flags: f, screen: c.Screen(f.Out)}
	err := ch.open(ctx)
	defer func() { ch.runs.Release() }()
	if err != nil {
		return err
	}
	lines := ch.lines()
	ch.greet(ctx)
	err = ch.talk(ctx, lines)
	if ctx.Err() != nil {
		err = cli.EndedBySignal(ctx)
	}
	if ch.turns > 0 && ch.typing() {
		ch.say("go on with: " + ch.again())
	}
	return err
}

// typing reports whether the turns are typed at a terminal.
func (ch *chat) typing() bool { return ch.Interactive && ch.Tty == nil }

// open opens what all turns need.
func (ch *chat) open(ctx context.Context) (err error) {
	f := ch.flags
	if ch.place, err = ch.ConfigPath(f.Config, f.Given("config")); err != nil {
		return err
	}
	if ch.cfg, err = run.ConfigOf(ctx, ch.CLI, f, ch.place, ch.screen); err != nil {
		return err
	}
	if ch.cfg != nil {
		if err := f.Settings.FromProfile(ch.cfg); err != nil {
			return err
		}
	}
	if f.Agent != "" {
		if _, _, err = ch.cfg.Choose(config.Request{Agent: f.Agent}); err != nil {
			return err
		}
	}
	if ch.files, err = attachment.ReadAll(f.Files); err != nil {
		return err
	}
	if ch.runs, err = run.KeepRuns(ctx, ch.CLI, &f.Store, ch.cfg, ch.screen); err != nil {
		return err
	}
	if ch.runs == nil {
		return errors.New("a chat needs a file in which it is kept: name one with --store FILE")
	}
	if f.Given("session") {
		ch.session, err = cli.SessionName(f.Session, ch.runs)
		return err
	}
	ch.session, err = ch.free(ctx, "chat-"+time.Now().Format("20060102-150405"))
	return err
}

// free returns the name, or the first name with a number after it, of no conversation yet.
func (ch *chat) free(ctx context.Context, name string) (string, error) {
	for n := 2; ; n++ {
		last, err := ch.runs.LastTurn(ctx, name)
		if err != nil || last == nil {
			return name, err
		}
		base, number := branchBase(name)
		n = max(n, number+1)
		name = fmt.Sprintf("%s+%d", base, n)
	}
}

// greet says what conversation it is, and how to end it.
func (ch *chat) greet(ctx context.Context) {
	if !ch.typing() {
		return
	}
	ch.say("conversation " + plaintext.Visible(ch.session) + "; /help lists the commands, Ctrl-D ends")
	last, err := ch.runs.LastTurn(ctx, ch.session)
	if err != nil || last == nil {
		return
	}
	ch.say("it goes on after: " + plaintext.Head(plaintext.OneLine(ch.runs.GoalOf(ctx, last.Key)), terminal.TextColumns))
	if !last.Header.Status.Ended() {
		ch.say("that turn has not ended: what you say now leaves it as it is; to end it first: " + ch.runs.Command("resume", last.Key.Run))
	}
}

// talk makes a turn of all that is typed, until the input ends.
func (ch *chat) talk(ctx context.Context, lines turnSource) error {
	for ctx.Err() == nil {
		typed, err := lines.next(ctx)
		switch {
		case errors.Is(err, errLineCancelled):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		err = ch.do(ctx, typed)
		switch {
		case errors.Is(err, errLeave):
			return nil
		case err == nil:
		case !ch.typing():
			return err
		default:
			ch.screen.Warn(plaintext.OneLine(err.Error()))
		}
	}
	return nil
}

// do makes a turn of what was typed, or obeys it.
func (ch *chat) do(ctx context.Context, typed string) error {
	if command, is := commandIn(typed); is {
		return ch.obey(ctx, command)
	}
	text := chatline.Text(typed)
	if text == "" {
		return nil
	}
	return ch.turn(ctx, text)
}

// say shows a line from the chat itself.
func (ch *chat) say(line string) { ch.screen.ShowWrapped(terminal.Dim.Line("segue: " + line)) }

// again returns the command line that goes on with the conversation.
func (ch *chat) again() string {
	return "segue chat" + ch.runs.Said + " --session " + cli.Quoted(ch.session)
}
