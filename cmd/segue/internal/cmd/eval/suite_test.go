package eval

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// A document has fewer values than so many cases.
func TestReadSuite_manyCases(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&lines, `{"name":"%d","goal":"Add","tools":[{"name":"add","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}],"only":true}`+"\n", i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cases.jsonl"), []byte(lines.String()), 0o600))
	suite := filepath.Join(dir, "suite.yaml")
	require.NoError(t, os.WriteFile(suite, []byte("defaults: {limits: {model_calls: 3}}\ncases: cases.jsonl\n"), 0o600))

	s, err := readSuite(suite)
	require.NoError(t, err)
	require.Len(t, s.Cases, 10_000)
	require.Equal(t, int64(3), int64(s.Cases[9_999].Limits.ModelCalls))
}
