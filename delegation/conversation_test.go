package delegation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
)

func TestInput_Conversation(t *testing.T) {
	system, user := messages.System{Text: "Be brief."}, messages.UserText("hello")
	orphan := messages.Tool{ToolOutput: messages.ToolOutput{CallID: "1", ToolName: "look"}}
	for _, c := range []struct {
		name     string
		in       delegation.Input
		system   string
		want     messages.History
		repaired int
		question string
	}{
		{name: "nothing", want: messages.History{}},
		{"goal", delegation.Input{Goal: "go"}, "", messages.History{messages.UserText("go")}, 0, "go"},
		{"all", delegation.Input{Goal: "go", Messages: messages.History{user}}, "Be brief.", messages.History{system, user, messages.UserText("go")}, 0, "go"},
		{"another agent's prompt", delegation.Input{Messages: messages.History{system, user}}, "Be long.", messages.History{messages.System{Text: "Be long."}, user}, 0, "hello"},
		{"several of them", delegation.Input{Messages: messages.History{system, system, user}}, "Be long.", messages.History{messages.System{Text: "Be long."}, user}, 0, "hello"},
		{"no prompt of its own", delegation.Input{Messages: messages.History{system, user}}, "", messages.History{system, user}, 0, "hello"},
		{"nothing but prompts", delegation.Input{Goal: "go", Messages: messages.History{system}}, "Be long.", messages.History{messages.System{Text: "Be long."}, messages.UserText("go")}, 0, "go"},
		{"restored", delegation.Input{Messages: messages.History{user, orphan}}, "", messages.History{user}, 1, "hello"},
	} {
		h, repaired := c.in.Conversation(c.system)
		require.Equal(t, c.want, h, c.name)
		require.Len(t, repaired, c.repaired, c.name)
		require.Equal(t, c.question, c.in.Question(), c.name)
	}
}

func TestInput_ConversationIsTheCallers(t *testing.T) {
	in := delegation.Input{Goal: "go", Messages: make(messages.History, 1, 8)}
	in.Messages[0] = messages.UserText("hello")
	h, _ := in.Conversation("")
	h[0] = messages.UserText("other")
	require.Equal(t, messages.UserText("hello"), in.Messages[0])

	in.Messages[0] = messages.System{Text: "Be brief."}
	h, _ = in.Conversation("Be long.")
	require.Equal(t, messages.System{Text: "Be long."}, h[0])
	require.Equal(t, messages.System{Text: "Be brief."}, in.Messages[0])
}
