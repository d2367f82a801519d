package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// ApprovalRequest is a tool call that a policy judges.
type ApprovalRequest struct {
	Run        string
	Frame      string
	Seq        int
	Call       messages.ToolCall // as it will be made
	Definition tools.Definition  // of the tool
	Untrusted  bool              // the run has read text from outside, which may have led to this call
}

// Verdict is what a policy says of a tool call.
type Verdict int

// The verdicts.
const (
	VerdictAsk    Verdict = iota // a person is asked
	VerdictAllow                 // the call is made
	VerdictRefuse                // it is not, and the model is told so
)

// ApprovalPolicy judges tool calls. It may be called for the same call again, and must then say the
// same.
type ApprovalPolicy func(ApprovalRequest) Verdict

// AllowAlways allows every call.
func AllowAlways(ApprovalRequest) Verdict { return VerdictAllow }

// AllowNever refuses every call.
func AllowNever(ApprovalRequest) Verdict { return VerdictRefuse }

// AskAlways has a person asked about every call.
func AskAlways(ApprovalRequest) Verdict { return VerdictAsk }

// AskIfUntrusted has a person asked once the run has read text from outside.
func AskIfUntrusted(r ApprovalRequest) Verdict {
	if r.Untrusted {
		return VerdictAsk
	}
	return VerdictAllow
}

// AskIfChanging has a person asked unless the tool is read-only. It is the default.
func AskIfChanging(r ApprovalRequest) Verdict {
	if r.Definition.ReadOnly {
		return VerdictAllow
	}
	return VerdictAsk
}

// ApprovalConfig says which tool calls need a person's approval.
type ApprovalConfig struct {
	Default ApprovalPolicy            // for tools that are not in Tools and do not say NeedsApproval; nil: AskIfChanging
	Tools   map[string]ApprovalPolicy // by name, which must be that of a tool of the Config or of a strategy
	Expires time.Duration             // how long an approval may be given after it was asked for; 0: 24 hours; negative: for ever
}

// Approve is a middleware that has people approve tool calls. They see the final arguments; an
// approval is for that call of that step of that run with those arguments, once: whatever changes
// them behind this middleware has the call refused, so put it behind those that do. A refused call
// is a failed result with the reason, for the model. Calls that need no approval do not wait for
// those that do, unless people are asked in this process: then the whole batch waits.
//
// [New] refuses a rule for a tool that there is not. A tool whose Definition says NeedsApproval is
// asked about unless a rule names the tool; where the Config has no Approve at all, such tools
// alone are asked about, behind all of its Middleware.
//
// People are asked through [Call.Ask], so by Config.Reply, or by suspending the run.
func Approve(cfg ApprovalConfig) Middleware {
	if cfg.Default == nil {
		cfg.Default = AskIfChanging
	}
	if cfg.Expires == 0 {
		cfg.Expires = 24 * time.Hour
	}
	cfg.Tools = maps.Clone(cfg.Tools)
	return func(next Handler) Handler {
		announce(next, cfg.Tools)
		return func(ctx context.Context, call Call) (nextstep.Answer, error) {
			step, ok := call.Step.(nextstep.ExecuteTools)
			if !ok {
				return next(ctx, call)
			}
			if id := unapproved(call.approved, step.Calls); id != "" {
				return nil, notWhatWasApproved(id)
			}
			a := approval{cfg: cfg, call: call, byCall: map[string]string{}}
			a.judge(ctx, step.Calls)
			return a.perform(ctx, step.Calls, next)
		}
	}
}

// approval is one batch on its way through the middleware.
type approval struct {
	cfg     ApprovalConfig
	call    Call
	allowed []messages.ToolCall
	results []messages.ToolOutput // of calls that are not made
	waits   []Wait
	byCall  map[string]string // the ids of waits that were answered, by call
}

// judge finds out which calls may be made.
func (a *approval) judge(ctx context.Context, calls []messages.ToolCall) {
	for _, c := range calls {
		def, known := a.call.definition(c.Name)
		verdict := VerdictAllow // a call of what there is not does no harm, and is answered by whoever knows what there is
		if known {
			verdict = a.cfg.policy(def)(ApprovalRequest{
				Run: a.call.Run, Frame: a.call.Frame, Seq: a.call.Seq, Call: c, Definition: def, Untrusted: a.call.Untrusted,
			})
		}
		switch verdict {
		case VerdictAllow:
			a.allowed = append(a.allowed, c)
		case VerdictRefuse:
			a.refuse(c, ReasonRefused, "this call is not allowed here")
		default:
			a.ask(ctx, c)
		}
	}
}

// policy returns the policy for a tool.
func (cfg *ApprovalConfig) policy(def tools.Definition) ApprovalPolicy {
	switch policy := cfg.Tools[def.Name]; {
	case policy != nil:
		return policy
	case def.NeedsApproval:
		return AskAlways
	default:
		return cfg.Default
	}
}

