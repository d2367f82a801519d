package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/orchestrator"
)

func writing(t require.TestingT, path, content string) orchestrator.Wait {
	text, err := json.Marshal(map[string]string{"path": path, "content": content})
	require.NoError(t, err)
	return orchestrator.Wait{Kind: orchestrator.WaitApproval, Frame: "0", Seq: 2, Tool: writeFile, Arguments: string(text)}
}

// TestPropose shows what a call would change.
func TestPropose(t *testing.T) {
	long := strings.Repeat("line\n", 120)
	f := opened_(t, folderWith(t, map[string]string{
		"notes/a.txt": "one\ntwo\nthree\n", "long": long + strings.Repeat("x", 3721), "bin": "a\x00b", "huge": strings.Repeat("x", maxCompared+1),
		"dir/x": "", ".git/config": "[core]\n", ".env": "A=1\n",
	}, map[string]string{"link": "notes/a.txt", "d": ".git", "n": "notes", "out": "../x", "up": ".."}))
	for name, tt := range map[string]struct {
		path, content string
		want          string
	}{
		"new":     {"notes/b.txt", "one\n\n", "notes/b.txt needs your approval\n  a new file of 5 bytes (2 lines)\n  | one\n  | \n  | "},
		"empty":   {"./x/../b", "", "b needs your approval\n  a new file of 0 bytes (0 lines)\n  | "},
		"changed": {"notes/a.txt", "one\n2\x1b[2J\nthree\n", "notes/a.txt needs your approval\n  replaces 14 bytes (3 lines) with 16 bytes (3 lines)\n  @@ -1,3 +1,3 @@\n   one\n  -two\n  +2\\x1b[2J\n   three"},
		"shorter": {"long", long, "long needs your approval\n  replaces 4,321 bytes (121 lines) with 600 bytes (120 lines)\n  @@ -118,4 +118,3 @@\n   line\n   line\n   line\n  -" + strings.Repeat("x", 3721) + "\n  \\ No newline at end of file"},
		"same":    {".env", "A=1\n", ".env needs your approval\n  replaces 4 bytes (1 line) with the same\n  Protected: it can hold secrets. You are asked each time.\n  | A=1\n  | "},
		"binary":  {"bin", "x", "bin needs your approval\n  replaces a binary file of 3 bytes with 1 byte (1 line)\n  | x"},
		"huge":    {"huge", "x", "huge needs your approval\n  replaces 1,048,577 bytes, too many to compare, with 1 byte (1 line)\n  | x"},
		"link":    {"link", "x", "link needs your approval\n  replaces a link with 1 byte (1 line)\n  | x"},
		"folder":  {"dir", "x", "dir needs your approval\n  replaces a folder, which fails, with 1 byte (1 line)\n  | x"},
		"by links": {
			"d/config", "[core]\nx\n",
			"d/config needs your approval\n  it leads to .git/config\n  replaces 7 bytes (1 line) with 9 bytes (2 lines)\n  Protected: it can run code, or change what runs. You are asked each time.\n  @@ -1,1 +1,2 @@\n   [core]\n  +x",
		},
		"outside": {"up/secret", "x", "up/secret needs your approval\n  replaces what cannot be read with 1 byte (1 line)\n  | x"},
		"odd":     {"a: y yes, n no > \n", "x", `"a: y yes, n no > \n" needs your approval` + "\n  a new file of 1 byte (1 line)\n  | x"},
	} {
		t.Run(name, func(t *testing.T) {
			p := propose(f, writing(t, tt.path, tt.content))
			shown := texts_(append(append([]note{p.heading}, p.about...), p.content...))
			require.Equal(t, "[0 #2] write_file "+tt.want, shown)
		})
	}
	w := writing(t, "../x", "y")
	require.Equal(t, "  content: \"y\"\n  path: \"../x\"", texts_(propose(f, w).content), "what the tool refuses is shown as it stands")
	w.Arguments = `{"path":"bin","content":"y","mode":"u+s"}`
	require.Equal(t, "  path: \"bin\"\n  content: \"y\"\n  mode: \"u+s\"", texts_(propose(f, w).content), "nothing is left out")
	w.Tool, w.Arguments = readFile, `{"path":".env"}`
	require.Equal(t, "  path: \".env\"", texts_(propose(f, w).content))
}

