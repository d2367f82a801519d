package orchestrator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sealed"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// numberedLines is a text of so many lines, each of 10 bytes.
func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %04d\n", i)
	}
	return b.String()
}

func returning(name, text string) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: name, ReadOnly: true}, func(context.Context, string) (string, error) { return text, nil })
}

func keeping(l orchestrator.LargeResults) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.LargeResults = l }
}

// idOfKept returns the id of the first result of a run that was kept.
func idOfKept(t *testing.T, res orchestrator.Result) string {
	t.Helper()
	for _, m := range res.Output.ToolMetas() {
		if m.Kept.ID != "" {
			return m.Kept.ID
		}
	}
	require.Fail(t, "no result was kept")
	return ""
}

// idOf returns the id of a text that is kept.
func idOf(t *testing.T, text string) string {
	t.Helper()
	res, err := solver(t, scripted.New(scripted.Calls(scripted.Call("dump", "{}", "1")), scripted.Text("ok")),
		with(returning("dump", text)), keeping(orchestrator.LargeResults{Keep: 1 << 40, Show: 256})).Run(t.Context(), task("go"))
	require.NoError(t, err)
	return idOfKept(t, res)
}

func reads(callID, format string, args ...any) scripted.Reply {
	return scripted.Calls(scripted.Call(orchestrator.ReadResultTool, fmt.Sprintf(format, args...), callID))
}

// A large result is shown in part, and the model reads the rest by range and finds a text in it,
// with a store and without one. What is kept is valid UTF-8, and ranges cut no rune.
func TestLargeResults_readByRange(t *testing.T) {
	text := numberedLines(500) + "ääää\nneedle in ä haystack\n" + numberedLines(500)
	id := idOf(t, text)
	for name, store := range map[string]checkpoint.Store{"memory": nil, "store": new(checkpoint.Memory), "a store without values": withoutValues{new(checkpoint.Memory)}} {
		t.Run(name, func(t *testing.T) {
			model := scripted.New(scripted.Calls(scripted.Call("dump", "{}", "1")),
				reads("2", `{"id":%q,"offset":300,"length":40}`, id), reads("3", `{"id":%q,"find":"needle"}`, id), reads("4", `{"id":%q,"offset":5001,"length":3}`, id),
				reads("5", `{"id":%q,"offset":99999}`, id), reads("6", `{"id":"aaaaaaaaaaaaaaaaaaaaaaaa"}`), reads("7", `{"id":%q,"offset":10020}`, id),
				reads("8", `{"id":%q,"find":"line 00","offset":20}`, id), reads("9", `{"id":%q,"find":"nowhere"}`, id), scripted.Text("done"))
			res := ran(t, solver(t, model, with(returning("dump", text)), stored(store), keeping(orchestrator.LargeResults{Keep: 1 << 20, Show: 1000})), task("go"))
			outs := res.Output.ToolMetas()
			require.Equal(t, messages.Kept{ID: id, Size: int64(len(text))}, outs[0].Kept)
			require.Less(t, len(outs[0].Output), 1400)
			require.True(t, strings.HasPrefix(outs[0].Output, text[:750]+"\n[bytes 750 to "))
			require.Contains(t, outs[0].Output, text[len(text)-250:]+"\n[the result is kept as "+id+": read any part of it with the tool read_result, such as {")
			require.Equal(t, "[bytes 300 to 340 of "+fmt.Sprint(len(text))+"]\n"+text[300:340]+"\n[it goes on at offset 340]", outs[1].Output)
			require.Equal(t, fmt.Sprintf("[1 places from byte 0 on, of %d bytes]\nbyte 5009: needle in ä haystack\n", len(text)), outs[2].Output)
			require.Equal(t, fmt.Sprintf("[bytes 5002 to 5004 of %d]\nä\n[it goes on at offset 5004]", len(text)), outs[3].Output)
			require.Equal(t, messages.StatusFailed, outs[4].Status)
			require.Contains(t, outs[4].Output, "beyond the end of the result, which has "+fmt.Sprint(len(text))+" bytes")
			require.Contains(t, outs[5].Output, "the run has kept no result of this id")
			require.True(t, strings.HasSuffix(outs[6].Output, "line 0499\n\n[this is its end]"), outs[6].Output)
			require.Contains(t, outs[7].Output, "[the first 20 places from byte 20 on")
			require.Contains(t, outs[8].Output, "it does not stand from byte 0 on")
			for _, o := range outs[1:] {
				require.Zero(t, o.Kept, "what the tool reads is not kept again")
			}
		})
	}
}

