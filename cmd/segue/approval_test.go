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

// TestJudge judges by the strategy of a frame, and as usual where that is nobody's, is not known yet,
// or is over.
func TestJudge(t *testing.T) {
	by := &judge{usual: orchestrator.AskAlways, own: map[string]orchestrator.ApprovalPolicy{"a": orchestrator.AllowNever, "b": orchestrator.AllowAlways}}
	verdict := func(frame string) orchestrator.Verdict {
		return by.policy(orchestrator.ApprovalRequest{Run: "r", Frame: frame})
	}
	enters := func(frame, strategy string) { by.hear(at(frame, 1, "", orchestrator.FrameEntered{Strategy: strategy})) }
	require.Equal(t, orchestrator.VerdictAsk, verdict("0"))
	enters("0", "a")
	enters("0.1", "b")
	enters("0.1.1", "c")
	require.Equal(t, orchestrator.VerdictRefuse, verdict("0"))
	require.Equal(t, orchestrator.VerdictAllow, verdict("0.1"))
	require.Equal(t, orchestrator.VerdictAsk, verdict("0.1.1"), "what stands above a frame says nothing of it")
	require.Equal(t, orchestrator.VerdictAsk, verdict("0.2"))
	by.hear(at("0.1", 1, "", orchestrator.FrameLeft{Strategy: "b"}))
	require.Equal(t, orchestrator.VerdictAsk, verdict("0.1"))
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
