package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/tools"
)

// Wait is a question that a run waits for somebody to answer, usually a person. Other frameworks
// call this an interrupt. A [Reply] answers it.
type Wait struct {
	ID        string    `json:"id"`                  // unique; named by the [Reply]
	Run       string    `json:"run"`                 // the run that waits
	Frame     string    `json:"frame"`               // position in the delegation tree
	Seq       int       `json:"seq"`                 // number of the step
	Kind      string    `json:"kind"`                // one of the kinds below, or a kind of your own
	CallID    string    `json:"call_id,omitempty"`   // the tool call that it is about, if any
	Tool      string    `json:"tool,omitempty"`      // the tool of that call
	Arguments string    `json:"arguments,omitempty"` // arguments of that call, as they will be used
	Text      string    `json:"text,omitempty"`      // the question for the person
	Options   []string  `json:"options,omitempty"`   // possible answers; none: any answer
	Untrusted bool      `json:"untrusted,omitempty"` // the run has read text from outside, which may have caused this
	Expires   time.Time `json:"expires,omitzero"`    // later answers are rejected; zero: never
}

// The kinds of a [Wait] that this library makes.
const (
	WaitApproval = "approval"         // may the call be made? Reply.Approve answers
	WaitQuestion = tools.KindQuestion // Reply.Text answers
	WaitTimer    = tools.KindTimer    // nobody is asked: the effect continues at Expires
	WaitStep     = "step"             // a Handler cannot perform the effect now, and gave no other wait
	WaitUnknown  = "unknown"          // the call may have had its effect: Reply.Approve makes it again; otherwise Text or Reason says what is known
)

// Reply answers a [Wait].
type Reply struct {
	WaitID  string `json:"wait_id"`
	Approve bool   `json:"approve,omitempty"` // for WaitApproval: make the call; for WaitUnknown: make it again
	Text    string `json:"text,omitempty"`    // for WaitQuestion: the answer
	Reason  string `json:"reason,omitempty"`  // for the model: why the call is refused, or why the question is declined (with no Text)

	// Arguments, for WaitApproval with Approve, are a JSON object: the call is made with them
	// instead of the arguments that were shown. "" changes nothing. The policy judges the changed
	// call, and may refuse it. The conversation has the call as it is made. The arguments of a call
	// that has begun cannot be changed.
	Arguments string `json:"arguments,omitempty"`
}

// Expired reports whether the wait has expired at that time.
func (w *Wait) Expired(at time.Time) bool { return !w.Expires.IsZero() && at.After(w.Expires) }

// Identified returns w in the form that a journal would return, with its ID set. The ID is a hash
// of the effect and of all fields of w, with the arguments in canonical form. So a reply fits no
// other wait.
func (w Wait) Identified(of EffectID) Wait {
	if !w.plain() {
		if r, err := canonical(Asked{Wait: w}); err == nil {
			w = r.Wait
		}
	}
	w.ID = w.identity(of)
	return w
}

func (w *Wait) identity(of EffectID) string {
	var room [512]byte
	text := room[:0]
	for _, part := range [...]string{w.Run, of.String(), w.Frame, w.Kind, w.CallID, w.Tool, jsonform.Canonical(w.Arguments), w.Text} {
		text = appendPart(text, part)
	}
	for _, part := range w.Options {
		text = appendPart(text, part)
	}
	if !w.Expires.IsZero() {
		text = strconv.AppendInt(text, w.Expires.UnixMilli(), 10)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// appendPart appends a part of what identifies a wait, with its length.
func appendPart(dst []byte, part string) []byte {
	dst = append(strconv.AppendInt(dst, int64(len(part)), 10), ':')
	return append(append(dst, part...), ';')
}

// Problem says why a reply does not answer the wait at the given time; "" if it does.
func (w *Wait) Problem(r *Reply, at time.Time) string {
	switch {
	case w.Expired(at):
		return "it has expired; resume the run without a reply to be asked again"
	case w.Kind == WaitQuestion && r.Text == "" && r.Reason == "":
		return "a question is answered by Text, or declined by a Reason"
	case r.Arguments != "" && (w.Kind != WaitApproval || !r.Approve):
		return "Arguments are for the approval of a call"
	case r.Arguments != "" && !isObject(r.Arguments):
		return "its Arguments are not a JSON object"
	default:
		return ""
	}
}

// isObject reports whether a text is one JSON object.
func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}
