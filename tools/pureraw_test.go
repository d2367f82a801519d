package tools_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func TestNewPureRaw(t *testing.T) {
	mirror := tools.NewPureRaw(tools.Definition{Name: "mirror"}, func(args string) (string, error) {
		if args == "" {
			return "", errors.New("nothing to mirror")
		}
		return args + args, nil
	})
	set, err := tools.NewSet(mirror)
	require.NoError(t, err)
	results := tools.Runner{}.Run(t.Context(), tools.Batch{
		Calls:  []messages.ToolCall{{ID: "1", Name: "mirror", Arguments: "{cut"}, {ID: "2", Name: "mirror"}},
		Lookup: set.Lookup,
	})
	require.Equal(t, "{cut{cut", results[0].Output)
	require.Equal(t, "nothing to mirror", results[1].Output)
	require.Equal(t, messages.StatusFailed, results[1].Status)

	_, err = tools.NewSet(tools.NewPureRaw(tools.Definition{Name: "none"}, nil))
	require.Error(t, err)
}
