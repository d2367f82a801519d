package testing

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

func TestGuide(t *testing.T) {
	model := scripted.New(
		scripted.Calls(scripted.Call("weather", `{"name":"Oslo"}`, "")),
		scripted.Text("Take a coat."),
	)
	guide := Guide(model, func(_ context.Context, in city) (string, error) { return "snow in " + in.Name, nil })
	answer, err := guide.Ask(t.Context(), "What do I wear in Oslo?")
	require.NoError(t, err)
	require.Equal(t, "Take a coat.", answer)

	// What the model was told:
	second := model.Requests()[1]
	require.Equal(t, "snow in Oslo", second.Messages.Last().(messages.Tool).Output)
	model.AssertComplete(t)
}
