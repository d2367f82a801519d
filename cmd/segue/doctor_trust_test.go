package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
)

// A file that was found and is not trusted stops doctor and models only if they need something of
// it: flags that say which server and model it is need nothing, nor does a file without models.
func TestServer_untrusted(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprint(w, `{"data": [{"id": "small"}]}`)
	}))
	t.Cleanup(server.Close)
	const withModels = "models: {main: {model: m, base_url: 'http://127.0.0.1:1/v1'}}\nagents: {a: {}}\n"
	const withoutModels = "agents: {a: {}}\n"
	const broken = "agents: [\n"
	at := func(command string, more ...string) []string {
		return append([]string{command, "--base-url", server.URL + "/v1", "--timeout", "5s"}, more...)
	}
	env := map[string]string{"HOME": t.TempDir(), "OPENAI_BASE_URL": server.URL + "/v1", "OPENAI_API_KEY": "key"}
	t.Chdir(t.TempDir())
	for _, try := range []struct {
		file  string
		args  []string
		stops bool
	}{
		{withModels, at("models"), false},
		{withModels, at("doctor", "--model", "small"), false},
		{withoutModels, []string{"models"}, false},
		{withoutModels, []string{"doctor", "--timeout", "5s"}, false},
		{broken, at("models"), false},
		{broken, at("doctor", "--model", "small"), false},
		{broken, []string{"models"}, true},
		{withModels, []string{"models"}, true},
		{withModels, at("doctor"), true},                               // the model is that of the file
		{withModels, at("doctor", "--model", "main"), true},            // and so is this one
		{withModels, at("models", "--agent", "a"), true},               // this agent is
		{withoutModels, at("doctor", "--model", "m", "-P", "p"), true}, // this profile is
	} {
		t.Run(strings.Join(try.args, " "), func(t *testing.T) {
			require.NoError(t, os.WriteFile(locate.FileName, []byte(try.file), 0o600))
			var stdout, stderr bytes.Buffer
			asked = 0
			code := execute(try.args, strings.NewReader(""), &stdout, &stderr, func(name string) string { return env[name] })
			if try.stops {
				require.Equal(t, cli.ExitUsage, code)
				require.Contains(t, stderr.String(), map[bool]string{true: "segue.yaml:", false: "segue trust"}[try.file == broken])
				require.Zero(t, asked)
				return
			}
			why := map[bool]string{true: "cannot be read", false: "is not trusted"}[try.file == broken]
			require.Contains(t, stderr.String(), "configuration segue.yaml "+why+", and not used\n")
			require.NotEqual(t, cli.ExitUsage, code, stderr.String())
			require.NotZero(t, asked)
		})
	}
}
