package temporal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

// The workflows of this version go on with the histories of earlier ones.
// SEGUE_TEST_HISTORIES=v0.2.0 adds those of the other tests, under the name of a version.
func TestHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/histories/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		r := worker.NewWorkflowReplayer()
		(&Engine{Queue: "agents"}).register(r)
		require.NoError(t, r.ReplayWorkflowHistoryFromJSONFile(quiet{}, file), file)
	}
}

// keep writes the history of a workflow for TestHistories.
func keep(t *testing.T, c client.Client, id, name string) {
	t.Helper()
	version := os.Getenv("SEGUE_TEST_HISTORIES")
	if version == "" {
		return
	}
	var h historypb.History
	for events := c.GetWorkflowHistory(soon(t), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(t, err)
		h.Events = append(h.Events, event)
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(&h)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join("testdata/histories", version+"-"+name+".json"), append(text, '\n'), 0o644))
}
