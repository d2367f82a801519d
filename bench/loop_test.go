package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// The loop that a program would write by hand: message slices, a map of tools, and nothing else.
// All rows are compared with it.

type message struct {
	Role    string
	Content string
	CallID  string
	Calls   []toolCall
}

type toolCall struct{ ID, Name, Arguments string }

type (
	model func(ctx context.Context, history []message, onDelta func(string)) (message, error)
	tool  func(ctx context.Context, arguments string) (string, error)
)

type loop struct {
	ask   model
	tools map[string]tool
	most  int // model calls
}

var errTooMany = errors.New("bench: too many model calls")

func (l *loop) run(ctx context.Context, goal string) ([]message, error) {
	history := []message{{Role: "user", Content: goal}}
	for range l.most {
		reply, err := l.ask(ctx, history, nil)
		if err != nil {
			return history, err
		}
		history = append(history, reply)
		if len(reply.Calls) == 0 {
			return history, nil
		}
		for _, c := range reply.Calls {
			history = append(history, message{Role: "tool", CallID: c.ID, Content: l.call(ctx, c)})
		}
	}
	return history, errTooMany
}

// parallel is run with a goroutine for each call of a round.
func (l *loop) parallel(ctx context.Context, goal string) ([]message, error) {
	history := []message{{Role: "user", Content: goal}}
	for range l.most {
		reply, err := l.ask(ctx, history, nil)
		if err != nil {
			return history, err
		}
		history = append(history, reply)
		if len(reply.Calls) == 0 {
			return history, nil
		}
		results := make([]string, len(reply.Calls))
		var wg sync.WaitGroup
		for i, c := range reply.Calls {
			wg.Go(func() { results[i] = l.call(ctx, c) })
		}
		wg.Wait()
		for i, c := range reply.Calls {
			history = append(history, message{Role: "tool", CallID: c.ID, Content: results[i]})
		}
	}
	return history, errTooMany
}

// stream makes one request and joins the pieces of its reply.
func (l *loop) stream(ctx context.Context, goal string) (string, []message, error) {
	history := []message{{Role: "user", Content: goal}}
	var b strings.Builder
	reply, err := l.ask(ctx, history, func(text string) { b.WriteString(text) })
	if err != nil {
		return "", history, err
	}
	return b.String(), append(history, reply), nil
}

func (l *loop) call(ctx context.Context, c toolCall) string {
	t, ok := l.tools[c.Name]
	if !ok {
		return fmt.Sprintf("there is no tool %q", c.Name)
	}
	out, err := t(ctx, c.Arguments)
	if err != nil {
		return "error: " + err.Error()
	}
	return out
}

// model answers from a script.
func (s *script) model() model {
	replies := s.messages()
	return func(ctx context.Context, history []message, _ func(string)) (message, error) {
		i, err := s.next(len(history))
		if err != nil {
			return message{}, err
		}
		return replies[i], ctx.Err()
	}
}

// adder is the only tool. It counts its calls.
type adder struct{ ran atomic.Int64 }

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

func (a *adder) sum(in numbers) int {
	a.ran.Add(1)
	return in.A + in.B
}

// call is the loop's tool, and the library's raw tool.
func (a *adder) call(_ context.Context, arguments string) (string, error) { return a.add(arguments) }

// add reads its own arguments.
func (a *adder) add(arguments string) (string, error) {
	var in numbers
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "", err
	}
	return strconv.Itoa(a.sum(in)), nil
}

// delegate is the tool with which the loop delegates: it runs the loop within the loop.
func (l *loop) delegate(ctx context.Context, arguments string) (string, error) {
	var in task
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "", err
	}
	history, err := l.run(ctx, in.Task)
	if err != nil {
		return "", err
	}
	return history[len(history)-1].Content, nil
}

type task struct {
	Task string `json:"task"`
}
