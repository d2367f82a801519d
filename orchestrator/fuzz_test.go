package orchestrator_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
	"github.com/segue-go/segue/tools"
)

// A file is imported as a run, which exports as a file that is imported as the same; or it is
// refused, and nothing is stored.
func FuzzImport(f *testing.F) {
	golden, err := os.ReadFile(exportedGolden)
	require.NoError(f, err)
	whole := string(golden)
	f.Add(whole)
	f.Add(strings.Replace(whole, `"status":"ok"`, `"status":"failed"`, 1))
	f.Add(whole[:strings.LastIndex(whole, ",\n")] + "\n]}")
	f.Add(`{"segue_run":1,"run":"r","header":{"status":""},"records":[]}`)
	f.Add(`{"segue_run":1,"run":"r","records":[{"v":2,"type":"started","run":"r","strategy":"main"},{"v":2,"type":"resumed"},null]}`)
	f.Add(`{"segue_run":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		store := new(checkpoint.Memory)
		o := plain(t, store)
		head, err := runs.Import(t.Context(), o, strings.NewReader(text))
		if err != nil {
			_, damaged := errors.AsType[*runs.Error](err)
			_, factory := errors.AsType[*orchestrator.FactoryError](err)
			require.True(t, damaged || factory, "%v", err)
			page, err := store.List(t.Context(), checkpoint.Query{})
			require.NoError(t, err)
			require.Empty(t, page.Heads)
			return
		}
		again := plain(t, new(checkpoint.Memory))
		first := exported(t, o, head.Key)
		_, err = runs.Import(t.Context(), again, strings.NewReader(first))
		require.NoError(t, err, "%s", first)
	})
}

// A message of any form changes a run that waits as its kind says, or is refused; the run is never
// lost, and waits for the same as before unless it was answered or stopped.
func FuzzPosted(f *testing.F) {
	script := func() *scripted.Client {
		return scripted.New(scripted.Calls(scripted.Call("pay", "{}", "c1")), scripted.Text("done"))
	}
	pay := tools.NewRaw(tools.Definition{Name: "pay", NeedsApproval: true}, func(context.Context, string) (string, error) { return "paid", nil })
	server := func(t *testing.T, store checkpoint.Store, model *scripted.Client) *orchestrator.Orchestrator {
		t.Helper()
		return solver(t, model, stored(store), with(pay), func(c *orchestrator.Config) {
			c.Approve = &orchestrator.ApprovalConfig{Expires: -1}
		})
	}
	const id = "d0d0d0d0d0d0d0d0d0d0d0d0" // replaced by the id of the wait
	f.Add(`{"v":1,"type":"reply","reply":{"wait_id":"` + id + `","approve":true}}`)
	f.Add(`{"v":1,"type":"reply","reply":{"wait_id":"` + id + `"}}`)
	f.Add(`{"v":1,"type":"reply"}`)
	f.Add(`{"v":1,"type":"note","text":"well"}`)
	f.Add(`{"v":1,"type":"stop","text":"enough","now":true}`)
	f.Add(`{"v":1,"type":"stop"}`)
	f.Add(`{"v":2,"type":"later"}`)
	f.Add(`{"v":-1,"type":null}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		store := new(checkpoint.Memory)
		model := script()
		res := ran(t, server(t, store, model), task("go"))
		require.Equal(t, machine.StatusWaiting, res.Status)
		wait := res.Waits[0]
		data := bytes.ReplaceAll([]byte(text), []byte(id), []byte(wait.ID))
		require.NoError(t, store.Post(t.Context(), checkpoint.Message{ID: "m", Key: keyOfRun, Data: data, At: time.Now()}))
		res, err := orchestrator.Collect(server(t, store, model).Resume(t.Context(), orchestrator.Resumption{Run: "r"}))
		switch res.Status {
		case machine.StatusWaiting:
			require.Equal(t, []machine.Wait{wait}, res.Waits)
		case machine.StatusDone:
			require.Contains(t, string(data), wait.ID)
		default:
			require.Equal(t, machine.StatusStopped, res.Status, "%v", err)
		}
		require.NoError(t, res.Output.Messages.Validate())
	})
}
