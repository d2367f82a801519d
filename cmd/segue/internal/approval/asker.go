// Package approval asks the user at the terminal for what a run waits for: approval of tool calls,
// and answers to questions.
package approval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// Asker asks the user at the terminal of a run. It is safe for concurrent use: the user gets one
// question at a time, in the order of the calls.
type Asker struct {
	screen     *terminal.Screen
	files      *workfolder.Folder // the folder of the tool calls; nil if there is none
	keys       *terminal.Keyboard
	editor     *Editor
	about      map[string][]terminal.Line // by the name of a tool
	notes      *Notes                     // what is typed while nothing is asked; nil: nothing is
	inputEnded bool                       // the input has ended; only the first in the queue uses it, and keys

	mu      sync.Mutex
	allowed map[workfolder.Grant]bool // grants of "always"
	queue   []*turn                   // waits in order; the first one is being asked
}

// turn is the turn of a wait in the queue.
type turn struct {
	wait  string
	taken bool          // a goroutine asks about it
	first chan struct{} // closed when it is the first
}

// NewAsker returns an Asker that shows its prompts on s and reads the answers from input. Show s
// the events of the run too: it knows the names of the agents by them. files may be nil.
func NewAsker(s *terminal.Screen, files *workfolder.Folder, input io.Reader) *Asker {
	keys := terminal.NewKeyboard(input)
	return &Asker{
		screen: s, files: files, keys: keys,
		editor:  &Editor{Dumb: true, In: input, Screen: s, Keys: keys},
		allowed: map[workfolder.Grant]bool{},
	}
}

// EditWith says how the user changes the arguments of calls: with the editor and at the terminal of
// the environment, in calls of these tools. Call it before the run.
func (a *Asker) EditWith(getenv func(string) string, out io.Writer, list []tools.Tool) {
	a.editor.Command, a.editor.Dumb, a.editor.Out = EditorOf(getenv), getenv("TERM") == "dumb", out
	for _, t := range list {
		a.editor.Tools = append(a.editor.Tools, t.Definition())
	}
}

// Explain says what the user is told of calls of a tool, by its name, before approving one. Call it
// before the run.
func (a *Asker) Explain(about map[string][]terminal.Line) { a.about = about }

// Observe adds waits to the queue, in the order of their events. It removes a wait that ends before
// it was asked.
func (a *Asker) Observe(e machine.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch d := e.Detail.(type) {
	case machine.WaitStarted:
		a.add(d.Wait.ID)
	case machine.WaitEnded:
		if i := a.next(d.WaitID); i >= 0 {
			a.remove(i)
		}
	}
}

// add adds a wait to the queue. The lock is held, as for next and remove.
func (a *Asker) add(wait string) {
	t := &turn{wait: wait, first: make(chan struct{})}
	if a.queue = append(a.queue, t); len(a.queue) == 1 {
		close(t.first)
	}
}

// next returns the index in the queue of a wait that no goroutine asks about; -1 if there is none.
func (a *Asker) next(wait string) int {
	return slices.IndexFunc(a.queue, func(t *turn) bool { return t.wait == wait && !t.taken })
}

// remove takes a turn out of the queue.
func (a *Asker) remove(i int) {
	if a.queue = slices.Delete(a.queue, i, i+1); i == 0 && len(a.queue) > 0 {
		close(a.queue[0].first)
	}
}

// enter takes the turn of a wait.
func (a *Asker) enter(wait string) *turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.next(wait)
	if i < 0 {
		a.add(wait)
		i = len(a.queue) - 1
	}
	a.queue[i].taken = true
	return a.queue[i]
}

// enterIdle takes a turn if nobody else has one, or waits for one; otherwise it returns nil.
func (a *Asker) enterIdle() *turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) > 0 {
		return nil
	}
	a.add("")
	a.queue[0].taken = true
	return a.queue[0]
}

// isIdle reports whether nobody has a turn, or waits for one.
func (a *Asker) isIdle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue) == 0
}

// leave ends a turn.
func (a *Asker) leave(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(slices.Index(a.queue, t))
}

// Reply is the Reply of an [orchestrator.Config].
func (a *Asker) Reply(ctx context.Context, w machine.Wait) (machine.Reply, error) {
	t := a.enter(w.ID)
	defer a.notes.listen()
	defer a.leave(t)
	select {
	case <-t.first:
	case <-ctx.Done():
		return machine.Reply{}, context.Cause(ctx)
	}
	if ctx.Err() != nil {
		return machine.Reply{}, context.Cause(ctx)
	}
	a.notes.pause()
	switch w.Kind {
	case machine.WaitApproval:
		return a.approve(ctx, w)
	case machine.WaitUnknown:
		return a.again(ctx, w)
	default:
		return a.answer(ctx, w)
	}
}

