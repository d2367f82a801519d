package approval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder/workfoldertest"
	"github.com/segue-go/segue/machine"
)

func writing(t require.TestingT, path, content string) machine.Wait {
	text, err := json.Marshal(map[string]string{"path": path, "content": content})
	require.NoError(t, err)
	return machine.Wait{Kind: machine.WaitApproval, Frame: "0", Seq: 2, Tool: workfolder.WriteFile, Arguments: string(text)}
}

// TestPropose shows what a call would change.
func TestPropose(t *testing.T) {
	long := strings.Repeat("line\n", 120)
	f := opened(t, workfoldertest.New(t, map[string]string{
		"notes/a.txt": "one\ntwo\nthree\n", "long": long + strings.Repeat("x", 3721), "bin": "a\x00b", "huge": strings.Repeat("x", workfolder.MaxCompared+1),
		"dir/x": "", ".git/config": "[core]\n", ".env": "A=1\n", "dos": "\ufeffone\r\ntwo\r\n",
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
		"DOS":     {"dos", "one\n2\n", "dos needs your approval\n  replaces 13 bytes (2 lines) with 11 bytes (2 lines)\n  @@ -1,2 +1,2 @@\n   \\ufeffone\\r\n  -two\\r\n  +2\\r"},
		"by links": {
			"d/config", "[core]\nx\n",
			"d/config needs your approval\n  it leads to .git/config\n  replaces 7 bytes (1 line) with 9 bytes (2 lines)\n  Protected: it can run code, or change what runs. You are asked each time.\n  @@ -1,1 +1,2 @@\n   [core]\n  +x",
		},
		"outside": {"up/secret", "x", "up/secret needs your approval\n  replaces what cannot be read with 1 byte (1 line)\n  | x"},
		"odd":     {"a: y yes, n no > \n", "x", `"a: y yes, n no > \n" needs your approval` + "\n  a new file of 1 byte (1 line)\n  | x"},
	} {
		t.Run(name, func(t *testing.T) {
			p := propose(f, writing(t, tt.path, tt.content), "")
			shown := texts(append(append([]terminal.Line{p.heading}, p.about...), p.content...))
			require.Equal(t, "[0 #2] write_file "+tt.want, shown)
		})
	}
	w := writing(t, "../x", "y")
	require.Equal(t, "  content: \"y\"\n  path: \"../x\"", texts(propose(f, w, "").content), "what the tool refuses is shown as it stands")
	w.Arguments = `{"path":"bin","content":"y","mode":"u+s"}`
	require.Equal(t, "  path: \"bin\"\n  content: \"y\"\n  mode: \"u+s\"", texts(propose(f, w, "").content), "nothing is left out")
	w.Tool, w.Arguments = workfolder.ReadFile, `{"path":".env"}`
	require.Equal(t, "  path: \".env\"", texts(propose(f, w, "").content))
}

// TestPropose_colors has added and removed lines stand out.
func TestPropose_colors(t *testing.T) {
	f := opened(t, workfoldertest.New(t, map[string]string{"a": "1\n2\n"}, nil))
	var looks []terminal.Style
	for _, n := range propose(f, writing(t, "a", "1\n3\n"), "").content {
		looks = append(looks, n.Style)
	}
	require.Equal(t, []terminal.Style{terminal.Dim, terminal.Plain, terminal.Bad, terminal.Good}, looks)
}

// TestPropose_everything lets nothing pass that a terminal obeys, and shows each line that comes or
// goes.
func TestPropose_everything(t *testing.T) {
	dir := t.TempDir()
	f := opened(t, dir)
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab \t\x1b\r\u202e界")), 0, 4, -1), 0, 8)
		old, now := strings.Join(lines.Draw(t, "old"), "\n"), strings.Join(lines.Draw(t, "now"), "\n")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte(old), 0o600))
		p := propose(f, writing(t, "f", now), "")
		shown := texts(p.content)
		for _, r := range shown {
			require.False(t, r != '\n' && r != '\t' && plaintext.Obeyed(r), "%q", shown)
		}
		for line := range strings.SplitSeq(now, "\n") {
			if !strings.Contains("\n"+old+"\n", "\n"+line+"\n") {
				require.Contains(t, shown, plaintext.Visible(line))
			}
		}
	})
}

