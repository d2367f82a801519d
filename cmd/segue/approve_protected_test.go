package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder/workfoldertest"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/tools"
)

func reads(id, tool, path string) scripted.Reply {
	return scripted.Calls(scripted.Call(tool, `{"path":"`+path+`","pattern":"x"}`, id))
}

// TestApprove_below allows a tool below a folder, and asks about what is beside it.
func TestApprove_below(t *testing.T) {
	dir := workfoldertest.New(t, map[string]string{"notes/x": ""}, map[string]string{"link": "notes"})
	s := beginIn(t, dir, approve.Ask, nil,
		writes("c1", "notes/a", "1"), writes("c2", "notes/deep/b", "2"), writes("c3", "link/c", "3"),
		writes("c4", "notesx/d", "4"), writes("c5", "notes/../e", "5"), writes("c6", "notes/.git/config", "6"), scripted.Text("Done."))
	s.Await("write_file notes/a: y yes, n no, e edit, a always below notes/ > ")
	s.Types("a\n")
	require.NotContains(t, s.Await("write_file notesx/d: y yes, n no, e edit, a always below notesx/ > "), "write_file notes/deep/b needs")
	s.Types("n\n")
	s.Await("Enter) > ")
	s.Types("\n")
	s.Await("write_file e: y yes, n no, e edit, a always below ./ > ")
	s.Types("a\n")
	s.Await("write_file notes/.git/config: y yes, n no, e edit > ")
	s.Types("a\n")
	s.Await("Answer y, n or e. Ctrl-C stops the run.\nwrite_file notes/.git/config: y yes, n no, e edit > ")
	s.Types("y\n")
	require.Equal(t, cli.ExitDone, s.end())
	for name, want := range map[string]string{"notes/a": "1", "notes/deep/b": "2", "notes/c": "3", "e": "5", "notes/.git/config": "6"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	require.NoDirExists(t, filepath.Join(dir, "notesx"))
}

// TestApprove_protected asks about protected files although everything is approved.
func TestApprove_protected(t *testing.T) {
	for _, word := range []string{approve.Always, approve.Untrusted} {
		t.Run(word, func(t *testing.T) {
			dir := workfoldertest.New(t, map[string]string{".env": "x=1", ".git/config": "x", "keys/a.pem": "x", "b": "x"}, map[string]string{"d": ".git", "plain.txt": ".env"})
			s := beginIn(t, dir, word, nil,
				writes("c1", "a", "1"), writes("c2", "./x/../.GIT/hooks/pre-commit", "1"), writes("c3", "d/config", "1"),
				reads("c4", workfolder.ReadFile, ".env"), reads("c5", workfolder.ReadFile, "plain.txt"), reads("c6", workfolder.SearchFiles, "./.env"),
				reads("c7", workfolder.SearchFiles, "."), reads("c8", workfolder.ReadFile, "b"), scripted.Text("Done."))
			refuse := func(prompt, why string) {
				t.Helper()
				require.Contains(t, s.Await(prompt+": y yes, n no, e edit > "), why)
				s.Types("n\n")
				s.Await("Enter) > ")
				s.Types("\n")
			}
			refuse("write_file .GIT/hooks/pre-commit", "it can run code")
			refuse("write_file d/config", "it leads to .git/config\n  replaces 1 byte (1 line) with 1 byte (1 line)\n  Protected: it can run code")
			refuse("read_file .env", "it can hold secrets")
			refuse("read_file plain.txt", "it leads to .env\n  Protected: it can hold secrets")
			refuse("search_files .env", "it can hold secrets")
			require.Equal(t, cli.ExitDone, s.end())
			outputs := toolOutputs(s.model.Requests()[7])
			require.Equal(t, "b:1: x\n\n[2 files were left out: they are searched only by their own path]", outputs[len(outputs)-1], "of all files but .git")
			require.NotContains(t, strings.Join(toolOutputs(s.model.Requests()[8]), "\n"), "x=1")
			require.FileExists(t, filepath.Join(dir, "a"))
			require.NoDirExists(t, filepath.Join(dir, ".GIT"))
		})
	}
}

// TestApprove_pages keeps the path in sight, however long the content is.
func TestApprove_pages(t *testing.T) {
	s := begin(t, approve.Ask, nil, writes("c1", "a", strings.Repeat(`\n`, 300)+"rm -rf"), scripted.Text("Done."))
	const more = " more lines: m shows more\nwrite_file a" + mayWrite
	first := s.Await("  … 282" + more)
	require.Contains(t, first, "[0 #2] write_file a needs your approval\n  a new file of 306 bytes (301 lines)\n  | \n")
	require.Equal(t, 19, strings.Count(first, "  | \n"))
	s.Types("\n")
	s.Await("Answer y, n, e, a or m. Ctrl-C stops the run.\nwrite_file a" + mayWrite)
	for left := 282 - 20; left > 0; left -= 20 {
		s.Types("m\n")
		page := s.Await(more)
		require.True(t, strings.HasPrefix(page, "[0 #2] write_file a needs your approval\n  | \n"), page)
		require.Less(t, strings.Count(page, "\n"), 24)
	}
	s.Types("M\n")
	require.Contains(t, s.Await("write_file a"+mayWrite), "[0 #2] write_file a needs your approval\n  | \n  | rm -rf\n")
	s.Types("m\n")
	s.Await("Answer y, n, e or a. Ctrl-C stops the run.\n")
	s.Await(mayWrite)
	s.wrote(map[string]string{})
	s.Types("y\n")
	require.Equal(t, cli.ExitDone, s.end())
}

// TestApprove_otherTools shows tools that are for no files as they are called, and allows all their
// calls with one word.
func TestApprove_otherTools(t *testing.T) {
	deploy := tools.New(tools.Definition{Name: "deploy"}, func(context.Context, struct {
		Path string `json:"path"`
	},
	) (string, error) {
		return "deployed", nil
	})
	s := begin(t, approve.Ask, []tools.Tool{deploy}, reads("c0", workfolder.ReadFile, "none"),
		scripted.Calls(scripted.Call("deploy", `{"path":".git/config"}`, "c1")),
		scripted.Calls(scripted.Call("deploy", `{"path":"notes"}`, "c2")), scripted.Text("Done."))
	require.Contains(t, s.Await("deploy: y yes, n no, e edit, a always in this run > "), "deploy needs your approval\n  path: \".git/config\"\n")
	s.Types("a\n")
	require.Equal(t, cli.ExitDone, s.end())
}
