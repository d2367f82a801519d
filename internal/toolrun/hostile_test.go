package toolrun_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// hostile is an error whose methods panic, as those of a typed nil do, or on request.
type hostile struct {
	inner                    error
	inUnwrap, inIs, inAs, ok bool
}

func (e *hostile) Error() string {
	if !e.ok {
		return e.inner.Error()
	}
	return "no"
}

func (e *hostile) Unwrap() error {
	if e.inUnwrap {
		panic("unwrap")
	}
	return nil
}

func (e *hostile) Is(error) bool {
	if e.inIs {
		panic("is")
	}
	return false
}

func (e *hostile) As(any) bool {
	if e.inAs {
		panic("as")
	}
	return false
}

// If the methods of an error panic, its call fails, whichever goroutine the tool runs on, and
// OnPanic is called.
func TestRunner_ErrorsWhoseMethodsPanic(t *testing.T) {
	for name, err := range map[string]error{
		"typed nil": (*hostile)(nil),
		"Error":     &hostile{},
		"Unwrap":    &hostile{ok: true, inUnwrap: true},
		"Is":        &hostile{ok: true, inIs: true},
		"As":        &hostile{ok: true, inAs: true},
	} {
		t.Run(name, func(t *testing.T) {
			bad := func(context.Context, string) (string, error) { return "fine", err }
			set := setOf(t, rawTool("bad", bad))
			told := make(chan string, 2)
			runner := toolrun.Runner{OnPanic: func(call messages.ToolCall, _ any, stack []byte) {
				require.NotEmpty(t, stack)
				told <- call.Name
			}}
			outs := performAll(t.Context(), runner, jobsFor(set, "bad")...)
			for _, out := range outs {
				require.Equal(t, messages.StatusFailed, out.Status)
				require.Equal(t, tools.ReasonPanic, out.Reason)
				require.Contains(t, out.Output, "tools: "+out.ToolName+" panicked: ")
			}
			require.Equal(t, "bad", waittest.Receive(t, told))
		})
	}
}

// circle is an error that wraps itself; tangle wraps itself twice.
type circle struct{}

func (circle) Error() string   { return "circle" }
func (c circle) Unwrap() error { return c }

type tangle struct{}

func (tangle) Error() string     { return "tangle" }
func (t tangle) Unwrap() []error { return []error{t, t} }

// An error that wraps itself makes its call fail, with the text of the error.
func TestRunner_ErrorsThatWrapThemselves(t *testing.T) {
	for _, err := range []error{circle{}, tangle{}} {
		bad := func(context.Context, string) (string, error) { return "", err }
		set := setOf(t, rawTool("bad", bad))
		for _, out := range performAll(t.Context(), toolrun.Runner{}, jobsFor(set, "bad")...) {
			require.Equal(t, tools.ReasonError, out.Reason)
			require.Equal(t, err.Error(), out.Output)
		}
	}
}

// fragile is a tool whose Definition panics.
type fragile struct{ tools.Tool }

func (fragile) Definition() tools.Definition { panic("definition") }

// A tool's Definition may panic after the tool was put into a set: then its call fails.
func TestRunner_DefinitionPanics(t *testing.T) {
	told := 0
	runner := toolrun.Runner{OnPanic: func(messages.ToolCall, any, []byte) { told++ }}
	out := runner.Run(t.Context(), toolrun.Job{Call: callsTo("fragile")[0], Tool: fragile{}})
	require.Equal(t, "tools: fragile panicked: with a string", out.Output)
	require.Equal(t, tools.ReasonPanic, out.Reason)
	require.Equal(t, 1, told)
}

// OnPanic may panic itself.
func TestRunner_OnPanicPanics(t *testing.T) {
	bad := func(context.Context, string) (string, error) { panic("mine") }
	set := setOf(t, rawTool("bad", bad))
	runner := toolrun.Runner{OnPanic: func(messages.ToolCall, any, []byte) { panic("again") }}
	for _, out := range performAll(t.Context(), runner, jobsFor(set, "bad")...) {
		require.Equal(t, tools.ReasonPanic, out.Reason)
	}
}