// withoutValues is a store that keeps no values.
type withoutValues struct{ m *checkpoint.Memory }

func (s withoutValues) Append(ctx context.Context, b checkpoint.Batch) error {
	return s.m.Append(ctx, b)
}

func (s withoutValues) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	return s.m.Head(ctx, key)
}

func (s withoutValues) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	return s.m.Read(ctx, key, from)
}

// A run that waits and goes on in another process reads what was kept before. Where only the memory
// of the first process had it, the tool says that it is gone.
func TestLargeResults_afterResume(t *testing.T) {
	text := numberedLines(2000)
	id := idOf(t, text)
	for name, store := range map[string]checkpoint.Store{"gone": withoutValues{new(checkpoint.Memory)}, "there": new(checkpoint.Memory), "sealed": sealedStore(t, new(checkpoint.Memory))} {
		t.Run(name, func(t *testing.T) {
			build := scriptedBy(t, with(returning("dump", text), tools.AskUser()), stored(store), keeping(orchestrator.LargeResults{Keep: 30_000, Show: 300}))
			res := ran(t, build(scripted.Calls(scripted.Call("dump", "{}", "1")), scripted.Calls(question("Go on?", "2"))), task("go"))
			require.Equal(t, machine.StatusWaiting, res.Status)
			res = goOn(t, build(reads("3", `{"id":%q,"offset":10000,"length":20}`, id), scripted.Calls(scripted.Call("dump", "{}", "4")), scripted.Text("done")), "r",
				machine.Reply{WaitID: res.Waits[0].ID, Text: "yes"})
			outs := res.Output.ToolMetas()
			if name == "gone" {
				require.Contains(t, outs[2].Output, "the result was kept, and is not there any more")
			} else {
				require.Contains(t, outs[2].Output, text[10000:10020])
			}
			require.Equal(t, id, outs[3].Kept.ID, "the same text takes no more room")
		})
	}
}

func sealedStore(t *testing.T, inner checkpoint.Store) checkpoint.Store {
	t.Helper()
	key, err := sealed.NewKey("k", bytes.Repeat([]byte{1}, sealed.SecretSize))
	require.NoError(t, err)
	store, err := sealed.New(inner, sealed.Keys{Current: key})
	require.NoError(t, err)
	return store
}

// All that a run keeps has a bound, which counts what was kept before a resume. Beyond it results
// are cut as usual, and say so with the right numbers, also those that are larger than what is kept
// of one result.
func TestLargeResults_bounds(t *testing.T) {
	store := new(checkpoint.Memory)
	var texts []tools.Tool
	for i, size := range []int{2000, 2500, 100, 9000} {
		texts = append(texts, returning(fmt.Sprint("dump", i), strings.Repeat(string(rune('a'+i)), size)))
	}
	bounds := orchestrator.LargeResults{Keep: 5000, Show: 300, Max: 3000}
	build := func(replies ...scripted.Reply) *orchestrator.Orchestrator {
		return solver(t, scripted.New(replies...), with(texts...), with(tools.AskUser()), stored(store), keeping(bounds), func(c *orchestrator.Config) { c.MaxToolResult = 1000 })
	}
	res := ran(t, build(scripted.Calls(scripted.Call("dump0", "{}", "1"), scripted.Call("dump2", "{}", "2")), scripted.Calls(question("?", "3"))), task("go"))
	res = goOn(t, build(scripted.Calls(scripted.Call("dump3", "{}", "4")), scripted.Calls(scripted.Call("dump1", "{}", "5")), scripted.Text("done")), "r", machine.Reply{WaitID: res.Waits[0].ID, Text: "yes"})
	outs := res.Output.ToolMetas()
	require.EqualValues(t, 2000, outs[0].Kept.Size)
	require.Equal(t, strings.Repeat("c", 100), outs[1].Output)
	require.Zero(t, outs[3].Kept)
	require.Equal(t, strings.Repeat("d", 1000)+"\n[cut: 8000 of 9000 bytes are left out; it is not kept, since the results of a run that are kept may have 5000 bytes together, and 3000 are left]", outs[3].Output)
	require.EqualValues(t, 2500, outs[4].Kept.Size)

	// Of one result Max bytes are kept, with a line that says so.
	bounds.Keep = -1
	store = new(checkpoint.Memory)
	res = ran(t, build(scripted.Calls(scripted.Call("dump3", "{}", "1")), scripted.Text("done")), task("go"))
	id := idOfKept(t, res)
	data, _, err := store.ReadValue(t.Context(), inRun("r"), id, 0, 1<<20)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("d", 3000)+"\n[cut: 6000 of 9000 bytes are left out]", string(data))
}

