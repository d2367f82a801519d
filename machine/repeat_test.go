package machine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// repeater calls what its model calls, for ever, and notes the reasons of the results.
func repeater(heard *[]string) func() *scene {
	return func() *scene {
		return &scene{
			Start: func(delegation.Input) nextstep.NextStep {
				return ask("x", "read", "again", "write", "other", "ask", "work")
			},
			Reply: func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
			Results: func(results []messages.ToolOutput) nextstep.NextStep {
				var reasons []string
				for _, r := range results {
					reasons = append(reasons, r.Reason)
				}
				*heard = append(*heard, strings.Join(reasons, ","))
				return ask("x", "read", "again", "write", "other", "ask", "work")
			},
		}
	}
}

// loopTools are what a repeater calls.
func loopTools(c *machine.Config) {
	c.Tools = []tools.Definition{
		{Name: "read", ReadOnly: true}, {Name: "again", ReadOnly: true, Repeatable: true}, {Name: "write"}, {Name: "other"}, {Name: "ask", ReadOnly: true},
	}
}

// batchOf reads a batch: "read{} write" are two calls, the second without arguments.
func batchOf(text string) nextstep.APIResponse {
	var parts []messages.AssistantContent
	for i, call := range strings.Fields(text) {
		name, args, _ := strings.Cut(call, "{")
		if args != "" {
			args = "{" + strings.ReplaceAll(args, "_", " ")
		}
		parts = append(parts, messages.ToolCall{ID: "c" + string(rune('1'+i)), Name: name, Arguments: args})
	}
	return nextstep.APIResponse{Response: &llmclient.Response{Message: messages.Assistant{Content: parts}}}
}

// loop has a repeater make batches. What its calls come to stands behind a "=", and is "out"
// without one. A batch "!note" is a note, and "ask" waits for a person.
func loop(e *engine, batches ...string) {
	for _, b := range batches {
		if note, ok := strings.CutPrefix(b, "!"); ok {
			e.apply(machine.Noted{At: e.tick(), Text: note})
			continue
		}
		batch, out, _ := strings.Cut(b, "=")
		if out == "" {
			out = "out"
		}
		e.answer(e.ids()[0], batchOf(batch))
		for e.open[0].Kind == machine.EffectTool {
			x := e.open[0]
			if x.Call.Name == "ask" && len(x.Replies) == 0 {
				e.suspend(x.ID.String(), question(&x, "which?"))
				e.reply(e.ids()[0], machine.Reply{Text: "that"})
				continue
			}
			e.answer(x.ID.String(), result(x.Call.ID, out))
		}
	}
}

// A call that is made again with the same result and nothing new is noticed, and then not made.
func TestMachine_repeats(t *testing.T) {
	for name, test := range map[string]struct {
		batches []string
		want    string // the reasons of the results, batches apart
	}{
		"the same call":                  {[]string{`read{"a":1,"b":2}`, `read{"b":_2,"a":1}`, `read{"a":1,"b":2}`, `read{"a":1,"b":2}`}, " same repetition repetition"},
		"that changes something":         {[]string{"write", "write", "write"}, " same repetition"},
		"another between":                {[]string{`read{"a":1}`, `read{"a":2}`, `read{"a":1}`, `read{"a":2}`, `read{"a":1}`}, "  same same repetition"},
		"two calls":                      {[]string{"write other", "write other", "write other"}, ", same,same repetition,repetition"},
		"a call and what changes":        {[]string{"read write", "read write", "read write"}, ", same,same repetition,repetition"},
		"beside what is new":             {[]string{"read", "read", `read other{"a":1}`}, " same repetition,"},
		"twice in a reply":               {[]string{"read read read", "read", "read"}, ",, same repetition"},
		"text that is no JSON":           {[]string{"read{", "read{", "read{", "read{}"}, " same repetition "},
		"other arguments":                {[]string{`read{"a":1}`, `read{"a":2}`, `read{"a":3}`, `read{"a":1.0}`}, "   "},
		"a result that differs":          {[]string{"read=1", "read=2", "read=1", "read=2", "read=3", "read=3", "read=3"}, "     same repetition"},
		"after a call with an effect":    {[]string{"read", "read", "write", "read", "write", "read"}, " same   same "}, // of the writes, nothing is new
		"after one in the same batch":    {[]string{"read write", "read", "read", "read"}, ",  same repetition"},
		"after a note":                   {[]string{"read", "read", "!look again", "read", "read", "read"}, " same  same repetition"},
		"after the reply of a person":    {[]string{"read", "read", "ask", "read", "read", "read"}, " same   same repetition"},
		"the question itself":            {[]string{"ask", "ask", "ask", "ask"}, "   "},
		"a tool that may be called more": {[]string{"again", "again", "again", "again"}, "   "},
	} {
		t.Run(name, func(t *testing.T) {
			var heard []string
			e := begin(t, only(repeater(&heard)), loopTools)
			loop(e, test.batches...)
			require.Equal(t, test.want, strings.Join(heard, " "))
			e.replays(through)
		})
	}
}

