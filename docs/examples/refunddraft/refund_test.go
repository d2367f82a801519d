package refund

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

func TestRefund(t *testing.T) {
	s := New()()
	s.Initialize(delegation.Input{Goal: "My kettle leaks."})
	s.ProcessAPIResponse(llmclient.Response{Message: messages.AssistantText(`{"euros":12}`)})
	retry := s.ProcessToolResults([]messages.ToolOutput{{CallID: "pay-1", ToolName: "pay", Status: messages.StatusFailed}})
	require.Equal(t, `{"euros":12}`, retry.(nextstep.ExecuteTools).Calls[0].Arguments)
	s.ProcessToolResults([]messages.ToolOutput{{CallID: "pay-2", ToolName: "pay"}})
	end := s.ProcessAPIResponse(llmclient.Response{Message: messages.AssistantText("You get 12 euros.")})
	require.Equal(t, "You get 12 euros.", end.(nextstep.Complete).Output.Text())
}

// The test of the law fails with what the page shows.
func TestRefund_laws(t *testing.T) {
	var v verdict
	strategytest.Explore(&v, New(), explore.Options{
		Name: "refund", Tools: []tools.Definition{{Name: "pay"}}, Unreached: []string{"*"},
	})
	require.Equal(t, 1, v.errors)
	v.isOnPage(t)
}

// Without the answers that the strategy expects, most of it is not explored.
func TestRefund_withoutAmounts(t *testing.T) {
	o := world
	o.World = nil
	r, err := explore.Run(New(), o)
	require.NoError(t, err)
	require.Contains(t, page(t), numberless("```text\nnothing led to: "+strings.Join(r.Unreached, "; ")+"; let Options.World answer"))
}

// The query fails with what the page shows, if the model makes nobody break the law.
func TestRefund_paysOnce(t *testing.T) {
	var v verdict
	o := world
	o.Without = func(e *machine.Effect, name string) bool {
		return e != nil && e.Kind == machine.EffectModel && name != "names an amount"
	}
	strategytest.Never(&v, New(), o, paysAgain)
	require.Equal(t, 1, v.errors)
	v.isOnPage(t)
}

// world is that of the tests of the mended strategy.
var world = explore.Options{
	Name:  "refund",
	Input: delegation.Input{Goal: "My kettle leaks."},
	Tools: []tools.Definition{{Name: "pay"}},
	World: amounts,
}

func amounts(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	return []explore.Reaction{
		explore.Reply("names an amount", llmclient.FinishStop, messages.Text{Text: `{"euros":12}`}),
		explore.Reply("names a debt", llmclient.FinishStop, messages.Text{Text: `{"euros":-12}`}).AsOdd(),
	}
}

func paysAgain(s *explore.State) bool {
	if !explore.Calls("pay")(s) {
		return false
	}
	history := s.Strategy("0").(*refund).History
	before, ok := history[len(history)-2].(messages.Tool)
	return ok && before.Status != messages.StatusFailed
}

// verdict is a test that only notes what is said of it.
type verdict struct {
	testing.TB
	errors int
	text   strings.Builder
}

func (v *verdict) Helper() {}

func (v *verdict) Log(args ...any) { fmt.Fprintln(&v.text, args...) }

func (v *verdict) Logf(format string, args ...any) { fmt.Fprintf(&v.text, format+"\n", args...) }

func (v *verdict) Errorf(format string, args ...any) {
	v.errors++
	v.Logf(format, args...)
}

// isOnPage checks that a block of the page is what was said. How many paths and states there are
// may differ.
func (v *verdict) isOnPage(t *testing.T) {
	t.Helper()
	require.Contains(t, page(t), numberless("```text\n"+v.text.String()+"```\n"), v.text.String())
}

// page returns the page about this strategy, without its numbers.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../proving-your-strategy.md")
	require.NoError(t, err)
	return numberless(string(text))
}

func numberless(text string) string { return number.ReplaceAllString(text, "N") }

var number = regexp.MustCompile(`\d+`)
