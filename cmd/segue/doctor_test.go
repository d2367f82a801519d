package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/doctor"
	"github.com/segue-go/segue/cmd/segue/internal/doctor/doctortest"
)

// ask executes a command line that asks a server, with a key for it in the environment.
func ask(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems bytes.Buffer
	code = execute(args, strings.NewReader(""), &out, &problems, func(name string) string { return env[name] })
	require.NotContains(t, out.String()+problems.String(), "canary")
	return code, out.String(), problems.String()
}

// TestDoctor examines servers by the environment: its exit code says whether something is broken.
func TestDoctor(t *testing.T) {
	t.Parallel()
	env := func(flaws ...string) map[string]string {
		return map[string]string{"OPENAI_API_KEY": doctortest.Key, "OPENAI_BASE_URL": doctortest.New(t, flaws...).Base()}
	}
	code, stdout, stderr := ask(t, env(), "doctor")
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "\nok      key: the key in $OPENAI_API_KEY is accepted\n")
	require.Contains(t, stdout, "\nNothing was found.\nIt took 5 requests, 250 tokens in and 100 out ($0.00")

	code, stdout, stderr = ask(t, env("no_tools", "schema_refused"), "doctor")
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Contains(t, stdout, "\nset     tool calls: none\n  no_tools: status 400: This model has no tools.\n    → policy: fenced\n")
	require.Contains(t, stdout, "\nFound: 1 to set.\n")

	code, stdout, stderr = ask(t, env("model_missing"), "doctor", "--output", "json")
	require.Equal(t, cli.ExitProvider, code)
	var report doctor.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Equal(t, doctor.Broken, report.Verdict)
	require.Equal(t, doctortest.Model, report.Model)
	require.Equal(t, "segue: the model cannot be used as it is: the server has no model \"gpt-5-mini\" (model: gpt-5-nano)\n", stderr)

	wrong := env()
	wrong["OPENAI_API_KEY"] = "sk-canary-wrong-one"
	code, stdout, stderr = ask(t, wrong, "doctor")
	require.Equal(t, cli.ExitProvider, code)
	require.Contains(t, stdout, "key_refused: ")
	require.Contains(t, stderr, "put the right key into $OPENAI_API_KEY")
}

// TestDoctor_configuration examines the server of an agent, with what flags override.
func TestDoctor_configuration(t *testing.T) {
	t.Parallel()
	s := doctortest.New(t)
	file := filepath.Join(t.TempDir(), "segue.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`models:
  right: {model: `+doctortest.Model+`, base_url: `+s.Base()+`, api_key_env: HOUSE_KEY, policy: fenced}
  keyless: {model: `+doctortest.Model+`, base_url: `+s.Base()+`}
agents:
  one: {model: right}
  other: {model: keyless}
default: one
`), 0o600))
	env := map[string]string{"HOUSE_KEY": doctortest.Key}
	code, stdout, stderr := ask(t, env, "doctor", "--config", file)
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Contains(t, stdout, "the key in $HOUSE_KEY is accepted")

	code, stdout, _ = ask(t, env, "doctor", "--config", file, "--agent", "other")
	require.Equal(t, cli.ExitProvider, code)
	require.Contains(t, stdout, "api_key_env: with the NAME of the variable that holds it")

	code, _, stderr = ask(t, env, "doctor", "--config", file, "--agent", "other", "--model", "right")
	require.Equal(t, cli.ExitDone, code, stderr)

	code, stdout, _ = ask(t, env, "doctor", "--config", file, "--model", "gpt5-mini")
	require.Equal(t, cli.ExitProvider, code)
	require.Contains(t, stdout, "model: gpt-5-mini")

	code, stdout, _ = ask(t, env, "doctor", "--config", file, "--base-url", s.Base())
	require.Equal(t, cli.ExitProvider, code, "a server that was typed gets OPENAI_API_KEY")
	require.Contains(t, stdout, "$OPENAI_API_KEY is not set")

	code, _, stderr = ask(t, env, "doctor", "--config", file, "--agent", "third")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "third")
}

// TestDoctor_usage refuses what makes no sense, before a server is asked.
func TestDoctor_usage(t *testing.T) {
	t.Parallel()
	_, _, stderr := ask(t, nil, "doctor", "--policy", "fenced,hermess")
	require.Equal(t, `segue: --policy: there is no policy "hermess"; there are: fenced, xml, react, hermes, llama, pythonic, mistral, glm, kimi, deepseek, harmony, gemma, minimax, gemma4, deepseekv32, structured; did you mean hermes?`+"\n", stderr)
	for _, args := range [][]string{
		{"doctor", "--timeout", "0s"},
		{"doctor", "more"},
		{"doctor", "--policy", "nonsense"},
		{"doctor", "--base-url", "localhost:1"},
		{"doctor", "--agent", "a"},
		{"models", "--output", "jsonl"},
	} {
		code, stdout, stderr := ask(t, map[string]string{"OPENAI_API_KEY": doctortest.Key}, args...)
		require.Equal(t, cli.ExitUsage, code, args)
		require.NotContains(t, stdout, "ok ", args)
		require.NotEmpty(t, stderr, args)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	s := doctortest.New(t)
	env := map[string]string{"OPENAI_API_KEY": doctortest.Key, "OPENAI_BASE_URL": s.Base()}
	code, stdout, stderr := ask(t, env, "models")
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Equal(t, `* gpt-5-mini     400,000  $0.25 / $2
  gpt-5-nano     400,000  $0.05 / $0.4
  house-model    8,192    $0.5 / $2
  text-embedder  -        -
`, stdout)

	code, stdout, _ = ask(t, env, "models", "GPT", "nano", "--output", "json")
	require.Equal(t, cli.ExitDone, code)
	require.Equal(t, `[{"id":"gpt-5-nano","context":400000,"price":{"input":0.05,"cached_input":0.005,"output":0.4}}]`+"\n", stdout)

	code, stdout, stderr = ask(t, env, "models", "zzz")
	require.Equal(t, cli.ExitDone, code)
	require.Empty(t, stdout)
	require.Equal(t, "segue: none of the 4 models of the server has zzz in its name\n", stderr)

	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":null}`)) }))
	t.Cleanup(empty.Close)
	for _, args := range [][]string{{"models"}, {"models", "zzz"}} {
		code, stdout, stderr = ask(t, map[string]string{"OPENAI_BASE_URL": empty.URL}, args...)
		require.Equal(t, cli.ExitDone, code)
		require.Empty(t, stdout)
		require.Equal(t, "segue: the server lists no models\n", stderr)
	}

	code, _, stderr = ask(t, map[string]string{"OPENAI_BASE_URL": s.URL + "/v2"}, "models")
	require.Equal(t, cli.ExitProvider, code)
	require.Contains(t, stderr, "segue: cannot list the models of "+s.URL+"/v2: status 401: ")
	require.Contains(t, stderr, "; segue doctor says more\n")
}

