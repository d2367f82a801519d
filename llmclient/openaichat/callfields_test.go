package openaichat_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fields of a call beside function that are named as those in it are not kept: they would make the
// reply one that no journal takes.
func TestCalls_fieldsTwice(t *testing.T) {
	resp, err := newClient(t, sayJSON(t, `{"choices":[{"message":{"tool_calls":[{"id":"c","type":"function","name":"get","arguments":"{}","x":1,`+
		`"function":{"name":"get","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}]}`)).Complete(t.Context(), hello(), nil)
	require.NoError(t, err)
	got, err := json.Marshal(resp.Message)
	require.NoError(t, err)
	require.JSONEq(t, `{"role":"assistant","content":[{"type":"tool_call","id":"c","name":"get","arguments":"{\"a\":1}","x":1}]}`, string(got))
}