// A tool may say how much of its results is shown; a strategy that does not offer the tool that
// reads gets results as without it; and what a middleware returns is what is kept.
func TestLargeResults_whatIsShown(t *testing.T) {
	text := numberedLines(100)
	sized := func(name string, most int) tools.Tool {
		return tools.NewRaw(tools.Definition{Name: name, MaxResult: most}, func(context.Context, string) (string, error) { return text, nil })
	}
	on := keeping(orchestrator.LargeResults{Keep: 1 << 20, Show: 300})
	model := scripted.New(scripted.Calls(scripted.Call("all", "{}", "1"), scripted.Call("more", "{}", "2"), scripted.Call("less", "{}", "3")), scripted.Text("done"))
	res := ran(t, solver(t, model, with(sized("all", -1), sized("more", 2000), sized("less", 20)), on), task("go"))
	outs := res.Output.ToolMetas()
	require.Equal(t, text, outs[0].Output)
	require.Equal(t, text, outs[1].Output)
	require.True(t, strings.HasPrefix(outs[2].Output, text[:15]+"\n[bytes 15 to 995 of 1000 are left out here]"))

	res, err := solver(t, scripted.New(scripted.Calls(scripted.Call("less", "{}", "1"), scripted.Call("dump", "{}", "2")), scripted.Text("done")), with(sized("less", 20), returning("dump", text)), on, func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"solve": completetask.New(completetask.Config{Tools: []string{"less", "dump"}})}
	}).Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Equal(t, text[:20]+"\n[cut: 980 of 1000 bytes are left out; no more can be read of it]", res.Output.ToolMetas()[0].Output)
	require.Equal(t, text, res.Output.ToolMetas()[1].Output)

	store := new(checkpoint.Memory)
	res, err = solver(t, scripted.New(scripted.Calls(scripted.Call("dump", "{}", "1")), scripted.Text("done")), with(returning("dump", text)), on, stored(store),
		handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
			a, err := next(ctx, e)
			if r, ok := a.(nextstep.ToolResult); ok {
				require.Equal(t, text, r.Output.Output, "the middleware sees the whole")
				r.Output.Output = strings.ToUpper(text)
				return r, err
			}
			return a, err
		})).Run(t.Context(), task("go"))
	require.NoError(t, err)
	data, _, err := store.ReadValue(t.Context(), inRun("r"), idOfKept(t, res), 0, 1<<20)
	require.NoError(t, err)
	require.Equal(t, strings.ToUpper(text), string(data))
}

// Untrusted text stays untrusted when it is read in parts, also after a resume, and by a process
// whose records do not say where it came from.
func TestLargeResults_taint(t *testing.T) {
	page := tools.NewRaw(tools.Definition{Name: "page", Untrusted: true}, func(context.Context, string) (string, error) { return numberedLines(300), nil })
	own := returning("own", numberedLines(400))
	ids := []string{idOf(t, numberedLines(300)), idOf(t, numberedLines(400))}
	model := scripted.New(scripted.Calls(scripted.Call("page", "{}", "1"), scripted.Call("own", "{}", "2")),
		scripted.Calls(scripted.Call(orchestrator.ReadResultTool, fmt.Sprintf(`{"id":%q}`, ids[0]), "3"), scripted.Call(orchestrator.ReadResultTool, fmt.Sprintf(`{"id":%q}`, ids[1]), "4")), scripted.Text("done"))
	res := ran(t, solver(t, model, with(page, own), keeping(orchestrator.LargeResults{Keep: 1 << 20, Show: 300})), task("go"))
	outs := res.Output.ToolMetas()
	require.Equal(t, []bool{true, false, true, false}, []bool{outs[0].Untrusted, outs[1].Untrusted, outs[2].Untrusted, outs[3].Untrusted})
}