// approve asks whether a tool call may be made, unless that was answered with "always" meanwhile.
func (a *Asker) approve(ctx context.Context, w machine.Wait) (machine.Reply, error) {
	if a.allows(w.Tool, w.Arguments) {
		return machine.Reply{Approve: true}, nil
	}
	reply := machine.Reply{Approve: true}
	call, shown, above := a.present(w, "")
	for {
		line, err := a.ask(ctx, call.prompt(a.screen.Size().Columns), above)
		if err != nil {
			return machine.Reply{}, err
		}
		switch line = strings.ToLower(line); {
		case line == "y" || line == "yes":
			return reply, nil
		case call.always != nil && (line == "a" || line == "always"):
			a.allow(*call.always)
			return reply, nil
		case line == "e" || line == "edit":
			changed, err := a.editor.Edit(ctx, w)
			switch {
			case ctx.Err() != nil:
				return machine.Reply{}, context.Cause(ctx)
			case err != nil:
				above = []terminal.Line{terminal.Warn.Line("Not changed: " + plaintext.OneLine(err.Error()))}
			case changed == "":
				above = []terminal.Line{terminal.Warn.Line("Nothing was changed.")}
			default:
				w.Arguments, reply.Arguments = changed, changed
				call, shown, above = a.present(w, "as you changed it")
			}
		case line == "n" || line == "no":
			return a.reason(ctx, "why not, for the model (or just Enter) > ")
		case shown.More() && (line == "m" || line == "more"):
			above = shown.Next(a.screen.Size())
		default:
			above = []terminal.Line{terminal.Warn.Line(call.hint(shown.More()))}
		}
	}
}

// present returns a call as it is shown, and the lines of its first page. how says something of the
// call; "" says nothing.
func (a *Asker) present(w machine.Wait, how string) (proposal, *terminal.Pages, []terminal.Line) {
	call, size := propose(a.files, w, a.screen.Agent(w.Frame)), a.screen.Size()
	call.about = slices.Concat(a.about[w.Tool], call.about)
	if how != "" {
		call.about = append([]terminal.Line{terminal.Warn.Line("  " + how)}, call.about...)
	}
	shown := terminal.NewPages(call.heading, call.content, size.Columns)
	return call, shown, shown.Next(size, call.about...)
}

// again asks whether to repeat a call that may have had its effect.
func (a *Asker) again(ctx context.Context, w machine.Wait) (machine.Reply, error) {
	for above := terminal.DescribeUnknown(w, a.screen.Agent(w.Frame)); ; {
		line, err := a.ask(ctx, "make it again: y yes, n no > ", above)
		if err != nil {
			return machine.Reply{}, err
		}
		switch strings.ToLower(line) {
		case "y", "yes":
			return machine.Reply{Approve: true}, nil
		case "n", "no":
			return a.reason(ctx, "what is known of it, for the model (or just Enter) > ")
		default:
			above = []terminal.Line{terminal.Warn.Line("Answer y or n. Ctrl-C stops the run.")}
		}
	}
}

// reason asks for the reason of a no.
func (a *Asker) reason(ctx context.Context, prompt string) (machine.Reply, error) {
	why, err := a.ask(ctx, prompt, nil)
	if errors.Is(err, tools.ErrSuspended) {
		err = nil // no reason is a valid answer
	}
	return machine.Reply{Reason: why}, err
}

// answer asks a question of the model.
func (a *Asker) answer(ctx context.Context, w machine.Wait) (machine.Reply, error) {
	for above := terminal.DescribeQuestion(w, a.screen.Agent(w.Frame)); ; {
		line, err := a.ask(ctx, "your answer > ", above)
		if err != nil {
			return machine.Reply{}, err
		}
		text, problem := Choose(line, w.Options)
		if problem == "" {
			return machine.Reply{Text: text}, nil
		}
		above = []terminal.Line{terminal.Warn.Line(problem + " Ctrl-C stops the run.")}
	}
}

// ask shows lines and a prompt, and returns the typed line.
func (a *Asker) ask(ctx context.Context, prompt string, above []terminal.Line) (string, error) {
	if a.inputEnded {
		return "", tools.ErrSuspended
	}
	a.keys.DiscardTyped()
	a.screen.Prompt(prompt, above...)
	line, err := a.keys.ReadLine(ctx)
	a.screen.EndPrompt(err == nil)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		a.inputEnded = true
		return "", tools.ErrSuspended
	}
	return strings.TrimSpace(plaintext.Printable(strings.ToValidUTF8(line, ""))), nil
}

func (a *Asker) allow(g workfolder.Grant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.allowed[g] = true
}

// UnlessAllowed returns a policy that does not ask about calls that the user has allowed with
// "always".
func (a *Asker) UnlessAllowed(policy machine.ApprovalPolicy) machine.ApprovalPolicy {
	return func(r machine.ApprovalRequest) machine.Verdict {
		v := policy(r)
		if v != machine.VerdictAsk {
			return v
		}
		if a.allows(r.Call.Name, r.Call.Arguments) {
			return machine.VerdictAllow
		}
		return v
	}
}

// allows reports whether the user has allowed such a call with "always".
func (a *Asker) allows(tool, arguments string) bool {
	g, ok := a.files.GrantOf(tool, arguments)
	a.mu.Lock()
	defer a.mu.Unlock()
	return ok && g.Within(a.allowed)
}

// Choose returns the answer for a typed line, or the problem of the line. Any text that is not an
// option is an answer too.
func Choose(line string, options []string) (answer, problem string) {
	if line == "" {
		return "", "An answer is needed."
	}
	if n, err := strconv.Atoi(line); err == nil && terminal.Numbered(options) {
		if n < 1 || n > len(options) {
			return "", fmt.Sprintf("There is no option %d.", n)
		}
		return options[n-1], ""
	}
	return line, ""
}
