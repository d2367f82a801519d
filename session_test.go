package segue_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// A session goes on in another agent over the same store, whatever became of a turn.
func TestSession(t *testing.T) {
	store := new(checkpoint.Memory)
	build := func(replies ...scripted.Reply) (*segue.Agent, *scripted.Client) {
		model := scripted.New(replies...)
		return &segue.Agent{
			Model: model, System: "Be brief.", Tools: []tools.Tool{tools.AskUser()},
			Configure: func(c *orchestrator.Config) { c.Store = store },
		}, model
	}
	a, _ := build(scripted.Text("Hello."), scripted.Error(&llmclient.Error{Code: llmclient.CodeAuth, Message: "no key"}))
	text, err := a.Session("s").Ask(t.Context(), "I am Ann.")
	require.NoError(t, err)
	require.Equal(t, "Hello.", text)
	_, err = a.Session("s").Ask(t.Context(), "Who am I?")
	require.Error(t, err)

	a, model := build(scripted.Stream("An", "n."), scripted.Calls(scripted.Call(tools.AskUserName, `{"question":"Which?"}`, "1")))
	var b strings.Builder
	for piece, err := range a.Session("s").Stream(t.Context(), "Again?") {
		require.NoError(t, err)
		b.WriteString(piece)
	}
	require.Equal(t, "Ann.", b.String())
	var said []string
	for _, m := range model.Requests()[0].Messages {
		if u, ok := m.(messages.User); ok {
			said = append(said, u.Text())
		}
	}
	require.Equal(t, []string{"I am Ann.", "Who am I?", "Again?"}, said)

	_, err = a.Session("s").Ask(t.Context(), "Choose.")
	waiting := new(segue.WaitingError)
	require.ErrorAs(t, err, &waiting)
	require.Equal(t, "s.4", waiting.Run)
	h, err := a.Session("s").History(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.Validate())
	for _, err = range a.Session("s").Stream(t.Context(), "Well?") {
		require.Error(t, err)
	}

	other := a.Session("s")
	other.Namespace = "elsewhere"
	h, err = other.History(t.Context())
	require.NoError(t, err)
	require.Empty(t, h)
}

// A session says who has answered: the agent, or after a handoff the one that it handed over to,
// until that hands back.
func TestSession_answered(t *testing.T) {
	to := func(name string) completetask.Config {
		return completetask.Config{Handoffs: []completetask.Handoff{{Strategy: name}}}
	}
	a := &segue.Agent{
		Model:    scripted.New(scripted.Calls(scripted.Call("transfer_to_refunds", `{}`, "1")), scripted.Text("It is paid."), scripted.Calls(scripted.Call("transfer_to_agent", `{}`, "2")), scripted.Text("Hello again.")),
		Strategy: completetask.New(to("refunds")),
		Configure: func(c *orchestrator.Config) {
			c.Store, c.Strategies["refunds"] = new(checkpoint.Memory), completetask.New(to("agent"))
		},
	}
	s := a.Session("s")
	for _, turn := range []struct{ text, answered string }{{"My money!", "refunds"}, {"Thanks.", "agent"}} {
		_, err := s.Ask(t.Context(), turn.text)
		require.NoError(t, err)
		who, err := s.Answered(t.Context())
		require.NoError(t, err)
		require.Equal(t, turn.answered, who)
	}
	who, err := a.Session("other").Answered(t.Context())
	require.NoError(t, err)
	require.Empty(t, who)
}

// Without a store, or a model, there is no session.
func TestSession_refuses(t *testing.T) {
	none := segue.Agent{Model: scripted.New()}
	_, err := none.Session("s").Ask(t.Context(), "x")
	require.ErrorContains(t, err, "needs Config.Store")
	broken := new(segue.Agent)
	_, err = broken.Session("s").Ask(t.Context(), "x")
	require.ErrorContains(t, err, "segue: Agent.")
	_, err = broken.Session("s").History(t.Context())
	require.ErrorContains(t, err, "segue: Agent.")
	_, err = broken.Session("s").Answered(t.Context())
	require.ErrorContains(t, err, "segue: Agent.")
	for _, err := range broken.Session("s").Stream(t.Context(), "x") {
		require.ErrorContains(t, err, "segue: Agent.")
	}
}
