package bench_test

import (
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"

	"github.com/segue-go/segue/messages"
)

// outcome is the result of a run, with the history in the types of the code that made it.
type outcome struct {
	answer  string
	library messages.History
	loop    []message
	wire    []wireMessage
	openai  []openai.ChatCompletionMessageParamUnion
}

func (o outcome) length() int { return len(o.library) + len(o.loop) + len(o.wire) + len(o.openai) }

// check checks what is cheap to check, after every measured run.
func (s *script) check(o outcome) error {
	if length := 1 + s.steps() + s.calls(); o.answer != s.answer() || o.length() != length {
		return fmt.Errorf("bench: answer %.40q and %d messages, not %.40q and %d", o.answer, o.length(), s.answer(), length)
	}
	return nil
}

// prove checks everything.
func (s *script) prove(o outcome) error {
	if err := s.check(o); err != nil {
		return err
	}
	got, err := o.transcript()
	if err != nil {
		return err
	}
	return same(got, s.transcript())
}

func same(got, want []string) error {
	if len(got) != len(want) {
		return fmt.Errorf("bench: %d messages, not %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("bench: message %d is %q, not %q", i, got[i], want[i])
		}
	}
	return nil
}

// transcript returns the history, a line for each message.
func (o outcome) transcript() ([]string, error) {
	var lines []string
	for _, m := range o.library {
		lines = append(lines, libraryLine(m))
	}
	for _, m := range o.loop {
		var calls []string
		for _, c := range m.Calls {
			calls = append(calls, said(c.ID, c.Name, c.Arguments))
		}
		lines = append(lines, line(m.Role, m.Content, m.CallID, calls...))
	}
	for _, m := range o.wire {
		lines = append(lines, m.line())
	}
	for _, m := range o.openai {
		data, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		var w wireMessage
		if err := json.Unmarshal(data, &w); err != nil {
			return nil, err
		}
		lines = append(lines, w.line())
	}
	return lines, nil
}

func libraryLine(m messages.Message) string {
	switch m := m.(type) {
	case messages.User:
		return line("user", m.Text(), "")
	case messages.Assistant:
		var calls []string
		for _, c := range m.Calls() {
			calls = append(calls, said(c.ID, c.Name, c.Arguments))
		}
		return line("assistant", m.Text(), "", calls...)
	case messages.Tool:
		return line("tool", m.Output, m.CallID)
	default:
		return fmt.Sprintf("%T", m)
	}
}
