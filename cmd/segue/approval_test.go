package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

func TestApprovalPolicy(t *testing.T) {
	const allow, ask, refuse = orchestrator.VerdictAllow, orchestrator.VerdictAsk, orchestrator.VerdictRefuse
	for word, want := range map[string]struct{ reads, changes, misled orchestrator.Verdict }{
		approveAsk:       {allow, ask, ask},
		approveAlways:    {allow, allow, allow},
		approveNever:     {allow, refuse, refuse},
		approveUntrusted: {allow, allow, ask},
	} {
		policy := approvalPolicy(word)
		changing := orchestrator.ApprovalRequest{}
		reading := orchestrator.ApprovalRequest{Definition: tools.Definition{ReadOnly: true}, Untrusted: true}
		require.Equal(t, want.reads, policy(reading), word)
		require.Equal(t, want.changes, policy(changing), word)
		changing.Untrusted = true
		require.Equal(t, want.misled, policy(changing), word)
	}
}

// TestUnlessAllowed spares questions, and no refusals.
func TestUnlessAllowed(t *testing.T) {
	p := newPerson(nil, nil, nil, nil)
	call := orchestrator.ApprovalRequest{}
	call.Call.Name = "t"
	require.Equal(t, orchestrator.VerdictAsk, p.unlessAllowed(orchestrator.AskAlways)(call))
	p.allow(grant{tool: "t"})
	require.Equal(t, orchestrator.VerdictAllow, p.unlessAllowed(orchestrator.AskAlways)(call))
	require.Equal(t, orchestrator.VerdictRefuse, p.unlessAllowed(orchestrator.AllowNever)(call))
	call.Call.Name = "u"
	require.Equal(t, orchestrator.VerdictAsk, p.unlessAllowed(orchestrator.AskAlways)(call))
}
