package machine

import (
	"fmt"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// ApprovalRequest is a tool call that a policy judges.
type ApprovalRequest struct {
	Run        string
	Frame      string
	Seq        int
	Call       messages.ToolCall // as it will be made
	Definition tools.Definition  // of the tool
	Untrusted  bool              // text from outside has been read, which may have led to this call
}

// Verdict is what a policy says of a tool call.
type Verdict int

// The verdicts.
const (
	VerdictAsk    Verdict = iota // a person is asked
	VerdictAllow                 // the call is made
	VerdictRefuse                // it is not, and the model is told so
)

var verdictNames = [...]string{VerdictAsk: "ask", VerdictAllow: "allow", VerdictRefuse: "refuse"}

// String returns the name of the verdict in the JSON form.
func (v Verdict) String() string {
	if v < 0 || int(v) >= len(verdictNames) {
		return fmt.Sprintf("Verdict(%d)", int(v))
	}
	return verdictNames[v]
}

// MarshalText returns the name of the verdict.
func (v Verdict) MarshalText() ([]byte, error) {
	if v < 0 || int(v) >= len(verdictNames) {
		return nil, fmt.Errorf("machine: no verdict has the number %d", int(v))
	}
	return []byte(verdictNames[v]), nil
}

// UnmarshalText reads the name of a verdict.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, name := range verdictNames {
		if name == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("machine: unknown verdict %.64q", text)
}

// ApprovalPolicy judges tool calls. It is pure: it may be called for the same call again, and must
// then say the same.
type ApprovalPolicy func(ApprovalRequest) Verdict

// AllowAlways allows every call.
func AllowAlways(ApprovalRequest) Verdict { return VerdictAllow }

// AllowNever refuses every call.
func AllowNever(ApprovalRequest) Verdict { return VerdictRefuse }

// AskAlways has a person asked about every call.
func AskAlways(ApprovalRequest) Verdict { return VerdictAsk }

// AskIfUntrusted has a person asked once text from outside has been read.
func AskIfUntrusted(r ApprovalRequest) Verdict {
	if r.Untrusted {
		return VerdictAsk
	}
	return VerdictAllow
}

// AskIfChanging has a person asked unless the tool is read-only.
func AskIfChanging(r ApprovalRequest) Verdict {
	if r.Definition.ReadOnly {
		return VerdictAllow
	}
	return VerdictAsk
}