// ask asks a person about a call.
func (a *approval) ask(ctx context.Context, c messages.ToolCall) {
	w := Wait{Kind: WaitApproval, CallID: c.ID, Tool: c.Name, Arguments: c.Arguments, Text: "May " + c.Name + " be called?"}
	if a.cfg.Expires > 0 {
		w.Expires = time.Now().Add(a.cfg.Expires).Truncate(time.Millisecond)
	}
	reply, err := a.call.Ask(ctx, w)
	if s, ok := errors.AsType[*SuspendedError](err); ok {
		a.waits = append(a.waits, s.Waits...)
		return
	}
	_, expired := errors.AsType[*ExpiredError](err)
	switch {
	case expired:
		a.refuse(c, ReasonRefused, "nobody approved this call in time")
	case errors.Is(err, errStop) || ctx.Err() != nil:
		a.refuse(c, messages.ReasonInterrupted, "the run was interrupted before anybody approved this call; it was not started")
	case err != nil:
		a.refuse(c, ReasonRefused, "nobody could be asked to approve this call")
	case !reply.Approve:
		text := "a person refused this call"
		if reply.Reason != "" {
			text += ": " + reply.Reason
		}
		a.refuse(c, ReasonRefused, text)
	default:
		a.byCall[c.ID] = reply.WaitID
		a.allowed = append(a.allowed, c)
	}
}

// ReasonRefused is the reason of a tool's result whose call was not approved.
const ReasonRefused = "refused"

func (a *approval) refuse(c messages.ToolCall, reason, text string) {
	out := messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: reason, Output: text}
	a.results = append(a.results, out)
	a.call.emit(Event{Kind: EventToolFinished, Detail: ToolFinished{Output: out}})
}

// perform makes the calls that may be made, and puts all results together.
func (a *approval) perform(ctx context.Context, calls []messages.ToolCall, next Handler) (nextstep.Answer, error) {
	var answer nextstep.ToolResults
	if len(a.allowed) > 0 {
		a.call.Step, a.call.approved = nextstep.ExecuteTools{Calls: a.allowed}, a.allowed
		got, err := next(ctx, a.call)
		a.use(err)
		if s, ok := errors.AsType[*SuspendedError](err); ok {
			a.waits = append(a.waits, s.Waits...)
			got, err = nextstep.ToolResults{Results: s.Results}, nil
		}
		var ok bool
		if answer, ok = got.(nextstep.ToolResults); err != nil || !ok {
			if len(a.results) == 0 {
				return got, err
			}
			if err == nil {
				err = fmt.Errorf("orchestrator: a middleware answered %T to a batch of tool calls", got)
			}
			answer = nextstep.ToolResults{Results: brokenResults(a.allowed, err)}
		}
	}
	answer.Results = append(slices.Clip(answer.Results), a.results...)
	if len(a.waits) > 0 {
		return nil, &SuspendedError{Waits: a.waits, Results: answer.Results}
	}
	answer.Results = inOrder(calls, answer.Results)
	return answer, nil
}

// use notes which approvals are used up: those of all calls but of such that wait for something
// else now.
func (a *approval) use(err error) {
	s, waits := errors.AsType[*SuspendedError](err)
	var done map[string]int
	if waits {
		done = placed(s.Results)
	}
	var used []string
	for call, id := range a.byCall {
		if waits {
			if _, ok := done[call]; !ok {
				continue
			}
		}
		used = append(used, id)
	}
	if a.call.run != nil {
		a.call.run.asks().use(used)
	}
}

// unapproved returns the id of a call that differs from what was approved; "" if there is none, or
// nothing was to be.
func unapproved(approved, calls []messages.ToolCall) string {
	if approved == nil {
		return ""
	}
	places := numbered(approved)
	for _, c := range calls {
		i, ok := places[c.ID]
		if !ok || approved[i].Name != c.Name || approved[i].Arguments != c.Arguments {
			return c.ID
		}
	}
	return ""
}

func notWhatWasApproved(call string) error {
	return fmt.Errorf("orchestrator: the call %.64q is not what was approved", call)
}

// brokenResults answers calls of which a Handler returned an error.
func brokenResults(calls []messages.ToolCall, err error) []messages.ToolOutput {
	results := make([]messages.ToolOutput, len(calls))
	for i, c := range calls {
		results[i] = messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Status: messages.StatusUnknown, Reason: tools.ReasonError, Output: err.Error()}
	}
	return results
}

// inOrder puts results in the order of their calls. Those of no call stay behind.
func inOrder(calls []messages.ToolCall, results []messages.ToolOutput) []messages.ToolOutput {
	places := numbered(calls)
	place := func(o messages.ToolOutput) int {
		if i, ok := places[o.CallID]; ok {
			return i
		}
		return len(calls)
	}
	slices.SortStableFunc(results, func(a, b messages.ToolOutput) int { return place(a) - place(b) })
	return results
}
