package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/segue-go/segue/tools"
)

// Wait is something that a run waits for: a person's answer, as a rule.
type Wait struct {
	ID        string    `json:"id"`                  // what a [Reply] names; unique
	Run       string    `json:"run"`                 // that waits
	Frame     string    `json:"frame"`               // where: a position in the delegation tree
	Seq       int       `json:"seq"`                 // of the step
	Kind      string    `json:"kind"`                // what is asked for: one of the kinds below, or one of your own
	CallID    string    `json:"call_id,omitempty"`   // the tool call that it is about, if it is about one
	Tool      string    `json:"tool,omitempty"`      // the tool of that call
	Arguments string    `json:"arguments,omitempty"` // of that call, as they will be used
	Text      string    `json:"text,omitempty"`      // what to tell the person
	Options   []string  `json:"options,omitempty"`   // answers to choose from; none: any
	Untrusted bool      `json:"untrusted,omitempty"` // text from outside has been read, which may have led to this
	Expires   time.Time `json:"expires,omitzero"`    // an answer after this is not taken; zero: never
}

// The kinds of a [Wait] that this library makes.
const (
	WaitApproval = "approval"         // may the call be made? Reply.Approve says
	WaitQuestion = tools.KindQuestion // Reply.Text says
	WaitTimer    = tools.KindTimer    // nobody is asked: the effect goes on at Expires
	WaitStep     = "step"             // a Handler cannot perform the effect now, and said no more
	WaitUnknown  = "unknown"          // the call may have had its effect: with Reply.Approve it is made again, else Text or Reason says what is known
)

// Reply answers a [Wait].
type Reply struct {
	WaitID  string `json:"wait_id"`
	Approve bool   `json:"approve,omitempty"` // for WaitApproval: the call may be made; for WaitUnknown: it is made again
	Text    string `json:"text,omitempty"`    // for WaitQuestion: the answer
	Reason  string `json:"reason,omitempty"`  // why not, for the model: of a refusal, or of a question that is declined (no Text)
}

// Expired reports whether the wait is over at that time.
func (w *Wait) Expired(at time.Time) bool { return !w.Expires.IsZero() && at.After(w.Expires) }

// Identified returns w as its JSON form gives it back, with its ID: a hash of the effect and of all
// that w says, the arguments in canonical form, so that a reply to it fits nothing else.
func (w Wait) Identified(of EffectID) Wait {
	if r, err := canonical(Asked{Wait: w}); err == nil {
		w = r.Wait
	}
	w.ID = w.identity(of)
	return w
}

func (w *Wait) identity(of EffectID) string {
	sum := sha256.New()
	parts := append([]string{w.Run, of.String(), w.Frame, w.Kind, w.CallID, w.Tool, canonicalJSON(w.Arguments), w.Text}, w.Options...)
	for _, part := range parts {
		_, _ = fmt.Fprintf(sum, "%d:%s;", len(part), part)
	}
	if !w.Expires.IsZero() {
		_, _ = fmt.Fprintf(sum, "%d", w.Expires.UnixMilli())
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// canonicalJSON returns JSON with its keys sorted, numbers as they are written, and no blanks;
// anything else as it is.
func canonicalJSON(text string) string {
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

// problem says why a reply does not answer the wait at that time; "" if it does.
func (w *Wait) problem(r *Reply, at time.Time) string {
	switch {
	case w.Expired(at):
		return "it has expired; resume the run without a reply to be asked again"
	case w.Kind == WaitQuestion && r.Text == "" && r.Reason == "":
		return "a question is answered by Text, or declined by a Reason"
	default:
		return ""
	}
}
