package eval

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Models read the parameters of a tool in their order.
func TestReadSuite_orderOfParameters(t *testing.T) {
	dir := t.TempDir()
	parameters := `{"type":"object","properties":{"to":{"type":"string"},"from":{"type":"string"}},"required":["to"]}`
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("cases.jsonl", `{"name":"a","goal":"Move it","tools":[{"name":"move","parameters":`+parameters+`}],"only":true}`+"\n"+`{"name":"b","goal":"No","only":true}`)
	suite := write("suite.yaml", "defaults:\n  tools: [{name: stay}]\ncases: cases.jsonl\n")

	s, err := readSuite(suite)
	require.NoError(t, err)
	require.Len(t, s.Cases, 2)
	require.Len(t, s.Cases[0].Tools, 2)
	require.Equal(t, "stay", s.Cases[0].Tools[0].Name)
	require.Equal(t, parameters, string(s.Cases[0].Tools[1].Parameters))
	require.Len(t, s.Cases[1].Tools, 1)
}
