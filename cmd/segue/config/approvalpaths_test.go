package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder/workfoldertest"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// byPaths is a configuration with an approval by paths.
const byPaths = `agents:
  writer:
    approval:
      default: ask
      tools: {write_file: never}
      paths:
        write_file: {src/**: always, "*.md": ask, src/gen/**: never, Docs/**: never}
        edit_file: {src/**: always}
`

// judged returns the verdict about a call of a policy.
func judged(policy machine.ApprovalPolicy, tool, path string) machine.Verdict {
	r := machine.ApprovalRequest{Strategy: "writer", Definition: tools.Definition{Name: tool, ReadOnly: !workfolder.Changes(tool)}}
	r.Call.Name, r.Call.Arguments = tool, workfoldertest.Arguments(path)
	return policy(r)
}

// The paths of a tool come before its word, and that before the default; of several globs that fit
// the strictest counts.
func TestApproval_byPath(t *testing.T) {
	const allow, ask, refuse = machine.VerdictAllow, machine.VerdictAsk, machine.VerdictRefuse
	c, err := Parse("segue.yaml", []byte(byPaths))
	require.NoError(t, err)
	policy := c.Agents["writer"].approvals("").Judge
	for path, want := range map[string]machine.Verdict{
		"src/a.go": allow, "src/deep/b.go": allow, "./src/../src/a.go": allow, "src": allow,
		"src/README.md": ask, "README.md": ask, "x/notes.MD": ask,
		"src/gen/a.go": refuse, "src/GEN/a.go": refuse, "docs/x": refuse,
		"SRC/a.go": refuse, "lib/src/a.go": refuse, "src/../x": refuse, "a.go": refuse,
	} {
		require.Equal(t, want, judged(policy, workfolder.WriteFile, path), path)
	}
	require.Equal(t, allow, judged(policy, workfolder.EditFile, "src/a.go"))
	require.Equal(t, ask, judged(policy, workfolder.EditFile, "a.go"), "the default")
	require.Equal(t, allow, judged(policy, workfolder.ReadFile, "a.go"))
	odd := machine.ApprovalRequest{Strategy: "writer", Definition: tools.Definition{Name: workfolder.EditFile}}
	odd.Call.Arguments = `{"path":7}`
	require.Equal(t, ask, policy(odd))
}

// A path that leads over a link is judged at the place to which it leads, too, and protected files
// are asked about whatever a path says.
func TestApproval_byPathOverLinks(t *testing.T) {
	dir := workfoldertest.New(t, map[string]string{"src/a": "", "lib/a": "", "src/.git/config": ""}, map[string]string{"src/out": "../lib", "in": "src"})
	f, err := workfolder.Open(dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	c, err := Parse("segue.yaml", []byte(byPaths))
	require.NoError(t, err)
	policy := f.Protect(f.ByPlace(c.Agents["writer"].approvals("").Judge))
	for path, want := range map[string]machine.Verdict{
		"src/a": machine.VerdictAllow, "src/out/a": machine.VerdictRefuse, "in/a": machine.VerdictRefuse, "src/.git/config": machine.VerdictAsk,
	} {
		require.Equal(t, want, judged(policy, workfolder.WriteFile, path), path)
	}
	require.Equal(t, machine.VerdictAsk, judged(policy, workfolder.EditFile, "src/out/a"))
}

// A file that was found may tighten by paths, and not loosen.
func TestApproval_byPathInAFoundFile(t *testing.T) {
	c, err := Parse("segue.yaml", []byte(byPaths))
	require.NoError(t, err)
	c.Found = true
	files, err := workfolder.Open(t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	s, err := c.Setup("writer", Options{Tools: files.Tools()})
	require.NoError(t, err)
	require.Equal(t, []string{"writer: edit_file src/**: always", "writer: write_file src/**: always"}, s.Unheeded)
	policy := s.Approve
	require.Equal(t, machine.VerdictAsk, judged(policy, workfolder.WriteFile, "src/a"))
	require.Equal(t, machine.VerdictRefuse, judged(policy, workfolder.WriteFile, "src/gen/a"))
	other := machine.ApprovalRequest{Strategy: "other"}
	require.Equal(t, machine.VerdictAsk, policy(other), "of no agent")
	said, _ := c.Agents["writer"].ApprovalSaid()
	require.Equal(t, []string{"default: ask", "write_file: never", "edit_file src/**: always", "write_file *.md: ask", "write_file Docs/**: never", "write_file src/**: always", "write_file src/gen/**: never"}, said)
}
