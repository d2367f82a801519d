package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
)

// Standing is how a run stands that another engine drives, see [Orchestrator.Begin].
type Standing struct {
	Key     checkpoint.Key
	Records int            // how many are stored
	Epoch   int64          // for Step and Continue; each Unclear raises it
	Status  machine.Status // "" while there is something to perform; StatusWaiting if only people and times are waited for; else how the run has ended

	// Effects are to be performed, each by one Step, in any order and at the same time: those that
	// were released and have no answer. Questions to people are Waits instead.
	Effects   []machine.Effect
	Withdrawn []machine.EffectID // of the Effects: end the context of their Step
	Waits     []machine.Wait     // open ones, also while effects are in progress; timers among them
	Due       time.Time          // when a Continuation with Expire has something to end; zero: never

	Result Result // of a run that waits or has ended; else only Run is set
}

// Continuation says what a run is told from outside; see [Orchestrator.Continue].
type Continuation struct {
	// After is the Records of the Standing that this is about. Replies to waits that were answered
	// since, notes of the same text and a stop are not given again, so that a Continue whose outcome
	// is unknown may be repeated as it is. 0: nothing is left out.
	After int

	Replies []machine.Reply
	Notes   []string // as by [Orchestrator.Note]
	Expire  bool     // end the waits that have expired, and agents whose time is over

	Stop   bool   // stop the run, after the effects in progress
	Now    bool   // with Stop: at once; end the contexts of the Steps then
	Reason string // of the Stop, as in [Orchestrator.Stop]

	// Unclear says that nobody knows what became of the effects that were in progress at Epoch, and
	// that no Step is in progress, as far as can be known: a Step that is, in a process that was
	// frozen, begins no effect any more that is not safe to repeat. It is what
	// [Orchestrator.Resume] does after a crash: calls that may have had their effect are looked up,
	// or become waits of the kind [machine.WaitUnknown], as Unknown says; all others are in Effects
	// again. If the Epoch of the run is another one, it has been done already.
	Unclear bool
	Epoch   int64
	Unknown machine.Unknown

	Limits delegation.Limits // as in [Resumption]; for a run that waits, or with Unclear
}

// ErrNotBegun is wrapped by the error of a Step that did not begin its effect: the same Step may be
// made again.
var ErrNotBegun = errors.New("orchestrator: the effect was not begun")

// Begin begins a run that another engine drives, such as a workflow service: one that says itself
// when, and in which process, each effect is performed. The records lie in Config.Store, and are
// those that the loop of [Orchestrator.Run] writes. Begin, Step and Continue may be called in any
// number of processes with the same Config:
//
//	s, err := o.Begin(ctx, task)
//	for each of s.Effects that was not begun yet: s, err = o.Step(ctx, s.Key, effect.ID, s.Epoch, nil)
//	for what comes from outside, and at s.Due: s, err = o.Continue(ctx, s.Key, continuation)
//	until s.Status is not "" and not StatusWaiting
//
// Begin again, with the same Run and task, gives the Standing; another task is a [*RunExistsError],
// and so is a run that a loop has begun. Stop and Notes of the Task are not used, and neither are
// Reply, Observe and Timeouts.Run of the Config. For a task with a Factory, Config.Factory must
// know it in other processes.
//
// Nothing is held between the calls. So that no [Orchestrator.Recover] takes the run, and Resume
// only with TakeOver, its head has a lease that does not run out before the run ends, under a writer
// whose name begins with "engine-"; Prune and Forget leave it alone until then. For these methods
// the run is that of an engine as long as it has such a lease.
func (o *Orchestrator) Begin(ctx context.Context, task Task) (Standing, error) {
	return Standing{}, errors.ErrUnsupported
}

// Standing reads how a run stands. It changes nothing. Its errors are those of
// [Orchestrator.Resume].
func (o *Orchestrator) Standing(ctx context.Context, key checkpoint.Key) (Standing, error) {
	return Standing{}, errors.ErrUnsupported
}

// Step performs an effect of a run, stores its answer and all that follows from it, and returns how
// the run stands then. The epoch is that of the Standing whose Effects had the effect. If the effect
// has an answer already, or waits, nothing is performed. Of a run that stops, an effect is answered
// as not begun. Messages in the inbox of the run are applied before the answer.
//
// Events that no record tells, such as deltas, are given to observe, one after the other, while the
// effect is in progress; nil: to nobody. All others come by [Orchestrator.Follow].
//
// If ctx ends, the effect is cut off. That is an error, without an answer, unless the effect was
// withdrawn before. After an error that does not wrap [ErrNotBegun] the effect may have been
// performed, and its answer is lost. The Step may be made again if the effect is safe to repeat, see
// [machine.Effect.Safe]; else a Continuation with Unclear says so. One that is not safe must not be
// given to two Steps in one epoch.
//
// The errors of a run that this process cannot go on with are those of [Orchestrator.Resume]; the
// run is then parked as by [Orchestrator.Recover], and goes on by the next Step of a process that
// can.
func (o *Orchestrator) Step(ctx context.Context, key checkpoint.Key, id machine.EffectID, epoch int64, observe func(machine.Event)) (Standing, error) {
	return Standing{}, errors.ErrUnsupported
}

// Continue tells a run what has come from outside, stores what follows from it, and returns how the
// run stands then. It applies the messages in the inbox of the run first. An error that wraps a
// [*machine.ReplyError] says that a reply or a note was refused; then nothing of the Continuation
// was applied. The other errors are those of [Orchestrator.Step].
func (o *Orchestrator) Continue(ctx context.Context, key checkpoint.Key, how Continuation) (Standing, error) {
	return Standing{}, errors.ErrUnsupported
}
