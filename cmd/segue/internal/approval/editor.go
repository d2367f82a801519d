package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// Editor lets the user change the arguments of a call, in the editor of the environment or, if the
// environment names none, in a line of the terminal. It is not safe for concurrent use.
type Editor struct {
	Command string             // the user's editor, as a shell reads it; "": a line of the terminal
	Dumb    bool               // the terminal cannot edit a line
	Tools   []tools.Definition // what the tools take
	In      io.Reader          // the terminal
	Out     io.Writer          // the terminal
	Screen  *terminal.Screen   // holds back other output meanwhile
	Keys    *terminal.Keyboard // for a line of the terminal

	drafts map[string]draft // texts that could not be used, by the id of the wait
}

// EditorOf returns the command of the editor that the environment names; "" if it names none.
func EditorOf(getenv func(string) string) string { return cmp.Or(getenv("VISUAL"), getenv("EDITOR")) }

// Edit returns the arguments of a call as the user changed them, as JSON without blanks. They are
// as the tool takes them. If the user changed nothing, it returns "". A text that cannot be used is
// an error, and is there again when the same call is edited again.
func (e *Editor) Edit(ctx context.Context, w machine.Wait) (string, error) {
	was := newDraft(w.Tool, w.Arguments)
	d, ok := e.drafts[w.ID]
	if !ok {
		d = was
	}
	var err error
	if e.Command != "" {
		d.text, err = e.inEditor(ctx, d)
	} else {
		d, err = e.inLine(ctx, w, d)
	}
	if err != nil {
		return "", err
	}
	arguments, err := d.arguments()
	if err == nil {
		err = fits(e.Tools, w.Tool, arguments)
	}
	if err != nil {
		if e.drafts == nil {
			e.drafts = map[string]draft{}
		}
		e.drafts[w.ID] = d
		return "", err
	}
	delete(e.drafts, w.ID)
	if jsonform.Canonical(arguments) == jsonform.Canonical(w.Arguments) {
		return "", nil
	}
	return arguments, nil
}

// inEditor returns the text of a draft as the editor leaves it.
func (e *Editor) inEditor(ctx context.Context, d draft) (text string, err error) {
	dir, err := os.MkdirTemp("", "segue-edit-*") // readable by the user alone
	if err != nil {
		return "", fmt.Errorf("cannot make a file for the editor: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	name := filepath.Join(dir, "call"+d.kind)
	if err := os.WriteFile(name, []byte(d.text), 0o600); err != nil {
		return "", fmt.Errorf("cannot make a file for the editor: %w", err)
	}
	e.Screen.Prompt("editing with " + plaintext.Visible(e.Command) + plaintext.Ellipsis)
	defer e.Screen.EndPrompt(false)
	cmd := editorCommand(ctx, e.Command, name)
	cmd.Stdout, cmd.Stderr = e.Out, e.Out
	if f := terminal.FileOf(e.In); f != nil { // anything else would be read to its end
		cmd.Stdin = f
	}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("the editor %s failed: %w", plaintext.Visible(e.Command), err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("what the editor wrote cannot be read: %w", err)
	}
	return string(data), nil
}

// editorCommand is the command that edits a file. The shell reads the editor, so that it may have
// arguments, and not the name of the file.
func editorCommand(ctx context.Context, editor, file string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		words := append(strings.Fields(editor), file)
		return exec.CommandContext(ctx, words[0], words[1:]...)
	}
	return exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, file)
}

// maxLine is the maximum size of arguments that are edited in a line of the terminal.
const maxLine = 300

var errLong = errors.New("the call is too long for a line here; name your editor with EDITOR, such as EDITOR=nano")

// inLine has a call edited in a line of the terminal.
func (e *Editor) inLine(ctx context.Context, w machine.Wait, d draft) (draft, error) {
	text := w.Arguments
	if compact, err := d.arguments(); err == nil {
		text = compact
	} else if d.kind == "" { // it was edited here before
		text = d.text
	}
	if e.Dumb || len(text) > maxLine || plaintext.Visible(text) != text {
		return d, errLong
	}
	e.Screen.Prompt("")
	line, err := e.Keys.EditLine(ctx, e.Out, "edit > ", text)
	e.Screen.EndPrompt(true)
	switch {
	case ctx.Err() != nil:
		return d, context.Cause(ctx)
	case errors.Is(err, io.EOF): // Ctrl-C or Ctrl-D: nothing is changed
		return newDraft("", w.Arguments), nil
	case err != nil:
		return d, fmt.Errorf("the line cannot be edited: %w", err)
	}
	return draft{text: strings.TrimSpace(line)}, nil
}
