package live

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

// No recording contains the key. An exchange that was refused with the key in the error does not
// contain it, and one in which the model repeats the key is not written.
func TestRecordings_holdNoKey(t *testing.T) {
	s := newServer(t)
	var recording bytes.Buffer
	ask := func(change func(*openaichat.Config)) error {
		cfg := s.config()
		change(&cfg)
		model, err := openaichat.New(cfg)
		require.NoError(t, err)
		_, err = scripted.Record(model, &recording).Complete(t.Context(),
			&llmclient.Request{Messages: messages.History{messages.UserText(capital)}}, nil)
		return err
	}
	file := filepath.Join(t.TempDir(), "a.jsonl")

	require.NoError(t, ask(func(*openaichat.Config) {}))
	require.NoError(t, write(file, recording.Bytes(), canary))
	require.FileExists(t, file)

	require.ErrorContains(t, ask(func(cfg *openaichat.Config) { cfg.BaseURL = s.URL + "/v2" }), "refused")
	require.NotContains(t, recording.String(), canary, "an error that repeats the key is recorded without it")

	s.repeatsKey.Store(true)
	require.NoError(t, ask(func(*openaichat.Config) {}))
	require.Contains(t, recording.String(), canary, "a model says whatever it is sent")
	require.NoError(t, os.Remove(file))
	require.ErrorContains(t, write(file, recording.Bytes(), canary), "it holds the key")
	require.NoFileExists(t, file)
}
