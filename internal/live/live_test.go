package live

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fromEnvironment returns the server that the environment names, and which variables are missing.
func fromEnvironment(getenv func(string) string) (cfg openaichat.Config, missing []string) {
	for _, name := range []string{"OPENAI_API_KEY", "SEGUE_MODEL"} {
		if getenv(name) == "" {
			missing = append(missing, name)
		}
	}
	return openaichat.Config{
		Model:   getenv("SEGUE_MODEL"),
		APIKey:  getenv("OPENAI_API_KEY"),
		BaseURL: getenv("OPENAI_BASE_URL"),
	}, missing
}

// folder returns the folder for the recordings of a model.
func folder(dir, model string) string {
	return filepath.Join(dir, regexp.MustCompile(`[^A-Za-z0-9.-]+`).ReplaceAllString(model, "_"))
}

// TestLive asks a real model, and then replays its answers.
func TestLive(t *testing.T) {
	if os.Getenv("SEGUE_LIVE") == "" {
		t.Skip("make live asks a real model")
	}
	cfg, missing := fromEnvironment(os.Getenv)
	require.Empty(t, missing, "set these variables in the environment to ask a real model")
	live(t, cfg, folder("testdata", cfg.Model))
}

// live asks a model, with its own connections that it closes at the end, and replays the
// recordings.
func live(t *testing.T, cfg openaichat.Config, dir string) {
	if cfg.HTTPClient == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = 10 * time.Minute // as in a client of openaichat
		t.Cleanup(transport.CloseIdleConnections)
		cfg.HTTPClient = &http.Client{Transport: transport}
	}
	model, err := openaichat.New(cfg)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	t.Run("live", func(t *testing.T) {
		suite(t, func(t *testing.T, name string) llmclient.Client {
			return record(t, llmclient.Retry(model, llmclient.RetryConfig{AfterOutput: true}), cfg.APIKey, filepath.Join(dir, name+".jsonl"))
		})
	})
	t.Run("replayed", func(t *testing.T) { replay(t, dir) })
}

// record records a model until the test ends, even if the test fails. A recording that contains the
// key is not written.
func record(t *testing.T, model llmclient.Client, key, file string) llmclient.Client {
	var recording bytes.Buffer
	t.Cleanup(func() { require.NoError(t, write(file, recording.Bytes(), key)) })
	return scripted.Record(model, &recording)
}

// write writes a recording, unless it contains the key.
func write(file string, recording []byte, key string) error {
	if bytes.Contains(recording, []byte(key)) {
		return errors.New("the recording is not written: it holds the key; where the server wants none, choose one that is no word of a conversation")
	}
	return os.WriteFile(file, recording, 0o644)
}

// replay replays the recordings of a model. Each must be used completely.
func replay(t *testing.T, dir string) {
	suite(t, func(t *testing.T, name string) llmclient.Client {
		recording, err := os.ReadFile(filepath.Join(dir, name+".jsonl"))
		require.NoError(t, err, "run make live with this model")
		player, err := scripted.Replay(bytes.NewReader(recording))
		require.NoError(t, err)
		t.Cleanup(func() { player.AssertComplete(t) })
		return player
	})
}

// TestRecordings replays recordings of real models.
func TestRecordings(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/")
	require.NoError(t, err)
	if len(dirs) == 0 {
		t.Skip("no model was recorded yet: make live records one")
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) { replay(t, dir) })
	}
}

func TestFromEnvironment(t *testing.T) {
	env := map[string]string{}
	_, missing := fromEnvironment(func(name string) string { return env[name] })
	require.Equal(t, []string{"OPENAI_API_KEY", "SEGUE_MODEL"}, missing)
	env["OPENAI_API_KEY"], env["SEGUE_MODEL"] = "k", "m"
	cfg, missing := fromEnvironment(func(name string) string { return env[name] })
	require.Empty(t, missing)
	require.Equal(t, openaichat.Config{APIKey: "k", Model: "m"}, cfg)
	require.Equal(t, filepath.Join("x", "meta_llama-3.1_8b"), folder("x", "meta/llama-3.1:8b"))
}
