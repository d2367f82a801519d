package check

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
)

func TestCheck_aBrokenLawIsShownWithItsPathAndStory(t *testing.T) {
	r := exploredRecord{Violations: []violationRecord{{
		Law: "frames end", Problem: "the frame is there", Path: []string{"#1 call write_file"}, Story: "walk careless\n",
	}}}

	text := r.text(false)

	require.Contains(t, text, "\nBroken: frames end: the frame is there\n  #1 call write_file\n"+
		"As a story for strategytest.Stories:\n\nwalk careless\n")
	require.NotContains(t, text, "Every law holds")
	var exit *cli.ExitError
	require.ErrorAs(t, r.verdict(), &exit)
	require.Equal(t, cli.ExitFailed, exit.Code)
	require.EqualError(t, exit, "broken: frames end")
}
