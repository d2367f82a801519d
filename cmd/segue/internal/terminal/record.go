package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// DescribeWhole describes all of a wait.
func DescribeWhole(w machine.Wait) []Line {
	switch {
	case w.Text == "":
		return []Line{{Warn, "  " + plaintext.OneLine(w.Kind) + ": what it asks is seen in a terminal, with segue resume"}}
	case w.Kind == machine.WaitApproval:
		lines := []Line{{Bold, WaitPlace(w, "") + plaintext.Visible(w.Tool) + " needs your approval"}}
		if note := strings.TrimSpace(strings.TrimPrefix(w.Text, "May "+w.Tool+" be called?")); note != "" {
			lines = append(lines, Line{Warn, "  " + plaintext.Visible(plaintext.OneLine(note))})
		}
		lines = append(lines, DescribeArguments(w.Arguments)...)
		return append(lines, LineIf(w.Untrusted, Line{Warn, UntrustedWarning})...)
	case w.Kind == machine.WaitUnknown:
		return DescribeUnknown(w, "")
	default:
		return DescribeQuestion(w, "")
	}
}

// DescribeRecord describes a record of a run in one line.
func DescribeRecord(r machine.Record, verbose bool) string {
	switch r := r.(type) {
	case machine.Started:
		return "begins" + plaintext.Colon(text(r.Input.Goal, verbose))
	case machine.Resumed:
		return "goes on"
	case machine.Intended:
		if r.Kind == machine.EffectRemote {
			return "is to delegate to another service"
		}
		return "is to call " + plaintext.OneLine(r.Tool) + ": " + r.Verdict.String()
	case machine.Answered:
		return describeAnswered(r, verbose)
	case machine.Asked:
		return waitText(r.Wait, verbose)
	case machine.Suspended:
		if len(r.Waits) == 1 {
			return waitText(r.Waits[0], verbose)
		}
		return "waits for " + plaintext.Counted(len(r.Waits), "answer")
	case machine.Replied:
		return replyText(r, verbose)
	case machine.Noted:
		return "note: " + text(r.Text, verbose)
	case machine.Stopped:
		return "stopped" + plaintext.Colon(text(r.Reason, verbose))
	case machine.Migrated:
		return "carried over a change of code"
	default:
		return ""
	}
}

// waitText describes a wait without its place.
func waitText(w machine.Wait, verbose bool) string {
	w.Frame, w.Seq = "", 0
	line := DescribeWait(w, verbose)
	return line[len(WaitPlace(w, "")):]
}

func replyText(r machine.Replied, verbose bool) string {
	switch {
	case r.Expired:
		return "the wait expired"
	case r.Err != nil:
		return "nobody could be asked: " + text(plainwords.Of(r.Err.Message), verbose)
	default:
		return describeReply(happening{}, &r.Reply, verbose).Text[len(place(happening{})):]
	}
}

func describeAnswered(r machine.Answered, verbose bool) string {
	switch a := r.Answer.(type) {
	case nil:
		return plaintext.Join(" ", plaintext.OneLine(r.Tool), "was not begun")
	case nextstep.APIResponse:
		reply := "an answer"
		if calls := len(a.Response.Message.Calls()); calls > 0 {
			reply = plaintext.Counted(calls, "call")
		}
		line := plaintext.Join(" ", "model", plaintext.OneLine(a.Response.Model)) + ": " + plaintext.Join(", ", reply, tokens(a.Response.Usage), spent{r.Cost, r.Unpriced}.text(), lasting(r.Elapsed))
		if said := a.Response.Message.Text(); said != "" {
			line += ": " + text(said, verbose)
		}
		return line
	case nextstep.ToolResult:
		how := string(a.Output.Status)
		if a.Output.OK() {
			how = "ok"
		}
		whole := ""
		if a.Output.Kept.ID != "" {
			whole = fmt.Sprintf("(whole, %d bytes: %s)", a.Output.Kept.Size, plaintext.OneLine(a.Output.Kept.ID))
		}
		return plaintext.Join(" ", plaintext.OneLine(r.Tool), how, lasting(r.Elapsed), whole) + plaintext.Colon(text(a.Output.Output, verbose))
	case nextstep.DelegationResult:
		return "an agent elsewhere: " + text(a.Output.Text(), verbose)
	case nextstep.Failure:
		return plaintext.Join(" ", string(a.Source), plaintext.OneLine(r.Tool)) + " failed (" + string(a.Code) + "): " + text(plainwords.Of(a.Message), verbose)
	default:
		return ""
	}
}

// Tokens returns the tokens of models, with their cost; "" if there are none. The cost says that it
// is a part if some of the calls have no price.
func Tokens(u messages.Usage, c messages.Cost, unpriced int) string {
	return plaintext.Join(", ", tokens(u), spent{c, unpriced}.text())
}

// Lasting returns a duration on a second hand; "" if it is too short to be told.
func Lasting(d time.Duration) string { return lasting(d) }
