package toolrun_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func TestNewInlineRaw(t *testing.T) {
	mirror := tools.NewInlineRaw(tools.Definition{Name: "mirror"}, func(args string) (string, error) {
		if args == "" {
			return "", errors.New("nothing to mirror")
		}
		return args + args, nil
	})
	set, err := tools.NewSet(mirror)
	require.NoError(t, err)
	job := jobFor(set, "mirror")
	job.Call.Arguments = "{cut"
	require.Equal(t, "{cut{cut", toolrun.Runner{}.Run(t.Context(), job).Output)
	job.Call.Arguments = ""
	out := toolrun.Runner{}.Run(t.Context(), job)
	require.Equal(t, "nothing to mirror", out.Output)
	require.Equal(t, messages.StatusFailed, out.Status)

	_, err = tools.NewSet(tools.NewInlineRaw(tools.Definition{Name: "none"}, nil))
	require.Error(t, err)
}
