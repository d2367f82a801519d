package orchestrator

import (
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// ConfigError says which field of a [Config] or a [Task] is invalid, why, and what to do.
type ConfigError struct {
	Field string
	Err   error
}

// Error names the field.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("orchestrator: %s: %s", e.Field, guard.Bare(e.Err))
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// configErrors returns a [*ConfigError] about a field for each error joined in err.
func configErrors(field string, err error) error {
	all := guard.Each(err)
	for i, e := range all {
		all[i] = &ConfigError{Field: field, Err: e}
	}
	return errors.Join(all...)
}

// startError returns the error of a run that cannot start, with the invalid field of the [Task].
func (o *Orchestrator) startError(err error) error {
	c, ok := errors.AsType[*machine.ConfigError](err)
	if !ok {
		return err
	}
	if unknown, ok := errors.AsType[*strategy.UnknownError](c.Err); ok && unknown.Name == "" {
		return &ConfigError{Field: "Task.Strategy", Err: fmt.Errorf("%w: name one of them, or set Config.Default", c.Err)}
	}
	return configErrors("Task."+c.Field, c.Err)
}

// RunExistsError reports that a run cannot be started or resumed because its id is in use. It wraps
// checkpoint.ErrConflict.
type RunExistsError struct {
	Run        string
	InProgress bool // here or, if Err wraps [checkpoint.ErrLeased], in another process; otherwise the run has a journal
	Err        error
}

// Error names the run and says what to do.
func (e *RunExistsError) Error() string {
	if leased, ok := errors.AsType[*checkpoint.Error](e.Err); ok && !leased.Until.IsZero() {
		return fmt.Sprintf("orchestrator: run %.64q is in progress in another process, or that has died: wait until %s, or take it over", e.Run, leased.Until.UTC().Format(time.RFC3339))
	}
	if errors.Is(e.Err, errNoLease) {
		return fmt.Sprintf("orchestrator: run %.64q is in progress, or its process has died: without leases nobody knows; wait until it has ended, or set Task.TakeOver", e.Run)
	}
	if e.InProgress {
		return fmt.Sprintf("orchestrator: run %.64q is in progress; wait until it has ended, or choose another id", e.Run)
	}
	return fmt.Sprintf("orchestrator: run %.64q exists already; Resume it, or choose another id", e.Run)
}

// leasedError is the error of a lease that somebody else has, as a conflict.
type leasedError struct{ err error }

func (e *leasedError) Error() string   { return e.err.Error() }
func (e *leasedError) Unwrap() []error { return []error{e.err, checkpoint.ErrConflict} }

// Unwrap returns the cause, such as a [*JournalError].
func (e *RunExistsError) Unwrap() error { return e.Err }

// UnansweredError reports that a run waits for answers and cannot be resumed: Config.Reply is nil
// or did not answer, and Config.Store is nil. The Result beside it has StatusWaiting, the waits and
// the messages so far. It wraps [tools.ErrSuspended].
type UnansweredError struct {
	Run   string
	Waits []machine.Wait
	Err   error // why Config.Reply did not answer, if known; may be nil
}

// Error names the run and says what is missing.
func (e *UnansweredError) Error() string {
	text := fmt.Sprintf("orchestrator: run %.64q waits for %d answers and cannot go on: nobody can be asked, and without Config.Store nothing was stored to resume", e.Run, len(e.Waits))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns [tools.ErrSuspended], and the cause if there is one.
func (e *UnansweredError) Unwrap() []error {
	if e.Err == nil {
		return []error{tools.ErrSuspended}
	}
	return []error{tools.ErrSuspended, e.Err}
}
