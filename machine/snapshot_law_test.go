package machine_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
)

// memory is what a follower remembers.
type memory struct {
	At    int      `json:"at"`
	Goal  string   `json:"goal"`
	Heard []string `json:"heard"`
}

func (f *follower) Snapshot() (json.RawMessage, error) {
	return json.Marshal(memory{f.at, f.goal, f.heard})
}

func (f *follower) Restore(snapshot json.RawMessage) error {
	var m memory
	err := json.Unmarshal(snapshot, &m)
	f.at, f.goal, f.heard = m.At, m.Goal, m.Heard
	return err
}

// snapshotOf returns the snapshot of a waiting run as a store gives it back.
func snapshotOf(t tester, m *machine.Machine) machine.Snapshot {
	t.Helper()
	taken, err := m.Snapshot()
	require.NoError(t, err)
	text := snapshotText(t, &taken)
	read, err := machine.ReadSnapshot([]byte(text))
	require.NoError(t, err)
	require.Equal(t, text, snapshotText(t, &read))
	return read
}

func snapshotText(t tester, s *machine.Snapshot) string {
	t.Helper()
	text, err := machine.AppendSnapshot(nil, s)
	require.NoError(t, err)
	return string(text)
}

// carryOver returns a new Machine that goes on from the snapshot of another one, and that has as
// many records.
func carryOver(t tester, cfg *machine.Config, from *machine.Machine) *machine.Machine {
	t.Helper()
	r := machine.Migrated{At: from.Now(), From: "v1", Snapshot: snapshotOf(t, from)}
	r.Snapshot.Records--
	m := machine.New(cfg)
	require.NoError(t, m.Apply(through(r)))
	out := take(m)
	require.Len(t, out.events, 1)
	require.Equal(t, machine.EventMigrated, out.events[0].Kind)
	require.Equal(t, r.Snapshot.Records, out.events[0].Detail.(machine.RunMigrated).Skipped)
	require.Empty(t, out.effects)
	require.Empty(t, out.withdrawn)
	return m
}

// alike holds that two Machines are in the same state.
func alike(t tester, a, b *machine.Machine) {
	t.Helper()
	require.Equal(t, a.Status(), b.Status())
	require.Equal(t, framesOf(a), framesOf(b))
	require.Equal(t, a.Waits(), b.Waits())
	require.Equal(t, a.Open(), b.Open())
	require.Equal(t, a.Output(), b.Output())
	if taken, err := a.Snapshot(); err == nil {
		again, err := b.Snapshot()
		require.NoError(t, err)
		require.Equal(t, snapshotText(t, &taken), snapshotText(t, &again))
	}
}

// framesOf returns the frames without the calls that may be repeated. A snapshot leaves them out:
// what a frame waits for, or one below it, is new to it before it goes on.
func framesOf(m *machine.Machine) []machine.FrameView {
	frames := m.Frames()
	for i := range frames {
		frames[i].Made = nil
	}
	return frames
}

// A run that goes on from a snapshot, of whatever point at which it waited, has the same effects,
// events and output as one that goes on from its records.
func TestSnapshot_goesOnAlike(t *testing.T) {
	carried := 0
	cases(t, func(t *rapid.T) {
		e := drive(t, policy(t, generated(program(t, true))), machine.Started{
			Strategy: "p0", Input: delegation.Input{Goal: "go"}, Parallel: []int{4, 1, 2, 0}[chance(t, 4)], Limits: limits(t),
		})
		w := world{agreeable: chance(t, 2) == 0, hesitant: chance(t, 3) == 0}
		for range 400 {
			if e.m.Done() {
				break
			}
			disturb(t, e)
			if e.m.Done() {
				break
			}
			which := chance(t, 1<<20)
			if i := slices.IndexFunc(e.open, func(x machine.Effect) bool { return x.Kind != machine.EffectPerson }); i >= 0 && chance(t, 4) > 0 {
				which = i // so that it comes to wait for people alone
			}
			e.turn(w, which)
		}
		m, twin := machine.New(e.cfg), (*machine.Machine)(nil)
		for _, r := range e.records {
			require.NoError(t, m.Apply(r))
			was := take(m)
			if twin != nil {
				require.NoError(t, twin.Apply(r), "%#v", r)
				require.Equal(t, was, take(twin), "%#v", r)
				alike(t, m, twin)
			}
			if _, err := m.Snapshot(); err != nil {
				if m.Status() == machine.StatusWaiting { // between the intents of several calls
					require.ErrorContains(t, err, "it is in progress")
				}
				continue
			}
			if carried++; twin == nil || chance(t, 2) == 0 {
				twin = carryOver(t, e.cfg, m)
			} else {
				twin = carryOver(t, e.cfg, twin)
			}
			alike(t, m, twin)
		}
	})
	require.Positive(t, carried, "points at which a run waited")
}
