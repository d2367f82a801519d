package machine_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// distant delegates to another service, and ends with what that says.
func distant() *scene {
	return &scene{
		Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} },
		Child: func(o delegation.Output) nextstep.NextStep { return done("far said " + o.Text()) },
	}
}

// The intent of a remote delegation comes before its start. After a crash it is started again,
// without a second intent and with nobody asked; after an answer of people it has a new one.
func TestRemote_intents(t *testing.T) {
	e := begin(t, only(distant), remote)
	intents := func() (n int) {
		for _, r := range e.records {
			if i, ok := r.(machine.Intended); ok {
				require.Equal(t, machine.EffectRemote, i.Kind)
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, intents())
	key := new(e.effect("1")).Key()
	e.crash(0)
	e.resume(machine.Resumed{})
	require.Equal(t, []string{"1"}, e.ids())
	require.Equal(t, key, new(e.effect("1")).Key())
	require.Equal(t, 1, intents())

	asked := e.effect("1")
	e.suspend("1", question(&asked, "shall I?"))
	e.reply("1/0/1", machine.Reply{Text: "yes"})
	require.Equal(t, 2, intents())
	hi := "hi"
	e.answer("1", nextstep.DelegationResult{Output: delegation.Output{Result: &hi}})
	require.Equal(t, "far said hi", e.m.Output().Text())
}

// The intent of a remote is not that of a call, is not judged, and is stored once.
func TestRemote_wrongIntents(t *testing.T) {
	e := begin(t, only(distant), remote)
	intent := machine.Intended{Effect: machine.EffectID{Seq: 1}, Frame: "0", Kind: machine.EffectRemote, Verdict: machine.VerdictAllow}
	wrong[*machine.AnswerError](t, e, intent, "the call already has its verdict")
	called := intent
	called.Kind = ""
	wrong[*machine.ReplayError](t, e, called, "")

	m := machine.New(e.cfg)
	require.NoError(t, m.Apply(e.records[0]))
	for _, v := range []machine.Verdict{machine.VerdictAsk, machine.VerdictRefuse} {
		judged := intent
		judged.Verdict = v
		require.ErrorAs(t, m.Apply(judged), new(*machine.AnswerError))
	}
	require.NoError(t, m.Apply(intent))
}

// Journals of earlier releases have no intents of remotes. A remote there is in progress from its
// step on: it may be answered, suspended, asked about, stopped, cut off and left unbegun.
func TestRemote_journalsWithoutIntents(t *testing.T) {
	hi := "hi"
	out := machine.Answered{Effect: machine.EffectID{Seq: 1}, Frame: "0", Kind: machine.EffectRemote, Answer: nextstep.DelegationResult{Output: delegation.Output{Result: &hi}}}
	wait := machine.Wait{Run: "r", Frame: "0", Seq: 1, Kind: machine.WaitQuestion, Text: "Size?"}.Identified(machine.EffectID{Seq: 1})
	said := machine.Replied{Reply: machine.Reply{WaitID: wait.ID, Text: "large"}}
	cut := machine.Answered{Effect: machine.EffectID{Seq: 1}, Frame: "0", Kind: machine.EffectRemote, NotBegun: true}
	for name, rest := range map[string][]machine.Record{
		"answered":               {out},
		"resumed":                {machine.Resumed{}, out},
		"suspended":              {machine.Suspended{Effect: machine.EffectID{Seq: 1}, Waits: []machine.Wait{wait}}, said, out},
		"suspended and resumed":  {machine.Suspended{Effect: machine.EffectID{Seq: 1}, Waits: []machine.Wait{wait}}, machine.Resumed{}, said, machine.Resumed{}, out},
		"asked":                  {machine.Asked{Effect: machine.EffectID{Seq: 1}, Wait: wait}, said, out},
		"asked and resumed":      {machine.Asked{Effect: machine.EffectID{Seq: 1}, Wait: wait}, machine.Resumed{}, said, out},
		"stopped":                {machine.Stopped{}, out},
		"stopped and resumed":    {machine.Stopped{}, machine.Resumed{}, out},
		"stopped at once":        {machine.Stopped{Now: true}, out},
		"stopped before it went": {machine.Stopped{}, cut},
		"cut off and resumed":    {machine.Stopped{Now: true}, machine.Resumed{}},
	} {
		t.Run(name, func(t *testing.T) {
			e := begin(t, only(distant), remote)
			without, with := machine.New(e.cfg), machine.New(e.cfg)
			require.NoError(t, without.Apply(e.records[0]))
			require.NoError(t, with.Apply(e.records[0]))
			for i, r := range rest {
				for _, intent := range slices.Clone(with.Ready().Intents) {
					require.NoError(t, with.Apply(intent))
				}
				require.NoError(t, with.Apply(r))
				require.NoError(t, without.Apply(r), "%d %T", i, r)
			}
			require.True(t, without.Done())
			require.Equal(t, with.Status(), without.Status())
			require.Equal(t, with.Output(), without.Output())
			require.Empty(t, without.Ready().Intents)
		})
	}
}
