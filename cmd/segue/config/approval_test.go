package config

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

func TestApprovalPolicy(t *testing.T) {
	const allow, ask, refuse = machine.VerdictAllow, machine.VerdictAsk, machine.VerdictRefuse
	for word, want := range map[string]struct{ reads, changes, misled machine.Verdict }{
		ApproveAsk:       {allow, ask, ask},
		ApproveAlways:    {allow, allow, allow},
		ApproveNever:     {allow, refuse, refuse},
		ApproveUntrusted: {allow, allow, ask},
	} {
		policy := approvalPolicy(word)
		changing := machine.ApprovalRequest{}
		reading := machine.ApprovalRequest{Definition: tools.Definition{ReadOnly: true}, Untrusted: true}
		require.Equal(t, want.reads, policy(reading), word)
		require.Equal(t, want.changes, policy(changing), word)
		changing.Untrusted = true
		require.Equal(t, want.misled, policy(changing), word)
	}
}

// TestApprover judges by the strategy that makes the call, and as usual where that is no agent's.
func TestApprover(t *testing.T) {
	by := &Approver{usual: machine.AskAlways, own: map[string]machine.ApprovalPolicy{"a": machine.AllowNever, "b": machine.AllowAlways}}
	for strategy, want := range map[string]machine.Verdict{
		"a": machine.VerdictRefuse, "b": machine.VerdictAllow, "c": machine.VerdictAsk, "": machine.VerdictAsk,
	} {
		require.Equal(t, want, by.Policy(machine.ApprovalRequest{Run: "r", Frame: "0.1", Strategy: strategy}), strategy)
	}
}

// A file that was found can tighten approval, and never loosen it.
func TestApprovals_within(t *testing.T) {
	words := append([]string{""}, ApprovalWords...)
	strictness := map[machine.Verdict]int{machine.VerdictAllow: 0, machine.VerdictAsk: 1, machine.VerdictRefuse: 2}
	rapid.Check(t, func(t *rapid.T) {
		a := Agent{Children: []Child{{Agent: "child"}}}
		a.Approval.Default = rapid.SampledFrom(words).Draw(t, "default")
		names := []string{"read_file", "write_file", "child", "other"}
		a.Approval.Tools = rapid.MapOf(rapid.SampledFrom(names), rapid.SampledFrom(ApprovalWords)).Draw(t, "tools")
		r := machine.ApprovalRequest{
			Definition: tools.Definition{ReadOnly: rapid.Bool().Draw(t, "read-only")},
			Untrusted:  rapid.Bool().Draw(t, "untrusted"),
		}
		usual := NewApprovalPolicies(ApproveAsk, []string{"child", "other"})
		got := a.approvals().within(usual)
		for _, name := range names {
			said, bound := strictness[a.approvals().of(name)(r)], strictness[usual.of(name)(r)]
			require.Equal(t, max(said, bound), strictness[got.of(name)(r)], name)
		}
	})
}

// What a found file is told that it cannot say is what it loosens.
func TestLoosened(t *testing.T) {
	folder, err := workfolder.Open(t.TempDir(), nil)
	require.NoError(t, err)
	files := folder.Tools()
	require.NoError(t, folder.Close())
	for _, tool := range append(files, tools.AskUser()) {
		require.Equal(t, !workfolder.Changes(tool.Definition().Name), tool.Definition().ReadOnly)
	}
	for _, tt := range []struct {
		said Approval
		want []string
	}{
		{Approval{}, nil},
		{Approval{Default: ApproveNever, Tools: map[string]string{"write_file": ApproveAsk, "read_file": ApproveAlways}}, nil},
		{Approval{Default: ApproveAlways}, []string{"default: always"}},
		{Approval{Tools: map[string]string{"edit_file": ApproveAlways}}, []string{"edit_file: always"}},
		{Approval{Default: ApproveUntrusted, Tools: map[string]string{"write_file": ApproveUntrusted}}, []string{"default: untrusted", "write_file: untrusted"}},
	} {
		require.Equal(t, tt.want, Agent{Approval: tt.said}.Loosened())
	}
}
