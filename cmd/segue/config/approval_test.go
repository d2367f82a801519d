package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/tools"
)

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
		{Approval{Default: approve.Never, Tools: map[string]string{"write_file": approve.Ask, "read_file": approve.Always}}, nil},
		{Approval{Default: approve.Always}, []string{"default: always"}},
		{Approval{Tools: map[string]string{"edit_file": approve.Always}}, []string{"edit_file: always"}},
		{Approval{Default: approve.Untrusted, Tools: map[string]string{"write_file": approve.Untrusted}}, []string{"default: untrusted", "write_file: untrusted"}},
	} {
		_, looser := Agent{Approval: tt.said}.ApprovalSaid()
		require.Equal(t, tt.want, looser)
	}
}
