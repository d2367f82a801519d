package segue_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

// A conversation in a file goes on in another process, with the turns that failed.
func TestOpenChat(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "chat.json")
	agent := &segue.Agent{Model: scripted.New(
		scripted.Text("Hello, Ann."), scripted.Reply{Err: &llmclient.Error{Code: llmclient.CodeQuota}}, scripted.Text("Yes."))}
	chat, err := agent.OpenChat(file)
	require.NoError(t, err)
	require.NoFileExists(t, file, "before the first turn")
	answer, err := chat.Ask(t.Context(), "I am Ann.")
	require.NoError(t, err)
	require.Equal(t, "Hello, Ann.", answer)
	_, err = chat.Ask(t.Context(), "Are you there?")
	require.Error(t, err)
	for piece, err := range chat.Stream(t.Context(), "Now?") {
		require.NoError(t, err)
		require.Equal(t, "Yes.", piece)
	}
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "others can read it")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)

	model := scripted.New(scripted.Text("Ann."))
	again, err := (&segue.Agent{Model: model}).OpenChat(file)
	require.NoError(t, err)
	require.Equal(t, chat.History, again.History)
	answer, err = again.Ask(t.Context(), "Who am I?")
	require.NoError(t, err)
	require.Equal(t, "Ann.", answer)
	require.Equal(t, append(chat.History.Clip(), messages.UserText("Who am I?")), model.Requests()[0].Messages)
	require.Contains(t, chat.History, messages.UserText("Are you there?"))
}

// A file that holds no conversation is named, and left as it is.
func TestOpenChat_notOne(t *testing.T) {
	for _, text := range []string{"", "{}", `[{"role":"tool","content":[]}]`} {
		file := filepath.Join(t.TempDir(), "chat.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := new(segue.Agent).OpenChat(file)
		require.ErrorContains(t, err, file, text)
		left, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(left))
	}
}

// An answer is not lost where its conversation cannot be kept.
func TestOpenChat_cannotKeep(t *testing.T) {
	agent := &segue.Agent{Model: scripted.New(scripted.Text("Hello."), scripted.Text("Hello again."))}
	chat, err := agent.OpenChat(filepath.Join(t.TempDir(), "none", "chat.json"))
	require.NoError(t, err)
	answer, err := chat.Ask(t.Context(), "Hi.")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "cannot be kept")
	require.Equal(t, "Hello.", answer)
	require.Len(t, chat.History, 2)

	var text string
	for piece, streamed := range chat.Stream(t.Context(), "Hi?") {
		text, err = text+piece, streamed
	}
	require.ErrorContains(t, err, "cannot be kept")
	require.Equal(t, "Hello again.", text)
}
