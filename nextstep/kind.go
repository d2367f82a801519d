package nextstep

import "fmt"

// Kind names the variants of [NextStep].
type Kind uint8

// The kinds. The zero Kind is not one of them.
const (
	KindGetChatCompletion Kind = iota + 1
	KindExecuteTools
	KindDelegate
	KindComplete
	KindReportError
)

var kindNames = [...]string{
	KindGetChatCompletion: "get_chat_completion",
	KindExecuteTools:      "execute_tools",
	KindDelegate:          "delegate",
	KindComplete:          "complete",
	KindReportError:       "report_error",
}

// String returns the name of the kind in the JSON form, such as "execute_tools".
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Final reports whether a step of this kind ends its frame.
func (k Kind) Final() bool { return k == KindComplete || k == KindReportError }

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) {
	if k == 0 || int(k) >= len(kindNames) {
		return nil, fmt.Errorf("nextstep: no kind of step has the number %d", uint8(k))
	}
	return []byte(kindNames[k]), nil
}

// UnmarshalText reads the name of a kind.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if name != "" && name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("nextstep: unknown kind of step %q", text)
}
