package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file of headers anew")

// everyHeader has every field of a Header.
var everyHeader = []checkpoint.Header{
	{
		Status: checkpoint.StatusParked, Strategy: "solve", Format: 2, Version: "v1.2.3", Reason: "it has no tool \"pay\"",
		Waits:  []checkpoint.Wait{{ID: "d81b5a4e0c3f5f0a7b6c9e21", Kind: "approval"}, {ID: "w2", Kind: "timer", Expires: time.Date(2026, 3, 4, 5, 6, 7, 8_000_009, time.UTC)}},
		Due:    time.Date(2026, 3, 4, 5, 6, 7, 8_000_009, time.UTC),
		Origin: checkpoint.Origin{Run: "r0", Record: 7}, Labels: map[string]string{"customer": "acme", "kind": "order"},
	},
	{Status: checkpoint.StatusRunning, Origin: checkpoint.Origin{Run: "r0"}},
	{Status: checkpoint.StatusWaiting},
	{Status: checkpoint.StatusDone},
	{Status: checkpoint.StatusFailed},
	{Status: checkpoint.StatusLimit},
	{Status: checkpoint.StatusStopped},
}

// The golden file is what stores keep: a change of it breaks the heads of runs that are kept.
func TestHeader_golden(t *testing.T) {
	const golden = "testdata/headers.golden"
	var text []byte
	for _, h := range everyHeader {
		line, err := json.Marshal(h)
		require.NoError(t, err)
		text = append(append(text, line...), '\n')
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(golden, text, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(text))
	for i, line := range bytes.Split(bytes.TrimSpace(want), []byte("\n")) {
		var h checkpoint.Header
		require.NoError(t, json.Unmarshal(line, &h))
		require.Equal(t, everyHeader[i], h)
	}
	all := reflect.ValueOf(everyHeader[0])
	for i := range all.NumField() {
		require.False(t, all.Field(i).IsZero(), "a field that is added has to be added to the golden file: %s", all.Type().Field(i).Name)
	}
}