// A call that is not made counts for nothing, and is answered without the outside.
func TestMachine_repeatsCountForNothing(t *testing.T) {
	var heard []string
	e := begin(t, only(repeater(&heard)), loopTools)
	loop(e, "read", "read", "read", "read")
	require.Equal(t, 2, e.m.Frames()[0].Used.ToolCalls)
	out := e.finished()
	require.Len(t, out, 4)
	require.Contains(t, e.events(machine.EventToolFinished)[3].Detail.(machine.ToolFinished).Output.Output, "this call was not made: it was made before with the same arguments")
}

// The number is that of the run: another one, none, and that of a journal of an earlier release.
func TestMachine_repeatsOfTheRun(t *testing.T) {
	for repeats, want := range map[int]string{1: " repetition repetition repetition", 3: " same same repetition", -1: "   "} {
		var heard []string
		e := begin(t, only(repeater(&heard)), loopTools, func(c *machine.Config) { c.Repeats = repeats })
		loop(e, "read", "read", "read", "read")
		require.Equal(t, want, strings.Join(heard, " "), repeats)
	}
	var heard []string
	e := idle(t, config(only(repeater(&heard)), loopTools))
	e.apply(machine.Started{At: e.tick(), Run: "r"})
	loop(e, "read", "read", "read", "read")
	require.Equal(t, "   ", strings.Join(heard, " "))
}

// Calls that a strategy makes by itself are its own matter: its tools, and calls that follow no
// reply. So are those of a successor, which begins anew.
func TestMachine_repeatsOfAStrategy(t *testing.T) {
	polls, heard := 0, []string{}
	e := begin(t, only(func() *scene {
		return &scene{
			Reply: func(llmclient.Response) nextstep.NextStep {
				return nextstep.ExecuteTools{Calls: batchOf("read").Response.Message.Calls()}
			},
			Results: func(results []messages.ToolOutput) nextstep.NextStep {
				heard = append(heard, results[0].Reason)
				if polls++; polls == 5 {
					return done("")
				}
				return nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "poll", Name: "read"}}}
			},
		}
	}), loopTools)
	e.answer("1", said("x"))
	for !e.m.Done() {
		e.answer(e.ids()[0], result(e.open[0].Call.ID, "out"))
	}
	require.Equal(t, make([]string, 5), heard)

	heard = nil
	handed := func() strategy.Strategy {
		s := repeater(&heard)()
		results := s.Results
		s.Results = func(r []messages.ToolOutput) nextstep.NextStep {
			if next := results(r); len(heard)%2 == 1 {
				return next
			}
			return nextstep.Complete{Handoff: &nextstep.Handoff{Strategy: "main", Input: delegation.Input{Goal: "go"}}}
		}
		return &handing{names: []string{"main"}, scene: s}
	}
	e = beginListening(t, strategy.Set{"main": handed}, loopTools)
	loop(e, "read", "read", "read", "read", "read", "read")
	require.Equal(t, []string{"", "same", "", "same", "", "same"}, heard)
}

// Many different calls do not make a frame forget the last ones.
func TestMachine_repeatsAmongMany(t *testing.T) {
	var heard []string
	e := begin(t, only(repeater(&heard)), loopTools)
	for i := range 200 {
		loop(e, `read{"at":`+strings.Repeat("1", i+1)+"}")
	}
	loop(e, `read{"at":`+strings.Repeat("1", 200)+"}", `read{"at":`+strings.Repeat("1", 200)+"}")
	require.Equal(t, []string{"", "same", "repetition"}, heard[199:])
}