// TestPrompt fits into a row, or two of a narrow terminal, whatever the path, and shows both ends
// of it.
func TestPrompt(t *testing.T) {
	f := opened(t, workfoldertest.New(t, map[string]string{"notes/a": ""}, nil))
	shown := func(p proposal, columns int) string { return strings.ReplaceAll(p.prompt(columns), "\u00a0", " ") }
	require.Equal(t, "write_file notes/a: y yes, n no, e edit, a always below notes/ > ", shown(propose(f, writing(t, "notes/a", ""), ""), 80))
	require.Equal(t, "write_file .git/x: y yes, n no, e edit > ", shown(propose(f, writing(t, ".git/x", ""), ""), 80))
	w := machine.Wait{Tool: "deploy", Arguments: "{}"}
	require.Equal(t, "deploy: y yes, n no, e edit, a always in this run > ", shown(propose(f, w, ""), 80))
	require.Equal(t, "write_file notes/...r/plan: y yes, n no, e edit, a always below notes/...mber/ > ", shown(propose(f, writing(t, "notes/2026/november/plan", ""), ""), 44))
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-z界]{1,40}`), 1, 6).Draw(t, "names")
		path := strings.Join(names, "/")
		columns, rows := rapid.IntRange(36, 200).Draw(t, "columns"), 1
		if columns < wideEnough {
			rows = 2
		}
		prompt := shown(propose(f, writing(t, path, ""), ""), columns)
		require.Less(t, plaintext.CellsOf(prompt), rows*columns, prompt)
		require.True(t, strings.HasPrefix(prompt, workfolder.WriteFile+" "+path[:1]), prompt)
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
		w := machine.Wait{Kind: machine.WaitApproval, Tool: s, Arguments: s, Text: s, Options: []string{s}}
		call := propose(nil, w, "")
		notes := slices.Concat([]terminal.Line{call.heading}, call.about, call.content, terminal.DescribeQuestion(w, ""))
		notes = append(append(notes, terminal.DescribeArguments(string(object))...), terminal.Plain.Line(terminal.DescribeWait(w, true)))
		w.Kind = machine.WaitQuestion
		notes = append(notes, terminal.Plain.Line(terminal.DescribeWait(w, true)))
		for _, n := range notes {
			for _, r := range n.Text {
				require.False(t, r != '\t' && plaintext.Obeyed(r), "%q", n.Text)
			}
		}
		for line := range strings.SplitSeq(s, "\n") {
			require.Contains(t, texts(notes), plaintext.Visible(line))
		}
	})
}

// TestPropose_edit shows what an edit would change, and why it would fail.
func TestPropose_edit(t *testing.T) {
	f := opened(t, workfoldertest.New(t, map[string]string{"a": "one\ntwo\nthree\n", ".git/config": "[core]\n"}, map[string]string{"link": "a"}))
	both := "\n  old:\n  | two\n  new:\n  | 2"
	for name, tt := range map[string]struct{ path, old, new, want string }{
		"part":     {"a", "two", "2\x1b[2J", "a needs your approval\n  changes a part of 14 bytes (3 lines)\n  @@ -1,3 +1,3 @@\n   one\n  -two\n  +2\\x1b[2J\n   three"},
		"no text":  {"a", "2", "two", "a needs your approval\n  changes nothing: the file has the new text already\n  old:\n  | 2\n  new:\n  | two"},
		"no match": {"a", "four", "4", "a needs your approval\n  will fail: old does not occur: read the file, and give its text exactly, with all blanks\n  old:\n  | four\n  new:\n  | 4"},
		"no file":  {"b", "two", "2", "b needs your approval\n  changes a file that does not exist, which fails" + both},
		"link":     {"link", "two", "2", "link needs your approval\n  changes a link" + both},
		"code":     {".git/config", "[core]", "[x]", ".git/config needs your approval\n  changes a part of 7 bytes (1 line)\n  Protected: it can run code, or change what runs. You are asked each time.\n  @@ -1,1 +1,1 @@\n  -[core]\n  +[x]"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(map[string]string{"path": tt.path, "old": tt.old, "new": tt.new})
			require.NoError(t, err)
			p := propose(f, machine.Wait{Kind: machine.WaitApproval, Frame: "0", Seq: 2, Tool: workfolder.EditFile, Arguments: string(text)}, "")
			shown := texts(append(append([]terminal.Line{p.heading}, p.about...), p.content...))
			require.Equal(t, "[0 #2] edit_file "+tt.want, shown)
		})
	}
}
