package approve

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

func TestPolicies_words(t *testing.T) {
	const allow, ask, refuse = machine.VerdictAllow, machine.VerdictAsk, machine.VerdictRefuse
	for word, want := range map[string]struct{ reads, changes, misled machine.Verdict }{
		Ask:       {allow, ask, ask},
		Always:    {allow, allow, allow},
		Never:     {allow, refuse, refuse},
		Untrusted: {allow, allow, ask},
	} {
		policy := Policies{Default: word}
		reading := machine.ApprovalRequest{Definition: tools.Definition{ReadOnly: true}, Untrusted: true}
		require.Equal(t, want.reads, policy.Judge(reading), word)
		require.Equal(t, want.changes, policy.Judge(machine.ApprovalRequest{}), word)
		require.Equal(t, want.misled, policy.Judge(machine.ApprovalRequest{Untrusted: true}), word)
	}
}

// What is within a bound is never looser than it, and as strict as before.
func TestPolicies_within(t *testing.T) {
	strictness := map[machine.Verdict]int{machine.VerdictAllow: 0, machine.VerdictAsk: 1, machine.VerdictRefuse: 2}
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"read_file", "write_file", "child", "other"}
		own := Policies{
			Default: rapid.SampledFrom(append([]string{""}, Words...)).Draw(t, "default"),
			Tools:   rapid.MapOf(rapid.SampledFrom(names), rapid.SampledFrom(Words)).Draw(t, "tools"),
			Agents:  []string{"child"},
		}
		usual := Policies{Agents: []string{"child", "other"}}
		for _, name := range names {
			r := machine.ApprovalRequest{
				Definition: tools.Definition{Name: name, ReadOnly: rapid.Bool().Draw(t, "read-only")},
				Untrusted:  rapid.Bool().Draw(t, "untrusted"),
			}
			require.Equal(t, max(strictness[own.Judge(r)], strictness[usual.Judge(r)]), strictness[own.Within(usual).Judge(r)], name)
		}
	})
}