// The whole result is redacted before it is kept, so that what a model may not see is nowhere. If
// it cannot be redacted, nothing of it is kept.
func TestPrivacy_largeResults(t *testing.T) {
	text := numberedLines(200) + card + "\n" + numberedLines(200)
	for name, streams := range map[string]bool{"run": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			store, log := new(checkpoint.Memory), new(bytes.Buffer)
			id := idOf(t, strings.ReplaceAll(text, card, "[card]"))
			o := solver(t, scripted.New(scripted.Calls(scripted.Call("dump", "{}", "1")), reads("2", `{"id":%q,"offset":1990,"length":40}`, id), scripted.Text("done")),
				with(returning("dump", text)), stored(store), redacting(withoutCards), func(c *orchestrator.Config) {
					c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				}, keeping(orchestrator.LargeResults{Keep: 1 << 20, Show: 300}))
			var told string
			if streams {
				events := watched(t, o, task("go"))
				told = seen(t, events)
			} else {
				res := ran(t, o, task("go"))
				told = fmt.Sprint(res)
			}
			require.Contains(t, told, "[card]")
			require.NotContains(t, told, card)
			data, _, err := store.ReadValue(t.Context(), inRun("r"), id, 0, 1<<20)
			require.NoError(t, err)
			require.Equal(t, strings.ReplaceAll(text, card, "[card]"), string(data))
			require.NotContains(t, whole(t, store), card)
			require.NotContains(t, log.String(), "line 0")
		})
	}
	t.Run("fails", func(t *testing.T) {
		store := new(checkpoint.Memory)
		refusing := func(rec machine.Record) (machine.Record, error) {
			if _, ok := rec.(machine.Answered); ok && machine.TypeOf(rec) == "answered" && rec.(machine.Answered).Tool == "dump" {
				return nil, errors.New("no")
			}
			return rec, nil
		}
		_, err := solver(t, scripted.New(scripted.Calls(scripted.Call("dump", "{}", "1"))), with(returning("dump", text)), stored(store),
			redacting(refusing), keeping(orchestrator.LargeResults{Keep: 1 << 20, Show: 300})).Run(t.Context(), task("go"))
		var refused *orchestrator.RedactionError
		require.ErrorAs(t, err, &refused)
		values, err := store.Values(t.Context(), inRun("r"))
		require.NoError(t, err)
		require.Empty(t, values)
	})
}

// A store that fails while a result is put keeps nothing, and the result is cut as usual. The error
// of the store is not told to the model.
func TestLargeResults_storeFails(t *testing.T) {
	store := &failingValues{Memory: new(checkpoint.Memory)}
	res, err := solver(t, scripted.New(scripted.Calls(scripted.Call("dump", "{}", "1")), scripted.Text("done")), with(returning("dump", numberedLines(300))), stored(store),
		keeping(orchestrator.LargeResults{Keep: 1 << 20, Show: 300}), func(c *orchestrator.Config) { c.MaxToolResult, c.Timeouts.Store = 1000, -1 }).Run(t.Context(), task("go"))
	require.NoError(t, err)
	out := res.Output.ToolMetas()[0]
	require.Zero(t, out.Kept)
	require.True(t, strings.HasSuffix(out.Output, "\n[cut: 2000 of 3000 bytes are left out; it could not be kept]"), out.Output)
}

type failingValues struct{ *checkpoint.Memory }

func (*failingValues) PutValue(context.Context, checkpoint.Key, string, []byte) error {
	return errors.New("secret: the disk is full")
}

// A tool that returns 100 MB costs little more than that: what is kept of it is bounded.
func TestLargeResults_hugeResult(t *testing.T) {
	huge := strings.Repeat("0123456789", 10<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := solver(t, scripted.New(scripted.Calls(scripted.Call("dump", "{}", "1")), scripted.Text("done")), with(returning("dump", huge)), stored(new(checkpoint.Memory)),
		keeping(orchestrator.LargeResults{Keep: 64 << 20})).Run(t.Context(), task("go"))
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.InDelta(t, 16<<20, res.Output.ToolMetas()[0].Kept.Size, 100)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20))
}

// The name of the tool is taken, or a bound makes no sense: New says so.
func TestLargeResults_refused(t *testing.T) {
	for name, edit := range map[string]func(*orchestrator.Config){
		"read_result": with(returning(orchestrator.ReadResultTool, "")), "at least 256": keeping(orchestrator.LargeResults{Keep: 1, Show: 3}),
	} {
		cfg := orchestrator.Config{Client: scripted.New(), Strategies: strategy.Set{"s": completetask.New(completetask.Config{})}, LargeResults: orchestrator.LargeResults{Keep: 1}}
		edit(&cfg)
		_, err := orchestrator.New(cfg)
		var wrong *orchestrator.ConfigError
		require.ErrorAs(t, err, &wrong)
		require.ErrorContains(t, err, name)
	}
}
