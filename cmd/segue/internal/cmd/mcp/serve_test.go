package mcp

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/machine"
)

// What the run does is told, and a person's no as what it is.
func TestMCPServe_words(t *testing.T) {
	r := &servedRun{}
	r.tell(machine.Event{Kind: machine.EventTextDelta, Text: "So"})
	require.Equal(t, "the model writes", r.doing)
	r.tell(machine.Event{Kind: machine.EventRetryWaiting, Detail: machine.RetryWaiting{Model: "m", Wait: 30 * time.Second}})
	require.Equal(t, "asks the model m again in 30s", r.doing)
	for action, reason := range map[string]string{
		"decline": "the person was asked, and declined", "cancel": "the person was asked, and gave no answer", "": "the person was asked, and gave no answer",
	} {
		for _, approves := range []bool{true, false} {
			require.Equal(t, machine.Reply{Reason: reason}, replyOf(&mcp.ElicitResult{Action: action}, approves))
		}
	}
}
