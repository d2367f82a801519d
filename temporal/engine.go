package temporal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// Engine runs the tasks of an Orchestrator on Temporal. Its methods may be called concurrently; its
// fields stay as they are once it is in use.
type Engine struct {
	Client       client.Client
	Orchestrator *orchestrator.Orchestrator // has a store that all workers reach, with a checkpoint.Inbox
	Queue        string                     // the task queue of the workflows, and of activities that name none

	// Activities change how effects of a kind are scheduled: their task queue, their time-outs, and
	// the retries of those that are safe to repeat. Zero fields are those of [Defaults]. Runs in
	// progress follow the options of the worker that schedules their next effect.
	Activities map[machine.EffectKind]workflow.ActivityOptions

	// Strategies are options, such as a task queue, for the effects of a strategy, by its name in
	// the Set: instead of those in Activities. All engines of a run have the same.
	Strategies map[string]workflow.ActivityOptions

	// Observe gets the events of this worker that are in no journal, such as deltas of models. It
	// is called from several goroutines, and is quick. All other events come by
	// [orchestrator.Orchestrator.Follow], in every process.
	Observe func(machine.Event)
}

// Defaults are the options of an effect for which [Engine] says nothing else. A worker
// that does not answer for 10 seconds has lost its activity. An attempt may take a day: time-outs
// of models and tools are the Orchestrator's. An effect that is safe to repeat has 10 attempts
// before the run is looked at anew.
func Defaults() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 24 * time.Hour,
		HeartbeatTimeout:    10 * time.Second,
		RetryPolicy:         &sdk.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute, MaximumAttempts: 10},
	}
}

// The names of what a worker registers.
const (
	workflowName = "segue.run"
	continueName = "segue.continue"
	effectPrefix = "segue." // before the kind of an effect
	postedSignal = "posted"
	answerUpdate = "answer"
	stateQuery   = "state"
)

// Register registers the workflows and the activities on a worker. The worker polls Queue, or a
// queue of [Engine].Activities or Strategies.
func (e *Engine) Register(w worker.Registry) {
	e.register(w)
	w.RegisterActivityWithOptions(e.goOn, activity.RegisterOptions{Name: continueName})
	for _, kind := range []machine.EffectKind{machine.EffectModel, machine.EffectTool, machine.EffectRemote} {
		w.RegisterActivityWithOptions(e.step, activity.RegisterOptions{Name: effectPrefix + string(kind)})
	}
}

// register registers the workflows.
func (e *Engine) register(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(e.workflow, workflow.RegisterOptions{Name: workflowName})
	w.RegisterWorkflowWithOptions(records, workflow.RegisterOptions{Name: recordsName})
}

// Start begins a run: it stores the run's first record, and has Temporal start its workflow. The
// task is checked as by [orchestrator.Orchestrator.Run], with the same errors. A run whose id is
// taken is an [*orchestrator.RunExistsError], unless a Start of the same task was cut off between
// the two: it is completed. Stop, Notes and Factory of the task are not used.
func (e *Engine) Start(ctx context.Context, task orchestrator.Task) (checkpoint.Key, error) {
	if err := e.check(); err != nil {
		return checkpoint.Key{}, err
	}
	p, err := e.Orchestrator.Begin(ctx, task)
	if err != nil {
		return p.Key, err
	}
	_, err = e.Client.ExecuteWorkflow(ctx, e.options(p.Key), workflowName, e.stateOf(&p))
	if _, exists := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); exists {
		return p.Key, &orchestrator.RunExistsError{Run: p.Key.Run, InProgress: !checkpoint.Status(p.Status).Ended(), Err: err}
	}
	if err != nil {
		err = fmt.Errorf("it is stored, and a Start of the same task with this id, or a Forward, goes on with it: %w", err)
	}
	return p.Key, wrapped(p.Key, err)
}

// check returns an error if a field that an Engine needs is missing.
func (e *Engine) check() error {
	switch {
	case e.Client == nil:
		return &orchestrator.ConfigError{Field: "Engine.Client", Err: errors.New("is nil")}
	case e.Orchestrator == nil:
		return &orchestrator.ConfigError{Field: "Engine.Orchestrator", Err: errors.New("is nil")}
	case e.Queue == "":
		return &orchestrator.ConfigError{Field: "Engine.Queue", Err: errors.New("is empty")}
	}
	return nil
}

// options returns how the workflow of a run is started.
func (e *Engine) options(key checkpoint.Key) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: workflowID(key), TaskQueue: e.Queue,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}
}

// workflowID returns the id of the workflow of a run. It is different for different keys. Temporal
// takes printable ASCII, of at most 1,000 bytes: instead of all else it is a digest.
func workflowID(key checkpoint.Key) string {
	id := key.Run
	if key.Namespace != "" || strings.HasPrefix(id, "/") {
		id = "/" + strings.NewReplacer("%", "%25", "/", "%2F").Replace(key.Namespace) + "/" + id
	}
	if len(id) > 1000 || strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Sprintf("//%x", sha256.Sum256([]byte(id))) // all other ids that begin so begin with ///
	}
	return id
}

// wrapped returns an error of Temporal about a run.
func wrapped(key checkpoint.Key, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("temporal: run %.64q: %w", key.Run, err)
}

