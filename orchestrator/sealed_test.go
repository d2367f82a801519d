package orchestrator_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sealed"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A run over a sealed store waits, is answered from another process and is recovered there, as over
// any store. The store shows nothing of it, and takes nothing from somebody without the key:
// neither a reply nor a record.
func TestSealed_run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := new(checkpoint.Memory)
		key, err := sealed.NewKey("k", bytes.Repeat([]byte{1}, sealed.SecretSize))
		require.NoError(t, err)
		store, err := sealed.New(inner, sealed.Keys{Current: key})
		require.NoError(t, err)
		build := scriptedBy(t, stored(store), with(tools.AskUser()))
		o := build(scripted.Calls(question("Is "+card+" yours?", "1")))
		res := ran(t, o, task("Charge "+card))
		require.Equal(t, machine.StatusWaiting, res.Status)

		forged := `{"v":1,"type":"reply","reply":{"wait_id":"` + res.Waits[0].ID + `","text":"forged"}}`
		require.NoError(t, inner.Post(t.Context(), checkpoint.Message{ID: "m", Key: inRun("r"), Data: []byte(forged)}))
		require.NoError(t, o.Answer(t.Context(), inRun("r"), machine.Reply{WaitID: res.Waits[0].ID, Text: "yes, " + card}))
		r := startRecover(t, build(scripted.Text("charged "+card)), orchestrator.Recovery{})
		time.Sleep(time.Minute)
		require.Equal(t, "charged "+card, r.end("r").Output.Text())
		require.Equal(t, "yes, "+card, r.end("r").Output.ToolMetas()[0].Output)
		_ = r.stop()
		require.NotContains(t, whole(t, inner), card)
		require.NotContains(t, whole(t, inner), "charge")

		head := headOf(t, inner, "r")
		require.NoError(t, inner.Append(t.Context(), checkpoint.Batch{
			Key: inRun("r"), Records: []checkpoint.Record{{Seq: head.Last + 1, Type: "noted", Data: []byte(`{"v":2,"type":"noted"}`)}}, Writer: "w", Epoch: head.Epoch,
		}))
		_, err = all(t, o.Resume(t.Context(), orchestrator.Resumption{Run: "r"}))
		require.ErrorIs(t, err, sealed.ErrPlain)
	})
}

func inRun(run string) checkpoint.Key { return checkpoint.Key{Run: run} }
