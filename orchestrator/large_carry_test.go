package orchestrator_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
)

// A fork, an export and the next turn of a session take along what they know, and need nothing of
// the run that they came from. What lies behind a fork is not taken, and another run reads nothing.
func TestLargeResults_carried(t *testing.T) {
	store := new(checkpoint.Memory)
	first, second := numberedLines(300), numberedLines(400)
	ids := []string{idOf(t, first), idOf(t, second)}
	build := func(store checkpoint.Store, replies ...scripted.Reply) *orchestrator.Orchestrator {
		return solver(t, scripted.New(replies...), with(returning("one", first), returning("two", second)), stored(store), keeping(orchestrator.LargeResults{Keep: 1 << 20, Show: 300}))
	}
	both := func(n int) []scripted.Reply {
		var list []scripted.Reply
		for i, id := range ids {
			list = append(list, reads(fmt.Sprint(n, i), `{"id":%q,"offset":2000,"length":10}`, id))
		}
		return append(list, scripted.Text("done"))
	}
	said := func(res orchestrator.Result) []bool {
		outs := res.Output.ToolMetas()
		var there []bool
		for _, o := range outs[len(outs)-2:] {
			there = append(there, strings.Contains(o.Output, "line 0200"))
		}
		return there
	}
	ta := turn("go")
	ran(t, build(store, scripted.Calls(scripted.Call("one", "{}", "1")), scripted.Calls(scripted.Call("two", "{}", "2")), scripted.Text("done")), ta)

	list := recordsIn(t, store, "chat.1")
	at := placeOf(t, list, func(a machine.Answered) bool { return a.Tool == "one" })
	fork(t, build(store), runs.ForkConfig{From: inRun("chat.1"), At: at, Run: "f"})
	var file bytes.Buffer
	require.NoError(t, runs.Export(t.Context(), build(store), inRun("chat.1"), &file))
	require.Contains(t, file.String(), `{"segue_run":2,`)
	next := ran(t, build(store, both(5)...), turn("and now?"))
	require.Equal(t, []bool{true, true}, said(next))

	require.NoError(t, store.Delete(t.Context(), inRun("chat.1")))
	require.Equal(t, []bool{true, false}, said(goOn(t, build(store, both(6)...), "f")))
	next = ran(t, build(store, both(7)...), turn("and now?"))
	require.Equal(t, []bool{true, true}, said(next))
	other := ran(t, build(store, both(8)...), task("go"))
	require.Equal(t, []bool{false, false}, said(other))
	require.Contains(t, other.Output.ToolMetas()[0].Output, "the run has kept no result of this id")

	elsewhere := new(checkpoint.Memory)
	head, err := runs.Import(t.Context(), build(elsewhere), bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Equal(t, checkpoint.StatusDone, head.Header.Status)
	var again bytes.Buffer
	require.NoError(t, runs.Export(t.Context(), build(elsewhere), inRun("chat.1"), &again))
	behind := func(text string) string { return text[strings.Index(text, `"records"`):] }
	require.Equal(t, behind(file.String()), behind(again.String()))

	for name, x := range map[string]struct{ old, new, want string }{
		"another text": {"line 0200", "line 9200", "is not what its id says"}, "another id": {ids[0] + `","text`, ids[1] + `","text`, "is not what its id says"},
		"the first version": {`"segue_run":2`, `"segue_run":1`, "which files have from version 2 on"},
	} {
		text := file.String()
		i := strings.LastIndex(text, x.old)
		text = text[:i] + x.new + text[i+len(x.old):]
		_, err := runs.Import(t.Context(), build(new(checkpoint.Memory)), strings.NewReader(text))
		require.ErrorContains(t, err, x.want, name)
	}
	_, err = runs.Import(t.Context(), build(withoutValues{new(checkpoint.Memory)}), bytes.NewReader(file.Bytes()))
	require.ErrorContains(t, err, "no checkpoint.ValueStore")
	_, err = runs.Import(t.Context(), solver(t, scripted.New(), stored(new(checkpoint.Memory)), with(returning("one", first), returning("two", second)), keeping(orchestrator.LargeResults{Keep: 3500})), bytes.NewReader(file.Bytes()))
	require.ErrorContains(t, err, "more than 3500 bytes")
}