// Answer replies to a wait of a run. The reply goes to the inbox of the run in the store, which
// checks it as [orchestrator.Orchestrator.Answer] does, with the same errors; the workflow is sent
// the id of the wait. Answer returns when the run has taken the reply, and a [*machine.ReplyError]
// if another, which says something else, came first. If no worker is there to take it, Answer
// returns nil after 5 seconds: the first one that comes takes it. After any other error Answer may
// be called again.
func (e *Engine) Answer(ctx context.Context, key checkpoint.Key, reply machine.Reply) error {
	err := e.Orchestrator.Answer(ctx, key, reply)
	if err == nil {
		err = e.answer(ctx, key, &reply)
	}
	if _, refused := errors.AsType[*machine.ReplyError](err); refused && e.hasTaken(ctx, key, &reply) {
		return nil
	}
	return err
}

// answer has the workflow of a run take a posted reply.
func (e *Engine) answer(ctx context.Context, key checkpoint.Key, reply *machine.Reply) error {
	soon, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	update, err := e.Client.UpdateWorkflow(soon, client.UpdateWorkflowOptions{
		WorkflowID: workflowID(key), UpdateName: answerUpdate, Args: []any{reply.WaitID}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = update.Get(soon, nil)
	}
	if refused, ok := errors.AsType[*sdk.ApplicationError](err); ok {
		return &machine.ReplyError{Run: key.Run, WaitID: reply.WaitID, Problem: refused.Message()}
	}
	if err != nil && ctx.Err() == nil {
		return e.posted(ctx, key)
	}
	return told(key, err)
}

// hasTaken reports whether a run has taken a reply: it may have looked into its inbox already, or
// the reply was given before.
func (e *Engine) hasTaken(ctx context.Context, key checkpoint.Key, reply *machine.Reply) bool {
	for event, err := range e.Orchestrator.Replay(ctx, key) {
		if err != nil {
			return false
		}
		if w, is := event.Detail.(machine.WaitEnded); is && w.WaitID == reply.WaitID {
			return w.Reply != nil && *w.Reply == *reply
		}
	}
	return false
}

// Note adds a text to a run, as [orchestrator.Orchestrator.Note] does, with the same errors.
func (e *Engine) Note(ctx context.Context, key checkpoint.Key, text string) error {
	if err := e.Orchestrator.Note(ctx, key, text); err != nil {
		return err
	}
	return e.posted(ctx, key)
}

// Stop stops a run, as [orchestrator.Orchestrator.Stop] does, with the same errors: after the
// effects in progress, or if now is true at once, by canceling the workflow. Workers notice that
// with their next heartbeat.
func (e *Engine) Stop(ctx context.Context, key checkpoint.Key, reason string, now bool) error {
	if err := e.Orchestrator.Stop(ctx, key, reason, now); err != nil {
		return err
	}
	if now {
		return told(key, e.Client.CancelWorkflow(ctx, workflowID(key), ""))
	}
	return e.posted(ctx, key)
}

// posted tells the workflow of a run that there is something in the inbox of the run.
func (e *Engine) posted(ctx context.Context, key checkpoint.Key) error {
	return told(key, e.Client.SignalWorkflow(ctx, workflowID(key), "", postedSignal, nil))
}

// told returns an error of telling a workflow what was posted. It is nil if the workflow has ended
// or is not there yet: the store has taken what was posted, and says what became of it.
func told(key checkpoint.Key, err error) error {
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone || err == nil {
		return nil
	}
	return wrapped(key, fmt.Errorf("what was said to it is stored, and a Forward tells it: %w", err))
}

// Query returns what the workflow of a run knows. It needs a worker; what stands in the store needs
// none, see [orchestrator.Orchestrator.Standing].
func (e *Engine) Query(ctx context.Context, key checkpoint.Key) (s State, err error) {
	value, err := e.Client.QueryWorkflow(ctx, workflowID(key), "", stateQuery)
	if err == nil {
		err = value.Get(&s)
	}
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	_, away := errors.AsType[*serviceerror.Unavailable](err)
	if err != nil && !gone && !away {
		err = fmt.Errorf("does a worker poll the queue %q? %w", e.Queue, err)
	}
	if err != nil {
		return s, wrapped(key, err)
	}
	described, err := e.Client.DescribeWorkflow(ctx, workflowID(key), "")
	if err != nil {
		return s, wrapped(key, err)
	}
	for _, a := range described.RawResponse.GetPendingActivities() {
		s.Problem = cmp.Or(a.GetLastFailure().GetMessage(), s.Problem)
	}
	return s, nil
}

// Result waits until a run has ended, and returns its result, with the error that
// [orchestrator.Orchestrator.Run] would return. A run that waits for a person has not ended.
func (e *Engine) Result(ctx context.Context, key checkpoint.Key) (orchestrator.Result, error) {
	ended := e.Client.GetWorkflow(ctx, workflowID(key), "").Get(ctx, nil)
	if ctx.Err() != nil {
		return orchestrator.Result{Run: key.Run}, ctx.Err()
	}
	p, err := e.Orchestrator.Standing(ctx, key)
	switch {
	case err != nil:
		return orchestrator.Result{Run: key.Run}, err
	case !checkpoint.Status(p.Status).Ended():
		return p.Result, wrapped(key, cmp.Or(ended, errors.New("its workflow has ended, and the run has not")))
	case p.Result.Output.Err != nil:
		return p.Result, p.Result.Output.Err
	default:
		return p.Result, nil
	}
}
