package orchestrator_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

const exportedGolden = "testdata/run.json"

// plain runs caller, which has no table that could change the golden file.
func plain(t *testing.T, store checkpoint.Store) *orchestrator.Orchestrator {
	t.Helper()
	return solver(t, scripted.New(scripted.Calls(scripted.Call("t", `{"x":"<b>"}`, "1"))), stored(store), with(echo("t")), func(c *orchestrator.Config) {
		c.Strategies, c.Version = strategy.Set{"main": caller}, "v7"
	})
}

func exported(t *testing.T, o *orchestrator.Orchestrator, key checkpoint.Key) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, runs.Export(t.Context(), o, key, &b))
	return b.String()
}

// The golden file is the format of exported runs: what an older release wrote has to be read.
func TestExport_golden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := plain(t, new(checkpoint.Memory))
		key := checkpoint.Key{Namespace: "acme", Run: "r"}
		ran(t, o, orchestrator.Task{Run: "r", Namespace: "acme", Input: delegation.Input{Goal: "go"}, Labels: map[string]string{"team": "a"}})
		text := regexp.MustCompile(`"library":"[^"]*"`).ReplaceAllLiteralString(exported(t, o, key), `"library":"(devel)"`)
		if *rewrite {
			require.NoError(t, os.WriteFile(exportedGolden, []byte(text), 0o600))
		}
		want, err := os.ReadFile(exportedGolden)
		require.NoError(t, err)
		require.Equal(t, string(want), text)

		store := new(checkpoint.Memory)
		there := plain(t, store)
		head, err := runs.Import(t.Context(), there, bytes.NewReader(want))
		require.NoError(t, err)
		require.Equal(t, key, head.Key)
		require.Equal(t, checkpoint.StatusDone, head.Header.Status)
		require.Equal(t, "v7", head.Header.Version)
		require.Equal(t, map[string]string{"team": "a"}, head.Header.Labels)
		require.Equal(t, string(want), exported(t, there, key), "the same file again")
		was, err := all(t, o.Replay(t.Context(), key))
		require.NoError(t, err)
		is, err := all(t, there.Replay(t.Context(), key))
		require.NoError(t, err)
		require.Equal(t, was, is)

		_, err = runs.Import(t.Context(), there, bytes.NewReader(want))
		require.ErrorAs(t, err, new(*orchestrator.RunExistsError))
	})
}

// A run that waits goes on where it is imported; one that broke off is parked until somebody
// resumes it.
func TestImport_goesOn(t *testing.T) {
	build := func(store checkpoint.Store, replies ...scripted.Reply) *orchestrator.Orchestrator {
		return solver(t, scripted.New(replies...), stored(store), with(tools.AskUser()))
	}
	here, there := new(checkpoint.Memory), new(checkpoint.Memory)
	o := build(here, scripted.Calls(question("Which?", "1")))
	res := ran(t, o, task("go"))
	head, err := runs.Import(t.Context(), build(there), strings.NewReader(exported(t, o, checkpoint.Key{Run: "r"})))
	require.NoError(t, err)
	require.Equal(t, checkpoint.StatusWaiting, head.Header.Status)
	require.Equal(t, []checkpoint.Wait{{ID: res.Waits[0].ID, Kind: machine.WaitQuestion}}, head.Header.Waits)
	end := goOn(t, build(there, scripted.Text("done")), "r", machine.Reply{WaitID: res.Waits[0].ID, Text: "that"})
	require.Equal(t, "done", end.Output.Text())

	left := died(t, here, 1, 0)
	head, err = runs.Import(t.Context(), build(new(checkpoint.Memory)), strings.NewReader(exported(t, build(left), checkpoint.Key{Run: "r"})))
	require.NoError(t, err)
	require.Equal(t, checkpoint.StatusParked, head.Header.Status)
	require.Equal(t, "it was imported: resume it", head.Header.Reason)
}

// What is no file of a run, or is damaged, is refused by name, and nothing is stored.
func TestImport_refuses(t *testing.T) {
	golden, err := os.ReadFile(exportedGolden)
	require.NoError(t, err)
	edit := func(old, now string) string {
		require.Contains(t, string(golden), old)
		return strings.Replace(string(golden), old, now, 1)
	}
	lines := strings.Split(strings.TrimSpace(string(golden)), "\n")
	for name, test := range map[string]struct{ text, want string }{
		"nothing":         {"", "not the JSON of a run"},
		"another file":    {`{"messages": []}`, "no segue_run"},
		"cut":             {string(golden[:len(golden)/2]), "not the JSON of a run"},
		"newer":           {edit(`"segue_run":1`, `"segue_run":3`), "its version is 3"},
		"unknown field":   {edit(`"segue_run":1`, `"segue_run":1,"x":1`), "unknown field"},
		"no records":      {`{"segue_run":1,"run":"r","header":{"status":"done"},"records":[]}`, "no records"},
		"no run":          {edit(`"namespace":"acme","run":"r"`, `"run":""`), "no id"},
		"another run":     {edit(`"namespace":"acme","run":"r"`, `"namespace":"acme","run":"s"`), "record 1"},
		"a record less":   {strings.Join(append(append([]string{}, lines[:2]...), lines[3:]...), "\n"), "record 2"},
		"a wrong record":  {edit(`"type":"answered"`, `"type":"guessed"`), "record 2"},
		"another answer":  {edit(`"frame":"0","kind":"model"`, `"frame":"0.7","kind":"model"`), "record 2"},
		"no such version": {edit(`{"v":2,"type":"answered"`, `{"v":3,"type":"answered"`), "record 2"},
	} {
		t.Run(name, func(t *testing.T) {
			store := new(checkpoint.Memory)
			_, err := runs.Import(t.Context(), plain(t, store), strings.NewReader(test.text))
			require.ErrorAs(t, err, new(*runs.Error))
			require.ErrorContains(t, err, test.want)
			require.Empty(t, runsIn(t, store))
		})
	}
}

// tooSmall takes nothing.
type tooSmall struct{}

var errFull = errors.New("full")

func (tooSmall) Write([]byte) (int, error) { return 0, errFull }

func TestExport_refuses(t *testing.T) {
	store := new(checkpoint.Memory)
	o := plain(t, store)
	ran(t, o, task("go"))
	require.ErrorIs(t, runs.Export(t.Context(), o, checkpoint.Key{Run: "r"}, tooSmall{}), errFull)
	require.ErrorIs(t, runs.Export(t.Context(), o, checkpoint.Key{Run: "x"}, new(bytes.Buffer)), checkpoint.ErrNotFound)
	require.NoError(t, store.Append(t.Context(), checkpoint.Batch{
		Key: checkpoint.Key{Run: "odd"}, Header: new(checkpoint.Header), Records: []checkpoint.Record{{Seq: 1, Type: "started", Data: []byte("{")}},
	}))
	require.ErrorAs(t, runs.Export(t.Context(), o, checkpoint.Key{Run: "odd"}, new(bytes.Buffer)), new(*orchestrator.JournalError))
}
