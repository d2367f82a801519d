package orchestrator

import (
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// The types of package machine that users need.

type (
	// Event is [machine.Event].
	Event = machine.Event
	// EventKind is [machine.EventKind].
	EventKind = machine.EventKind
	// Detail is [machine.Detail].
	Detail = machine.Detail
	// RunStarted is [machine.RunStarted].
	RunStarted = machine.RunStarted
	// RunResumed is [machine.RunResumed].
	RunResumed = machine.RunResumed
	// OpenFrame is [machine.OpenFrame].
	OpenFrame = machine.OpenFrame
	// FrameEntered is [machine.FrameEntered].
	FrameEntered = machine.FrameEntered
	// StateChanged is [machine.StateChanged].
	StateChanged = machine.StateChanged
	// StepTaken is [machine.StepTaken].
	StepTaken = machine.StepTaken
	// CallDelta is [machine.CallDelta].
	CallDelta = machine.CallDelta
	// StepSnapshot is [machine.StepSnapshot].
	StepSnapshot = machine.StepSnapshot
	// CallSnapshot is [machine.CallSnapshot].
	CallSnapshot = machine.CallSnapshot
	// ToolStarted is [machine.ToolStarted].
	ToolStarted = machine.ToolStarted
	// ToolProgress is [machine.ToolProgress].
	ToolProgress = machine.ToolProgress
	// ToolFinished is [machine.ToolFinished].
	ToolFinished = machine.ToolFinished
	// RetryWaiting is [machine.RetryWaiting].
	RetryWaiting = machine.RetryWaiting
	// WaitStarted is [machine.WaitStarted].
	WaitStarted = machine.WaitStarted
	// WaitEnded is [machine.WaitEnded].
	WaitEnded = machine.WaitEnded
	// Compacted is [machine.Compacted].
	Compacted = machine.Compacted

	// Noting is [machine.Noting].
	Noting = machine.Noting
	// Drifted is [machine.Drifted].
	Drifted = machine.Drifted
	// SnapshotFailed is [machine.SnapshotFailed].
	SnapshotFailed = machine.SnapshotFailed
	// SnapshotError is [machine.SnapshotError].
	SnapshotError = machine.SnapshotError
	// RunMigrated is [machine.RunMigrated].
	RunMigrated = machine.RunMigrated
	// FrameLeft is [machine.FrameLeft].
	FrameLeft = machine.FrameLeft
	// RunFinished is [machine.RunFinished].
	RunFinished = machine.RunFinished
	// Share is [machine.Share].
	Share = machine.Share
	// Status is [machine.Status].
	Status = machine.Status
	// Wait is [machine.Wait].
	Wait = machine.Wait
	// Reply is [machine.Reply].
	Reply = machine.Reply
	// ApprovalRequest is [machine.ApprovalRequest].
	ApprovalRequest = machine.ApprovalRequest
	// ApprovalPolicy is [machine.ApprovalPolicy].
	ApprovalPolicy = machine.ApprovalPolicy
	// Verdict is [machine.Verdict].
	Verdict = machine.Verdict
	// Effect is [machine.Effect].
	Effect = machine.Effect
	// LimitError is [machine.LimitError].
	LimitError = machine.LimitError
	// StrategyError is [machine.StrategyError].
	StrategyError = machine.StrategyError
	// PanicError is [machine.PanicError].
	PanicError = machine.PanicError
	// PanicReport is [machine.PanicReport].
	PanicReport = machine.PanicReport
	// ReplayError is [machine.ReplayError].
	ReplayError = machine.ReplayError
	// ReplyError is [machine.ReplyError].
	ReplyError = machine.ReplyError
	// StepID is [machine.StepID].
	StepID = machine.StepID
)

// The kinds of events, statuses, verdicts and waits of package machine.
const (
	EventRunStarted   = machine.EventRunStarted
	EventRunResumed   = machine.EventRunResumed
	EventFrameEntered = machine.EventFrameEntered
	EventStateChanged = machine.EventStateChanged
	EventStepTaken    = machine.EventStepTaken
	EventTextDelta    = machine.EventTextDelta
	EventThoughtDelta = machine.EventThoughtDelta
	EventCallDelta    = machine.EventCallDelta
	EventStepSnapshot = machine.EventStepSnapshot
	EventToolStarted  = machine.EventToolStarted
	EventToolProgress = machine.EventToolProgress
	EventToolFinished = machine.EventToolFinished
	EventRetryWaiting = machine.EventRetryWaiting
	EventWaitStarted  = machine.EventWaitStarted
	EventWaitEnded    = machine.EventWaitEnded
	// MaxNote is [machine.MaxNote].
	MaxNote = machine.MaxNote

	EventCompacted   = machine.EventCompacted
	EventNoted       = machine.EventNoted
	EventNoteHeard   = machine.EventNoteHeard
	EventNoteUnheard = machine.EventNoteUnheard
	EventDrifted     = machine.EventDrifted
	EventMigrated    = machine.EventMigrated

	EventSnapshotFailed = machine.EventSnapshotFailed

	EventFrameLeft   = machine.EventFrameLeft
	EventRunFinished = machine.EventRunFinished

	ShareGoal   = machine.ShareGoal
	ShareChosen = machine.ShareChosen
	ShareAll    = machine.ShareAll

	StatusDone    = machine.StatusDone
	StatusFailed  = machine.StatusFailed
	StatusLimit   = machine.StatusLimit
	StatusStopped = machine.StatusStopped
	StatusWaiting = machine.StatusWaiting

	StatusInterrupted = machine.StatusInterrupted
	StatusTakenOver   = machine.StatusTakenOver

	VerdictAsk    = machine.VerdictAsk
	VerdictAllow  = machine.VerdictAllow
	VerdictRefuse = machine.VerdictRefuse

	WaitApproval = machine.WaitApproval
	WaitQuestion = machine.WaitQuestion
	WaitStep     = machine.WaitStep
	WaitUnknown  = machine.WaitUnknown
	WaitTimer    = machine.WaitTimer

	UnknownAsk  = machine.UnknownAsk
	UnknownTell = machine.UnknownTell

	ReasonRefused = machine.ReasonRefused
)

// The policies of package machine.
var (
	AllowAlways    ApprovalPolicy = machine.AllowAlways
	AllowNever     ApprovalPolicy = machine.AllowNever
	AskAlways      ApprovalPolicy = machine.AskAlways
	AskIfUntrusted ApprovalPolicy = machine.AskIfUntrusted
	AskIfChanging  ApprovalPolicy = machine.AskIfChanging
)

// ErrSuspended reports that no answer is available yet. A Handler or Config.Reply that cannot
// answer now returns an error that is or wraps it. It is the same value as [tools.ErrSuspended].
// See [SuspendedError].
var ErrSuspended = tools.ErrSuspended