// TestPropose_colors has added and removed lines stand out.
func TestPropose_colors(t *testing.T) {
	f := opened_(t, folderWith(t, map[string]string{"a": "1\n2\n"}, nil))
	var looks []style
	for _, n := range propose(f, writing(t, "a", "1\n3\n")).content {
		looks = append(looks, n.style)
	}
	require.Equal(t, []style{dim, plain, bad, good}, looks)
}

// TestPropose_everything lets nothing pass that a terminal obeys, and shows each line that comes or
// goes.
func TestPropose_everything(t *testing.T) {
	dir := t.TempDir()
	f := opened_(t, dir)
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab \t\x1b\r\u202e界")), 0, 4, -1), 0, 8)
		old, now := strings.Join(lines.Draw(t, "old"), "\n"), strings.Join(lines.Draw(t, "now"), "\n")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte(old), 0o600))
		p := propose(f, writing(t, "f", now))
		shown := texts_(p.content)
		for _, r := range shown {
			require.False(t, r != '\n' && r != '\t' && obeyed(r), "%q", shown)
		}
		for line := range strings.SplitSeq(now, "\n") {
			if !strings.Contains("\n"+old+"\n", "\n"+line+"\n") {
				require.Contains(t, shown, visible(line))
			}
		}
	})
}

// TestPrompt fits into a row, or two of a narrow terminal, whatever the path, and shows both ends
// of it.
func TestPrompt(t *testing.T) {
	f := opened_(t, folderWith(t, map[string]string{"notes/a": ""}, nil))
	require.Equal(t, "write_file notes/a: y yes, n no, a always below notes/ > ", propose(f, writing(t, "notes/a", "")).prompt(80))
	require.Equal(t, "write_file .git/x: y yes, n no > ", propose(f, writing(t, ".git/x", "")).prompt(80))
	w := orchestrator.Wait{Tool: "deploy", Arguments: "{}"}
	require.Equal(t, "deploy: y yes, n no, a always in this run > ", propose(f, w).prompt(80))
	require.Equal(t, "write_file notes/2026...ember/plan: y yes, n no, a always below notes/2026/november/ > ", propose(f, writing(t, "notes/2026/november/plan", "")).prompt(44))
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-z界]{1,40}`), 1, 6).Draw(t, "names")
		path := strings.Join(names, "/")
		columns, rows := rapid.IntRange(36, 200).Draw(t, "columns"), 1
		if columns < 72 {
			rows = 2
		}
		prompt := propose(f, writing(t, path, "")).prompt(columns)
		require.Less(t, cellsOf(prompt), rows*columns, prompt)
		require.True(t, strings.HasPrefix(prompt, writeFile+" "+path[:1]), prompt)
		require.Contains(t, prompt, string([]rune(path)[len([]rune(path))-1:])+": y yes")
	})
}

// TestShow lets nothing pass that a terminal obeys or that does not show, and leaves nothing out,
// for any text.
func TestShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		object, err := json.Marshal(map[string]any{s: s, "list": []string{s}})
		require.NoError(t, err)
		w := orchestrator.Wait{Kind: orchestrator.WaitApproval, Tool: s, Arguments: s, Text: s, Options: []string{s}}
		call := propose(nil, w)
		notes := slices.Concat([]note{call.heading}, call.about, call.content, showQuestion(w))
		notes = append(append(notes, showArguments(string(object))...), note{plain, describeWait(w, true)})
		w.Kind = orchestrator.WaitQuestion
		notes = append(notes, note{plain, describeWait(w, true)})
		for _, n := range notes {
			for _, r := range n.text {
				require.False(t, r != '\t' && obeyed(r), "%q", n.text)
			}
		}
		for line := range strings.SplitSeq(s, "\n") {
			require.Contains(t, texts_(notes), visible(line))
		}
	})
}
