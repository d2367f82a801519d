package crash_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/crash"
	"github.com/segue-go/segue/tools"
)

// returns is a tool with a large result.
func returns(def tools.Definition, text string) tools.Tool {
	return tools.NewRaw(def, func(context.Context, string) (string, error) { return text, nil })
}

var (
	pages = strings.Repeat("a page of ümlauts\n", 50)
	dump  = returns(tools.Definition{Name: "dump", ReadOnly: true}, pages)
	fetch = returns(tools.Definition{Name: "fetch", Untrusted: true}, pages+"the end")
	again = returns(tools.Definition{Name: "again", Idempotent: true}, pages)
	more  = returns(tools.Definition{Name: "more", MaxResult: 500}, pages+pages)
)

// keeping returns a case whose large results are kept, so many thousand bytes of them.
func keeping(c crash.Case, most int64) crash.Case {
	config := c.Config
	c.Config = func() orchestrator.Config {
		cfg := config()
		cfg.LargeResults = orchestrator.LargeResults{Keep: most * 1000, Show: 256}
		return cfg
	}
	return c
}

// read is a call that reads a result.
func read(id, text, arguments string) messages.ToolCall {
	hash := sha256.Sum256([]byte(text))
	var name strings.Builder
	for _, b := range hash[:12] {
		fmt.Fprintf(&name, "%c%c", 'a'+b>>4, 'a'+b&15)
	}
	return scripted.Call(orchestrator.ReadResultTool, fmt.Sprintf(`{"id":%q%s}`, name.String(), arguments), id)
}

// TestCrash_largeResults cuts off runs that keep large results and read them: each is there for the
// process that goes on, and is there once.
func TestCrash_largeResults(t *testing.T) {
	agent := orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "helper"}, Strategy: "main"})
	list := append([]tools.Tool{dump, fetch, again, more, agent}, every...)
	reads := scripted.Calls(
		read("r1", pages, `,"offset":11,"length":40`), read("r2", pages+"the end", `,"find":"the end"`), read("r3", pages, `,"find":"ü","offset":300`),
		read("r4", pages, `,"offset":5000`), read("r5", "unknown", ""), read("r6", pages, `,"offset":700`))
	// Which boundaries every test run tries: those where a result is kept are among them.
	nth := map[string]int{"calls at the same time": 21, "the bound is reached": 14, "in an agent": 23}
	for name, replies := range map[string][]scripted.Reply{
		"calls at the same time": {
			scripted.Calls(call("c1", "dump"), call("c2", "fetch"), call("c3", "pay"), call("c4", "again")), reads, scripted.Text("done"),
		},
		"the bound is reached": {
			scripted.Calls(call("c1", "more")), scripted.Calls(call("c2", "fetch")), scripted.Calls(call("c3", "more"), call("c4", "dump")), scripted.Text("done"),
		},
		"in an agent": {
			scripted.Calls(call("c1", "helper")), scripted.Calls(call("c2", "fetch")), scripted.Text("fetched"),
			scripted.Calls(read("r1", pages+"the end", `,"offset":900`)), scripted.Text("done"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := keeping(of(strategy.Set{"main": worker}, list, replies...), 3)
			c.Pairs = prove.CasesOr(1)
			r := crash.Try(t, c.Every(prove.DepthOr(nth[name], 1)))
			require.Empty(t, r.Problems, r.String())
			require.Equal(t, "done", r.Output.Text())
			require.True(t, hasKept(&r), "nothing was kept")
		})
	}
}

// hasKept reports whether a run was cut off where a result is kept.
func hasKept(r *crash.Report) bool {
	for _, k := range r.Kinds {
		if k.Kind == "keep" && k.Cuts > 0 {
			return true
		}
	}
	return false
}

// forgetful is a store that says of large results that they are kept, and loses them.
type forgetful struct{ *checkpoint.Memory }

func (forgetful) PutValue(context.Context, checkpoint.Key, string, []byte) error { return nil }
