package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder/workfoldertest"
	"github.com/segue-go/segue/internal/waittest"
)

// wants is a reply that calls one tool.
func wants(t *testing.T, tool string, arguments map[string]string) string {
	t.Helper()
	text, err := json.Marshal(arguments)
	require.NoError(t, err)
	return `{"choices":[{"index":0,"message":` + calls(tool, string(text)) + `,"finish_reason":"tool_calls"}]}`
}

// TestTerminal_pages shows 300 blank lines on a terminal of 12 rows, and never more at once than it
// has. All that is shown at a time ends with a prompt that names the path.
func TestTerminal_pages(t *testing.T) {
	t.Parallel()
	p := startAtTerminal(t)
	waittest.Receive(t, p.model.asked)
	p.model.replies <- wants(t, workfolder.WriteFile, map[string]string{"path": "notes/a.txt", "content": strings.Repeat("\n", 300) + "rm -rf ~"})
	const prompt = "write_file notes/a.txt: y yes, n no, e edit, a always below notes/ > "
	first := p.Await("write_file notes/a.txt needs your approval\r\n  a new file of 308 bytes (301 lines)\r\n")
	require.NotContains(t, first, "rm -rf")
	page := p.Await(prompt)
	for number := 0; !strings.Contains(page, "rm -rf ~"); number++ {
		require.Less(t, number, 100)
		require.Contains(t, page, "more lines: m shows more")
		require.Less(t, strings.Count(page, "\n"), 12)
		p.Types("m\n")
		page = p.Await(prompt)
		require.Contains(t, page, "write_file notes/a.txt needs your approval")
	}
	p.Types("y\n")
	waittest.Receive(t, p.model.asked)
	p.model.replies <- isDone
	p.end(cli.ExitDone, "done")
	require.True(t, p.has("notes/a.txt"))
}

// TestTerminal_protected asks about protected files by any way to them, after an "always" too.
func TestTerminal_protected(t *testing.T) {
	t.Parallel()
	p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), read: make(chan struct{})}
	p.dir = workfoldertest.New(t, map[string]string{".git/config": "[core]\n", ".env": "TOKEN=canary\n"}, map[string]string{"d": ".git", "link": ".env"})
	p.start("run", "--base-url", p.model.URL, "--dir", p.dir, "--json", "task")
	call := func(tool, path, prompt, answer string) {
		t.Helper()
		waittest.Receive(t, p.model.asked)
		arguments := map[string]string{"path": path}
		if tool == workfolder.WriteFile {
			arguments["content"] = "x\n"
		}
		p.model.replies <- wants(t, tool, arguments)
		p.Await(prompt)
		p.Types(answer + "\n")
		if answer == "n" {
			p.Await("Enter) > ")
			p.Types("\n")
		}
	}
	call(workfolder.WriteFile, "notes/a", "write_file notes/a: y yes, n no, e edit, a always below notes/ > ", "a")
	call(workfolder.WriteFile, "beside/b", "write_file beside/b: y yes, n no, e edit, a always below beside/ > ", "n")
	call(workfolder.WriteFile, "c", "write_file c: y yes, n no, e edit, a always below ./ > ", "a")
	call(workfolder.WriteFile, ".git/config", "write_file .git/config: y yes, n no, e edit > ", "n")
	call(workfolder.WriteFile, "d/config", "write_file d/config: y yes, n no, e edit > ", "n")
	call(workfolder.ReadFile, ".env", "read_file .env: y yes, n no, e edit > ", "n")
	call(workfolder.ReadFile, "link", "read_file link: y yes, n no, e edit > ", "n")
	waittest.Receive(t, p.model.asked)
	p.model.replies <- isDone
	p.end(cli.ExitDone, "done")
	require.NotContains(t, p.stdout.String(), "canary")
	require.True(t, p.has("notes/a") && p.has("c"))
	require.False(t, p.has("beside/b"))
	config, err := os.ReadFile(filepath.Join(p.dir, ".git/config"))
	require.NoError(t, err)
	require.Equal(t, "[core]\n", string(config))
}

// TestScreens_approvalOfAnAgent shows an approval that an agent asks for which another one has
// called: the first line names it, at several widths of a real terminal.
func TestScreens_approvalOfAnAgent(t *testing.T) {
	for _, columns := range []int{200, 80, 60, 40} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), dir: t.TempDir(), read: make(chan struct{}), width: columns}
			config := filepath.Join(t.TempDir(), "segue.yaml")
			require.NoError(t, os.WriteFile(config, []byte(`
models: {m: {model: m, base_url: '`+p.model.URL+`'}}
agents:
  lead: {children: [{agent: writer}]}
  writer: {description: Writes.}
default: lead
`), 0o600))
			p.start("run", "--store", "none", "--config", config, "--dir", p.dir, "--json", "Have it written")
			reply := func(message string) {
				waittest.Receive(t, p.model.asked)
				p.model.replies <- `{"choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`
			}
			reply(calls("writer", `{"goal":"Write the plan"}`))
			reply(calls(workfolder.WriteFile, `{"path":"plan.md","content":"# Plan\n"}`))
			const prompt = "./ > "
			shown := p.Await(prompt) + prompt
			_, screen, _ := strings.Cut(terminaltest.Played(shown, columns), "[0] ") // after the id of the run
			requireScreen(t, fmt.Sprintf("approval-agent-%d.txt", columns), "[0] "+screen+"\n")
			p.Types("y\n")
			for range 2 {
				waittest.Receive(t, p.model.asked)
				p.model.replies <- isDone
			}
			p.end(cli.ExitDone, "done")
		})
	}
}

// TestScreens_approval shows an approval with the difference that an edit makes, at several widths
// of a real terminal.
func TestScreens_approval(t *testing.T) {
	for _, columns := range []int{200, 80, 60, 40} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), dir: t.TempDir(), read: make(chan struct{}), width: columns}
			require.NoError(t, os.WriteFile(filepath.Join(p.dir, "plan.md"), []byte("# Plan\n\n- Monday: write the report\n- Tuesday: ask Ada\n- Friday: send it\n"), 0o600))
			p.start("run", "--store", "none", "--base-url", p.model.URL, "--dir", p.dir, "--json", "Ask Grace, not Ada")
			waittest.Receive(t, p.model.asked)
			p.model.replies <- wants(t, workfolder.EditFile, map[string]string{"path": "plan.md", "old": "ask Ada", "new": "ask Grace, who is back from Lyon"})
			const prompt = "./ > "
			shown := p.Await(prompt) + prompt
			_, screen, _ := strings.Cut(terminaltest.Played(shown, columns), "[0] ") // after the id of the run
			requireScreen(t, fmt.Sprintf("approval-%d.txt", columns), "[0] "+screen+"\n")
			p.Types("y\n")
			waittest.Receive(t, p.model.asked)
			p.model.replies <- isDone
			p.end(cli.ExitDone, "done")
		})
	}
}