// TestDoctor_settings examines the server that segue run would ask with the same flags, variables
// and profile.
func TestDoctor_settings(t *testing.T) {
	t.Parallel()
	s := doctortest.New(t)
	file := filepath.Join(t.TempDir(), "segue.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`models:
  right: {model: `+doctortest.Model+`, base_url: `+s.Base()+`, api_key_env: HOUSE_KEY}
  other: {model: house-model, base_url: `+s.Base()+`, api_key_env: HOUSE_KEY}
agents:
  one: {model: right}
  two: {model: other}
default: one
rules: [{source: mail, agent: two}]
profiles:
  by-model: {model: other}
  by-agent: {agent: two}
  by-source: {source: mail}
`), 0o600))
	for name, tt := range map[string]struct {
		env  map[string]string
		args []string
	}{
		"-m":                   {nil, []string{"--config", file, "-m", "other"}},
		"-P":                   {nil, []string{"--config", file, "-P", "by-model"}},
		"a profile's agent":    {nil, []string{"--config", file, "--profile", "by-agent"}},
		"a profile's source":   {nil, []string{"--config", file, "--profile", "by-source"}},
		"--source":             {nil, []string{"--config", file, "--source", "mail"}},
		"SEGUE_PROFILE":        {map[string]string{"SEGUE_PROFILE": "by-model"}, []string{"--config", file}},
		"SEGUE_AGENT":          {map[string]string{"SEGUE_AGENT": "two"}, []string{"--config", file}},
		"SEGUE_MODEL":          {map[string]string{"SEGUE_MODEL": "other"}, []string{"--config", file}},
		"SEGUE_BASE_URL":       {map[string]string{"SEGUE_BASE_URL": s.Base(), "SEGUE_MODEL": "house-model", "OPENAI_API_KEY": doctortest.Key}, nil},
		"SEGUE_OUTPUT of runs": {map[string]string{"SEGUE_OUTPUT": "jsonl", "SEGUE_QUIET": "true"}, []string{"--config", file, "-m", "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"HOUSE_KEY": doctortest.Key}
			maps.Copy(env, tt.env)
			code, stdout, stderr := ask(t, env, append([]string{"models"}, tt.args...)...)
			require.Equal(t, cli.ExitDone, code, stderr)
			require.Contains(t, stdout, "* house-model")
			_, stdout, stderr = ask(t, env, append([]string{"doctor", "--timeout", "5s", "-o", "json"}, tt.args...)...)
			require.Contains(t, stdout, `{"server":"`+s.Base()+`","model":"house-model"`, stderr)
		})
	}
	for _, args := range [][]string{{"-P", "by-model"}, {"--config", file, "-P", "no-such"}, {"--config", file, "-m", ""}, {"--config", file, "--agent", ""}} {
		code, stdout, stderr := ask(t, map[string]string{"HOUSE_KEY": doctortest.Key}, append([]string{"models"}, args...)...)
		require.Equal(t, cli.ExitUsage, code, args)
		require.Empty(t, stdout)
		require.NotContains(t, stderr, "there is no flag")
	}
}
