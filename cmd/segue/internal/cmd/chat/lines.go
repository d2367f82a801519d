package chat

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/chatline"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/lineedit"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/xdg"
)

// turnSource yields what is typed, a turn or a command at a time. The error is [io.EOF] at the end,
// and errLineCancelled if nothing was said.
type turnSource interface {
	next(ctx context.Context) (string, error)
}

// errLineCancelled says that Ctrl-C was pressed while a line was typed.
var errLineCancelled = errors.New("the line was cancelled")

// The prompts of a chat.
const (
	chatPrompt = "> "
	morePrompt = ". "
)

// lines returns where the turns come from: an editor, or plain lines where the terminal is none
// that can be written over or shall not be, or what is no terminal at all.
func (ch *chat) lines() turnSource {
	switch {
	case !ch.typing():
		return &readLines{r: bufio.NewReader(ch.Stdin)}
	case ch.Stdin != io.Reader(os.Stdin) || !terminal.IsTerminal(ch.Stdout) || ch.flags.Out.Plain || ch.Getenv("TERM") == "dumb":
		return &askedLines{ch}
	}
	ch.typed = ch.openTyped()
	return &editedLines{chat: ch, editor: lineedit.New(lineedit.Config{
		Prompt: chatPrompt, More: morePrompt, GoesOn: chatline.GoesOn, Complete: ch.complete, Typed: ch.typed.Typed,
	})}
}

// openTyped opens the history of lines. If it cannot be kept it lasts as long as the process.
func (ch *chat) openTyped() *chatline.History {
	path := ""
	if folder := xdg.Folder(ch.Getenv, "XDG_STATE_HOME", filepath.Join(".local", "state")); folder != "" {
		path = filepath.Join(folder, "segue", "chat-history")
	}
	h, err := chatline.OpenHistory(path)
	if err != nil {
		ch.screen.Warn("what was typed before is not known: " + plaintext.OneLine(err.Error()))
	}
	return h
}

// editedLines are typed at a terminal, with an editor.
type editedLines struct {
	*chat
	editor    *lineedit.Editor
	cancelled bool // the last line was, with Ctrl-C
}

func (l *editedLines) next(ctx context.Context) (string, error) {
	typed, beyond, err := terminal.Edit(ctx, l.editor, l.Ahead)
	l.Ahead = beyond
	again := l.cancelled && typed == ""
	l.cancelled = errors.Is(err, lineedit.ErrCancelled)
	switch {
	case l.cancelled && again:
		return "", io.EOF
	case l.cancelled:
		l.say("Ctrl-C again or Ctrl-D ends the chat")
		return "", errLineCancelled
	case err != nil:
		return "", err
	}
	if err := l.typed.Add(strings.TrimSpace(typed)); err != nil {
		l.screen.Warn("what you type is not kept: " + plaintext.OneLine(err.Error()))
	}
	return typed, nil
}

// askedLines are typed at a terminal, without an editor.
type askedLines struct{ *chat }

func (l *askedLines) next(ctx context.Context) (string, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	input, release := terminal.Cancellable(l.Stdin)
	defer release()
	keys := terminal.NewKeyboard(input)
	return joined(func(prompt string) (string, error) {
		l.screen.Prompt(prompt)
		line, err := keys.ReadLine(ctx)
		l.screen.EndPrompt(err == nil)
		if ctx.Err() != nil {
			err = cli.EndedBySignal(ctx)
		}
		return line, err
	})
}

// readLines are read from a file or a pipe.
type readLines struct{ r *bufio.Reader }

func (l *readLines) next(context.Context) (string, error) {
	return joined(func(string) (string, error) {
		line, err := l.r.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF) && line != "":
			err = nil // the last line has no end
		case err != nil && !errors.Is(err, io.EOF):
			err = cli.Failed(err)
		}
		return line, err
	})
}

// joined reads the lines of a turn.
func joined(read func(prompt string) (string, error)) (string, error) {
	typed := ""
	for prompt := chatPrompt; ; prompt = morePrompt {
		line, err := read(prompt)
		if err != nil {
			if errors.Is(err, io.EOF) && strings.TrimSpace(typed) != "" {
				err = nil // the turn has no end
			}
			return typed, err
		}
		begun, goesOn := chatline.GoesOn(typed + strings.ToValidUTF8(strings.TrimRight(line, "\r\n"), "\ufffd"))
		if !goesOn {
			return begun, nil
		}
		typed = begun + "\n"
	}
}
