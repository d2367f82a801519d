package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
)

// evaluated executes segue eval in a folder, where a model answers 42, unless it is told to be
// wrong.
func evaluated(t *testing.T, folder string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	model := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		answer := "42"
		if bytes.Contains(asked, []byte("Be wrong.")) {
			answer = "41, as far as I know"
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":1799,"completion_tokens":1,"total_tokens":1800}}`, answer)
	}))
	model.Config.SetKeepAlivesEnabled(false)
	model.Start()
	defer model.Close()
	env := homeIn(folder)
	env["OPENAI_BASE_URL"] = model.URL
	var out, said bytes.Buffer
	code = execute(append([]string{"eval", "--config", ""}, args...), strings.NewReader(""), &out, &said, func(name string) string { return env[name] })
	return code, out.String(), said.String()
}

// A worse prompt is found, and the same one is not taken for a worse one.
func TestEval_against(t *testing.T) {
	folder := t.TempDir()
	suite := filepath.Join(folder, "suite.yaml")
	text := "repeat: 2\nallow: {pass: 0.1}\ncases:\n"
	for i := range 4 {
		text += fmt.Sprintf("  - {name: c%d, goal: What is it?, answer: {equals: \"42\"}}\n", i)
	}
	require.NoError(t, os.WriteFile(suite, []byte(text), 0o600))

	code, _, stderr := evaluated(t, folder, suite, "--against", "last")
	require.Equal(t, cli.ExitDone, code)
	require.Contains(t, stderr, "segue: nothing is compared: no earlier evaluation of the suite has ended")
	code, stdout, _ := evaluated(t, folder, suite, "--against", "last")
	require.Equal(t, cli.ExitDone, code)
	require.Regexp(t, `default +pass +100 % +100 % +1 +no difference`, stdout)
	require.Regexp(t, `default +tokens +1800 +1800 +1 +no difference`, stdout)
	code, stdout, stderr = evaluated(t, folder, suite, "--against", "last", "--system", "Be wrong.")
	require.Equal(t, cli.ExitFailed, code)
	require.Regexp(t, `default +pass +100 % +0 % +0\.0\d+ +worse, more than allowed`, stdout)
	require.Contains(t, stderr, "segue: default: pass is worse than allowed\n")
	code, stdout, _ = evaluated(t, folder, suite, "--against", "last", "--json")
	require.Equal(t, cli.ExitDone, code)
	require.Contains(t, stdout, `"measure":"pass","old":0,"new":1,`)
	require.Contains(t, stdout, `"verdict":"better"`)
}
