package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Wait is something that a run waits for: a person's answer, as a rule.
type Wait struct {
	ID        string    `json:"id"`                  // what a [Reply] names; unique
	Run       string    `json:"run"`                 // that waits: the one that is asked, or one that an agent tool made for it
	Frame     string    `json:"frame"`               // where: a position in the delegation tree
	Seq       int       `json:"seq"`                 // of the step
	Kind      string    `json:"kind"`                // what is asked for: WaitApproval, WaitQuestion, or one of your own
	CallID    string    `json:"call_id,omitempty"`   // the tool call that it is about, if it is about one
	Tool      string    `json:"tool,omitempty"`      // the tool of that call
	Arguments string    `json:"arguments,omitempty"` // of that call, as they will be used
	Text      string    `json:"text,omitempty"`      // what to tell the person
	Options   []string  `json:"options,omitempty"`   // answers to choose from; none: any
	Untrusted bool      `json:"untrusted,omitempty"` // the run has read text from outside, which may have led to this
	Expires   time.Time `json:"expires,omitzero"`    // an answer after this is not taken; zero: never
}

// The kinds of a [Wait] that this library makes.
const (
	WaitApproval = "approval"         // may the call be made? Reply.Approve says
	WaitQuestion = tools.KindQuestion // Reply.Text says
	WaitStep     = "step"             // a Handler cannot perform the step now, and said no more
)

// Reply answers a [Wait].
type Reply struct {
	WaitID  string `json:"wait_id"`
	Approve bool   `json:"approve,omitempty"` // for WaitApproval: the call may be made
	Text    string `json:"text,omitempty"`    // for WaitQuestion: the answer
	Reason  string `json:"reason,omitempty"`  // why not, for the model: of a refusal, or of a question that is declined (no Text)
}

// ErrSuspended is what the error of a Handler that cannot answer now wraps, and of a Config.Reply
// that cannot. It is the same as [tools.ErrSuspended]. See [SuspendedError].
var ErrSuspended = tools.ErrSuspended

// SuspendedError ends a run as waiting, and says for what.
type SuspendedError struct {
	Waits   []Wait
	Results []messages.ToolOutput // of those calls of an ExecuteTools that have a result all the same; they are not made again
}

// Error says how many waits there are.
func (e *SuspendedError) Error() string {
	return fmt.Sprintf("orchestrator: the run waits for %d answers", len(e.Waits))
}

// Unwrap returns [ErrSuspended].
func (e *SuspendedError) Unwrap() error { return ErrSuspended }

// ExpiredError says that nobody answered a [Wait] in time.
type ExpiredError struct{ Wait Wait }

// Error names the wait.
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("orchestrator: nobody answered in time to the %s %.64q", e.Wait.Kind, e.Wait.ID)
}

// Unwrap returns context.DeadlineExceeded.
func (e *ExpiredError) Unwrap() error { return context.DeadlineExceeded }

func (w Wait) expired(now time.Time) bool { return !w.Expires.IsZero() && now.After(w.Expires) }

// identity is a hash of all that a wait is about.
func (w Wait) identity() string {
	sum := sha256.New()
	for _, part := range []string{w.Run, strconv.Itoa(w.Seq), w.Frame, w.Kind, w.CallID, w.Tool, canonical(w.Arguments), w.Text, strconv.Itoa(len(w.Options))} {
		_, _ = fmt.Fprintf(sum, "%d:%s;", len(part), part)
	}
	for _, o := range w.Options {
		_, _ = fmt.Fprintf(sum, "%d:%s;", len(o), o)
	}
	if !w.Expires.IsZero() {
		_, _ = fmt.Fprintf(sum, "%d", w.Expires.UnixMilli())
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// canonical returns JSON with its keys sorted, numbers as they are written, and no blanks; anything
// else as it is.
func canonical(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.Decode(new(any)) != io.EOF {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
}
