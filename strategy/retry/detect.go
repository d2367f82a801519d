package retry

import (
	"fmt"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// Final reports whether an output with an error of that code is returned without another attempt,
// whatever the detector says:
//
//   - the provider refused or could not be reached: the client has already tried again as often as
//     is sensible (llmclient.Retry, llmclient.Fallback), and another prompt does not help;
//   - a limit was reached, or the run was stopped;
//   - an effect may have happened and must not happen twice, or the program is at fault (a panic, a
//     defect, the storage).
//
// All other failures are those of the work itself: "failed", "invalid", a reply that was cut off
// ("truncated"), an unreadable call ("malformed_tool_call"), and a strategy's own codes. A stream
// that broke off is "truncated" too, and is also tried again.
func Final(code delegation.Code) bool {
	switch code {
	case delegation.CodeLimit, delegation.CodeStopped, delegation.CodeUnknown,
		delegation.CodePanic, delegation.CodeDefect, delegation.CodeStorage:
		return true
	default:
		return ofProvider(llmclient.Code(code))
	}
}

// ofProvider reports whether an error of that code comes from the provider, and not from the model.
func ofProvider(code llmclient.Code) bool {
	switch code {
	case llmclient.CodeRateLimited, llmclient.CodeUnavailable, llmclient.CodeTimeout, llmclient.CodeContextLength,
		llmclient.CodeAuth, llmclient.CodeQuota, llmclient.CodeNotFound, llmclient.CodeBadRequest,
		llmclient.CodeContentFilter, llmclient.CodeBadResponse, llmclient.CodeCanceled:
		return true
	default:
		return false
	}
}

// detect reports whether an output is a failure, and why. A panic of Config.Detect is an error; its
// value may be a secret and is not shown.
func (s *retry) detect(out delegation.Output) (failed bool, why string, err error) {
	if s.Detect != nil {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("retry: Detect panicked with a %T", v)
			}
		}()
		failed, why = s.Detect(out)
		return failed, why, nil
	}
	if out.Err != nil {
		return true, out.Err.Message, nil
	}
	if s.OnEmpty == EmptyFail && frame.IsEmpty(out) {
		return true, s.failure("Empty", nil), nil
	}
	if s.Detector == DetectStrict {
		failed, why = s.toolFailed(out)
	}
	return failed, why, nil
}

// toolFailed finds the first failed call of an attempt. Calls in the input are not the attempt's
// own. A call with an unknown outcome does not count: it may have had its effect and must not be
// repeated.
func (s *retry) toolFailed(out delegation.Output) (failed bool, why string) {
	seen := 0
	for _, m := range out.Messages {
		o, ok := m.(messages.Tool)
		if !ok {
			continue
		}
		if seen++; seen > s.before && o.Status == messages.StatusFailed {
			return true, s.failure("ToolFailed", PromptData{Tool: o.ToolName, Result: o.Output})
		}
	}
	return false, ""
}

// maxFailure is the greatest number of bytes of a failure in the next attempt's prompt.
const maxFailure = 4096

// cut shortens a text for a prompt, at a character boundary, and says so.
func (s *settings) cut(text string) string {
	return frame.Cut(strings.ToValidUTF8(text, "\ufffd"), maxFailure, func() string { return s.failure("CutFailure", nil) })
}
