package wire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPaired(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":"\ud83d\ude00 \u00e9 \\ud83d"}`: `{"a":"\ud83d\ude00 \u00e9 \\ud83d"}`,
		`{"a":"\ud83d"}`:                      `{"a":"\ufffd"}`,
		`{"a":"\ude00\ud83d"}`:                `{"a":"\ufffd\ufffd"}`,
		`{"a":"\ud83d\ud83d\ude00\\\ud83dx"}`: `{"a":"\ufffd\ud83d\ude00\\\ufffdx"}`,
		`"\ud83`:                              `"\ud83`,
		``:                                    ``,
	} {
		require.Equal(t, want, Paired(raw))
	}
}

// What is sent is a JSON object, whatever a model wrote.
func TestCalledArguments(t *testing.T) {
	for args, want := range map[string]string{
		"": "{}", " null\n": "{}", `{"a":1}`: `{"a":1}`, " {}\r\n": " {}\r\n",
		"\u00a0{}": "{\"INVALID_JSON\":\"\u00a0{}\"}", "{}\u3000": "{\"INVALID_JSON\":\"{}\u3000\"}", "\f{}": `{"INVALID_JSON":"\u000c{}"}`,
		`["a"]`: `{"INVALID_JSON":"[\"a\"]"}`, `{"a`: `{"INVALID_JSON":"{\"a"}`,
	} {
		got := CalledArguments(args)
		require.Equal(t, want, got, "%q", args)
		require.True(t, json.Valid([]byte(got)), "%q", args)
	}
}
