package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/segue-go/segue/orchestrator"
)

// person is whoever sits at the terminal of a run. Several goroutines may ask at once: the person
// is asked one thing after another.
type person struct {
	screen *screen
	files  *workFolder // that tool calls are about; nil if there is none
	keys   *keyboard
	stop   <-chan struct{} // closed when the run is to end after its step
	turn   chan struct{}   // holds one while something is asked; it guards keys and left
	left   bool            // the input has ended

	mu      sync.Mutex
	allowed map[grant]bool // what may be done without being asked about
}

func newPerson(s *screen, files *workFolder, input io.Reader, stop <-chan struct{}) *person {
	return &person{
		screen: s, files: files, keys: newKeyboard(input), stop: stop,
		turn: make(chan struct{}, 1), allowed: map[grant]bool{},
	}
}

// reply is an [orchestrator.Config] Reply.
func (p *person) reply(ctx context.Context, w orchestrator.Wait) (orchestrator.Reply, error) {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return orchestrator.Reply{}, context.Cause(ctx)
	}
	defer func() { <-p.turn }()
	select {
	case <-p.stop:
		<-ctx.Done() // it is about to be
	default:
	}
	if ctx.Err() != nil {
		return orchestrator.Reply{}, context.Cause(ctx)
	}
	if w.Kind == orchestrator.WaitApproval {
		return p.approve(ctx, w)
	}
	return p.answer(ctx, w)
}

// approve asks whether a tool call may be made.
func (p *person) approve(ctx context.Context, w orchestrator.Wait) (orchestrator.Reply, error) {
	call, size := p.files.propose(w), p.screen.size()
	shown := pages{call.heading, wrapAll(call.content, size.columns)}
	for above := shown.next(size, call.about...); ; {
		line, err := p.ask(ctx, call.prompt(p.screen.size().columns), above)
		if err != nil {
			return orchestrator.Reply{}, err
		}
		switch line = strings.ToLower(line); {
		case line == "y" || line == "yes":
			return orchestrator.Reply{Approve: true}, nil
		case call.always != nil && (line == "a" || line == "always"):
			p.allow(*call.always)
			return orchestrator.Reply{Approve: true}, nil
		case line == "n" || line == "no":
			return p.refuse(ctx)
		case shown.more() && (line == "m" || line == "more"):
			above = shown.next(p.screen.size())
		default:
			above = []note{{warn, call.hint(shown.more())}}
		}
	}
}

// refuse asks why a call is not to be made.
func (p *person) refuse(ctx context.Context) (orchestrator.Reply, error) {
	why, err := p.ask(ctx, "why not, for the model (or just Enter) > ", nil)
	if errors.Is(err, orchestrator.ErrSuspended) {
		err = nil // no is an answer
	}
	return orchestrator.Reply{Reason: why}, err
}

// answer asks a question.
func (p *person) answer(ctx context.Context, w orchestrator.Wait) (orchestrator.Reply, error) {
	for above := showQuestion(w); ; {
		line, err := p.ask(ctx, "your answer > ", above)
		if err != nil {
			return orchestrator.Reply{}, err
		}
		text, problem := choose(line, w.Options)
		if problem == "" {
			return orchestrator.Reply{Text: text}, nil
		}
		above = []note{{warn, problem + " Ctrl-C stops the run."}}
	}
}

// ask shows lines and a prompt, and returns what is typed behind it.
func (p *person) ask(ctx context.Context, prompt string, above []note) (string, error) {
	if p.left {
		return "", orchestrator.ErrSuspended
	}
	p.keys.ready()
	p.screen.prompt(prompt, above...)
	line, err := p.keys.line(ctx)
	p.screen.answered(err == nil)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		p.left = true
		return "", orchestrator.ErrSuspended
	}
	return strings.TrimSpace(printable(strings.ToValidUTF8(line, ""))), nil
}

func (p *person) allow(g grant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed[g] = true
}

// unlessAllowed is a policy that asks no more about what the person always allows.
func (p *person) unlessAllowed(policy orchestrator.ApprovalPolicy) orchestrator.ApprovalPolicy {
	return func(r orchestrator.ApprovalRequest) orchestrator.Verdict {
		v := policy(r)
		if v != orchestrator.VerdictAsk {
			return v
		}
		g, ok := p.files.grantOf(r.Call.Name, r.Call.Arguments)
		p.mu.Lock()
		defer p.mu.Unlock()
		if ok && g.within(p.allowed) {
			return orchestrator.VerdictAllow
		}
		return v
	}
}

// choose returns the answer that a line stands for, or says what is wrong with it. Besides the
// options any text is one.
func choose(line string, options []string) (answer, problem string) {
	if line == "" {
		return "", "An answer is needed."
	}
	if n, err := strconv.Atoi(line); err == nil && numbered(options) {
		if n < 1 || n > len(options) {
			return "", fmt.Sprintf("There is no option %d.", n)
		}
		return options[n-1], ""
	}
	return line, ""
}

// numbered reports whether options are chosen by number. Where one is a number itself, that would
// mislead.
func numbered(options []string) bool {
	return len(options) > 0 && !slices.ContainsFunc(options, func(o string) bool {
		_, err := strconv.Atoi(strings.TrimSpace(o))
		return err == nil
	})
}
