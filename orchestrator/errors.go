package orchestrator

import (
	"fmt"
)

// RunExistsError says that a run cannot be begun, or not be resumed now, because of what is there
// under its id. It wraps checkpoint.ErrConflict.
type RunExistsError struct {
	Run        string
	InProgress bool // in this Orchestrator, now; else it has a journal
	Err        error
}

// Error names the run and says what to do.
func (e *RunExistsError) Error() string {
	if e.InProgress {
		return fmt.Sprintf("orchestrator: run %.64q is in progress; wait until it has ended, or choose another id", e.Run)
	}
	return fmt.Sprintf("orchestrator: run %.64q exists already; Resume it, or choose another id", e.Run)
}

// Unwrap returns the cause, such as a [*JournalError].
func (e *RunExistsError) Unwrap() error { return e.Err }

// UnansweredError says that a run waits for answers and cannot go on: nobody could give them in
// this process, for Config.Reply is nil or did not answer, and nothing was stored, for Config.Store
// is nil. It comes with a Result that is waiting, with its waits and the messages so far. It wraps
// [ErrSuspended].
type UnansweredError struct {
	Run   string
	Waits []Wait
	Err   error // why Config.Reply did not answer, where it said so; may be nil
}

// Error names the run, and says what is missing.
func (e *UnansweredError) Error() string {
	text := fmt.Sprintf("orchestrator: run %.64q waits for %d answers and cannot go on: nobody can be asked, and without Config.Store nothing was stored to resume", e.Run, len(e.Waits))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns [ErrSuspended], and the cause if there is one.
func (e *UnansweredError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrSuspended}
	}
	return []error{ErrSuspended, e.Err}
}
