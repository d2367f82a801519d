package machine_test

import (
	"strconv"
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

// listener is a scene that hears notes, and tells them in what it does next.
type listener struct {
	*scene
	heard []string
}

func (l *listener) Hear(note string) {
	if note == "panic" {
		panic("no more")
	}
	l.heard = append(l.heard, note)
}

// listening makes a listener whose scene is made with it.
func listening(build func(*listener) *scene) func() strategy.Strategy {
	return func() strategy.Strategy {
		l := &listener{}
		l.scene = build(l)
		return l
	}
}

// thrice asks three times, and tells what it has heard by then.
func thrice(l *listener) *scene {
	turn := 0
	return &scene{Reply: func(llmclient.Response) nextstep.NextStep {
		if turn++; turn < 3 {
			return ask("heard: " + strings.Join(l.heard, ", "))
		}
		return done(strings.Join(l.heard, ", "))
	}}
}

func beginListening(t *testing.T, set strategy.Set, edit ...func(*machine.Config)) *engine {
	t.Helper()
	cfg := config(nil, edit...)
	cfg.Strategies = set
	return drive(t, cfg, machine.Started{Strategy: "main", Input: delegation.Input{Goal: "go"}})
}

func (e *engine) say(texts ...string) {
	for _, text := range texts {
		e.apply(machine.Noted{At: e.tick(), Text: text})
	}
}

// toldOf returns the numbers of the notes that events of a kind tell of, with their frames.
func (e *engine) toldOf(kind machine.EventKind) (told []string) {
	for _, v := range e.events(kind) {
		told = append(told, v.Frame+":"+strconv.Itoa(v.Detail.(machine.Noting).Note))
	}
	return told
}

// A listener hears each note once, in order, right before its next answer.
func TestNoted_heardAtTheNextBoundary(t *testing.T) {
	e := beginListening(t, strategy.Set{"main": listening(thrice)})
	e.say("one", "two")
	require.Equal(t, 2, e.m.Frames()[0].ToHear)
	require.Empty(t, e.toldOf(machine.EventNoteHeard))
	e.answer("1", said("x"))
	require.Equal(t, []string{"0:1", "0:2"}, e.toldOf(machine.EventNoteHeard))
	require.Zero(t, e.m.Frames()[0].ToHear)
	e.answer("2", said("x"))
	e.say("three")
	e.answer("3", said("x"))
	require.Equal(t, "one, two, three", e.m.Output().Text())
	require.Empty(t, e.toldOf(machine.EventNoteUnheard))
	e.replays(through)
}

// Nobody hears a note where nobody listens, and none that comes when the run must end.
func TestNoted_unheard(t *testing.T) {
	e := begin(t, only(hungry()))
	e.say("one")
	e.answer("1", said("x"))
	require.Equal(t, []string{"0:1"}, e.toldOf(machine.EventNoteUnheard))
	e.replays(through)

	e = beginListening(t, strategy.Set{"main": listening(thrice)})
	e.stop(machine.Stopped{})
	e.say("late")
	e.answer("1", said("x"))
	require.Equal(t, machine.StatusStopped, e.m.Status())
	require.Equal(t, []string{"0:1"}, e.toldOf(machine.EventNoteUnheard))
	e.replays(through)
}

// Each live frame hears a note at its own boundary, and a frame that is entered later does not.
func TestNoted_everyFrame(t *testing.T) {
	parent := func(l *listener) *scene {
		return &scene{
			Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "child"} },
			Child: func(delegation.Output) nextstep.NextStep {
				if len(l.heard) == 1 {
					l.heard = append(l.heard, "again")
					return nextstep.Delegate{Strategy: "child"}
				}
				return done(strings.Join(l.heard, ", "))
			},
		}
	}
	e := beginListening(t, strategy.Set{"main": listening(parent), "child": listening(thrice)})
	e.say("one")
	for _, id := range []string{"2", "3", "4"} {
		e.answer(id, said("x"))
	}
	require.Equal(t, []string{"0.1:1", "0:1"}, e.toldOf(machine.EventNoteHeard))
	for _, id := range []string{"6", "7", "8"} {
		e.answer(id, said("x"))
	}
	require.Equal(t, "one, again", e.m.Output().Text())
	require.Equal(t, []string{"0.1:1", "0:1"}, e.toldOf(machine.EventNoteHeard))
	e.replays(through)
}

// A panic in Hear fails the frame, as in any method.
func TestNoted_panic(t *testing.T) {
	e := beginListening(t, strategy.Set{"main": listening(thrice)})
	e.say("panic")
	e.answer("1", said("x"))
	require.Equal(t, delegation.CodePanic, e.m.Output().Err.Code)
	require.ErrorContains(t, e.m.Output().Err, "Hear")
}

// Notes that nobody has heard are bounded, and so is their text.
func TestNoted_bounds(t *testing.T) {
	e := beginListening(t, strategy.Set{"main": listening(thrice)})
	wrong[*machine.AnswerError](t, e, machine.Noted{Text: strings.Repeat("x", machine.MaxNote+1)}, "the text of the note has 65537 bytes")
	wrong[*machine.AnswerError](t, e, machine.Noted{}, "the note has no text")
	for range machine.MaxNotes + 1 {
		e.say("n")
	}
	require.Equal(t, []string{"0:" + strconv.Itoa(machine.MaxNotes+1)}, e.toldOf(machine.EventNoteUnheard))
	e.answer("1", said("x"))
	require.Len(t, e.toldOf(machine.EventNoteHeard), machine.MaxNotes)
	e.say("more")
	e.answer("2", said("x"))
	require.Len(t, e.toldOf(machine.EventNoteHeard), machine.MaxNotes+1)
	e.replays(through)
}

// remembering is a clerk that hears notes.
type remembering struct {
	*clerk
	heard []string
}

func (r *remembering) Hear(note string) { r.heard = append(r.heard, note) }

func (r *remembering) ProcessToolResults([]messages.ToolOutput) nextstep.NextStep {
	return r.fsm.Then("end", done(strings.Join(r.heard, ", ")))
}

// A note for a run that waits for a person is heard after the reply, also if the run goes on from a
// snapshot.
func TestNoted_whileWaiting(t *testing.T) {
	set := strategy.Set{"main": func() strategy.Strategy {
		return &remembering{clerk: newClerk(clerks("acting"))().(*clerk)}
	}}
	e := beginListening(t, set, tool(tools.Definition{Name: "guarded", NeedsApproval: true}))
	e.answer("1", calling("guarded"))
	e.say("one")
	require.Equal(t, machine.StatusWaiting, e.m.Status())
	s, err := e.m.Snapshot()
	require.NoError(t, err)
	require.Equal(t, []machine.NoteSnapshot{{Note: 1, Text: "one"}}, s.Notes)
	data, err := machine.AppendSnapshot(nil, &s)
	require.NoError(t, err)
	s, err = machine.ReadSnapshot(data)
	require.NoError(t, err)

	m := machine.New(e.cfg)
	require.NoError(t, m.Apply(machine.Migrated{At: e.now, Snapshot: s}))
	again, err := m.Snapshot()
	require.NoError(t, err)
	require.Equal(t, s.Notes, again.Notes)
	require.NoError(t, m.Apply(machine.Noted{At: e.now, Text: "two"}))
	require.NoError(t, m.Apply(machine.Replied{At: e.now, Reply: machine.Reply{WaitID: m.Waits()[0].ID}}))
	require.Equal(t, "one, two", m.Output().Text())
}
