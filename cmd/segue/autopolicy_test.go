package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
)

// textServer is a server of models that refuses tools, and whose models write calls in the format
// hermes alone. It counts the requests to models.
func textServer(t *testing.T) (base string, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Messages []struct{ Content json.RawMessage }
			Tools    []any
			Format   any `json:"response_format"`
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			fmt.Fprint(w, `{"data":[{"id":"small"}]}`)
			return
		}
		requests.Add(1)
		text, first, last := "Done.", string(req.Messages[0].Content), string(req.Messages[len(req.Messages)-1].Content)
		switch {
		case len(req.Tools) > 0 || req.Format != nil:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"Tools and response_format are not supported."}}`)
			return
		case strings.Contains(last, "degrees"):
			text = "It is 17 degrees."
		case strings.Contains(first, "get_weather") && strings.Contains(first, "<tool_call>") || strings.Contains(first, `\u003ctool_call`):
			text = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"id": "r", "model": "small", "choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": text}}},
		})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", requests
}

// TestPolicyAuto tries the ways of calls at the first run with a server and model alone, and goes
// on with the one that worked.
func TestPolicyAuto(t *testing.T) {
	t.Parallel()
	base, requests := textServer(t)
	state, folder := t.TempDir(), t.TempDir()
	env := map[string]string{"XDG_STATE_HOME": state, "OPENAI_API_KEY": "sk-canary-0123456789"}
	file := filepath.Join(folder, "segue.yaml")
	require.NoError(t, os.WriteFile(file, []byte("models: {local: {model: small, base_url: '"+base+"', policy: auto}}\nagents: {a: {model: local}}\n"), 0o600))
	byFile := []string{"run", "--config", file, "--store", "none", "Say hello."}
	byFlag := []string{"run", "--base-url", base, "-m", "small", "--policy", "auto", "--store", "none", "--config", "", "Say hello."}
	const tried = "policy auto: trying in which ways small calls tools at "
	show := func() string {
		_, stdout, stderr := ask(t, env, "config", "show", "--origin", "--config", file)
		require.Empty(t, stderr)
		return stdout
	}
	require.Contains(t, show(), "not tried yet")

	code, stdout, stderr := ask(t, env, byFile...)
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Equal(t, "Done.\n", stdout)
	require.Contains(t, stderr, tried+base+", once\n")
	require.Contains(t, stderr, "policy auto: hermes\n")
	require.Equal(t, int32(8), requests.Swap(0), "the server's calls, by schema, fenced, hermes up to the answer, and the run")
	require.Regexp(t, `policy of auto +hermes +tried on \d{4}-\d\d-\d\d, `+state, show())

	for _, again := range [][]string{byFile, byFlag} {
		code, _, stderr = ask(t, env, again...)
		require.Equal(t, cli.ExitDone, code, stderr)
		require.NotContains(t, stderr, "policy auto")
		require.Equal(t, int32(1), requests.Swap(0))
	}

	memory := filepath.Join(state, "segue", "policies.json")
	data, err := os.ReadFile(memory)
	require.NoError(t, err)
	require.NotContains(t, string(data), "canary")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(memory)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	for _, broken := range []string{"{", `{"version":7,"choices":[]}`, strings.Replace(string(data), "hermes", "verse", 1)} {
		require.NoError(t, os.WriteFile(memory, []byte(broken), 0o600))
		code, _, stderr = ask(t, env, byFlag...)
		require.Equal(t, cli.ExitDone, code, stderr)
		require.Contains(t, stderr, memory+", cannot be used, and is made anew: ")
		require.Contains(t, stderr, "policy auto: hermes\n")
		requests.Store(0)
	}
}

// TestPolicyAuto_doctor has segue doctor find out the format that runs take.
func TestPolicyAuto_doctor(t *testing.T) {
	t.Parallel()
	base, requests := textServer(t)
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "OPENAI_BASE_URL": base, "SEGUE_MODEL": "small", "SEGUE_POLICY": "auto"}
	code, stdout, stderr := ask(t, env, "doctor")
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Contains(t, stdout, "→ policy: hermes\n")
	require.Contains(t, stdout, "\nRemembered for policy: auto: hermes.\n")
	requests.Store(0)
	code, _, stderr = ask(t, env, "run", "--store", "none", "Say hello.")
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Equal(t, int32(1), requests.Load())
}

// TestPolicyAuto_down says that a server cannot be tried, takes nothing that was found out about
// another model, and leaves a model with a fallback out.
func TestPolicyAuto_down(t *testing.T) {
	t.Parallel()
	base, _ := textServer(t)
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	folder := t.TempDir()
	env := map[string]string{"XDG_STATE_HOME": folder}
	file := filepath.Join(folder, "segue.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`models:
  gone: {model: small, base_url: '`+down.URL+`', policy: auto}
  both: {model: small, base_url: '`+down.URL+`', policy: auto, fallbacks: [up]}
  up: {model: small, base_url: '`+base+`', policy: auto}
agents: {a: {model: gone}}
`), 0o600))
	at := func(model string) (int, string, string) {
		return ask(t, env, "run", "--config", file, "--store", "none", "-m", model, "Say hello.")
	}
	code, stdout, _ := at("up")
	require.Equal(t, cli.ExitDone, code)
	require.Equal(t, "Done.\n", stdout)
	code, stdout, stderr := at("gone")
	require.Equal(t, cli.ExitProvider, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "policy: auto: nothing listens at "+strings.TrimPrefix(down.URL, "http://"))
	code, stdout, stderr = at("both")
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Equal(t, "Done.\n", stdout)
	require.Contains(t, stderr, "policy auto: it could not be tried\n")
}
