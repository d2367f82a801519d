package main

import (
	"encoding/json"
	"os"
	"path/filepath"
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
	f := opened(t, folderWith(t, map[string]string{
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
			p := f.propose(writing(t, tt.path, tt.content))
			shown := texts(append(append([]note{p.heading}, p.about...), p.content...))
			require.Equal(t, "[0 #2] write_file "+tt.want, shown)
		})
	}
	w := writing(t, "../x", "y")
	require.Equal(t, "  content: \"y\"\n  path: \"../x\"", texts(f.propose(w).content), "what the tool refuses is shown as it stands")
	w.Arguments = `{"path":"bin","content":"y","mode":"u+s"}`
	require.Equal(t, "  path: \"bin\"\n  content: \"y\"\n  mode: \"u+s\"", texts(f.propose(w).content), "nothing is left out")
	w.Tool, w.Arguments = readFile, `{"path":".env"}`
	require.Equal(t, "  path: \".env\"", texts(f.propose(w).content))
}

// TestPropose_colors has added and removed lines stand out.
func TestPropose_colors(t *testing.T) {
	f := opened(t, folderWith(t, map[string]string{"a": "1\n2\n"}, nil))
	var looks []style
	for _, n := range f.propose(writing(t, "a", "1\n3\n")).content {
		looks = append(looks, n.style)
	}
	require.Equal(t, []style{dim, plain, bad, good}, looks)
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
		p := f.propose(writing(t, "f", now))
		shown := texts(p.content)
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
	f := opened(t, folderWith(t, map[string]string{"notes/a": ""}, nil))
	require.Equal(t, "write_file notes/a: y yes, n no, a always below notes/ > ", f.propose(writing(t, "notes/a", "")).prompt(80))
	require.Equal(t, "write_file .git/x: y yes, n no > ", f.propose(writing(t, ".git/x", "")).prompt(80))
	w := orchestrator.Wait{Tool: "deploy", Arguments: "{}"}
	require.Equal(t, "deploy: y yes, n no, a always in this run > ", f.propose(w).prompt(80))
	require.Equal(t, "write_file notes/2026...ember/plan: y yes, n no, a always below notes/2026/november/ > ", f.propose(writing(t, "notes/2026/november/plan", "")).prompt(44))
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-z界]{1,40}`), 1, 6).Draw(t, "names")
		path := strings.Join(names, "/")
		columns, rows := rapid.IntRange(36, 200).Draw(t, "columns"), 1
		if columns < 72 {
			rows = 2
		}
		prompt := f.propose(writing(t, path, "")).prompt(columns)
		require.Less(t, cellsOf(prompt), rows*columns, prompt)
		require.True(t, strings.HasPrefix(prompt, writeFile+" "+path[:1]), prompt)
		require.Contains(t, prompt, string([]rune(path)[len([]rune(path))-1:])+": y yes")
	})
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 4321: "4,321", 123456: "123,456", 1234567: "1,234,567"} {
		require.Equal(t, want, thousands(n))
	}
}

// TestPages shows all lines in their order, no page larger than the terminal, each below the
// heading.
func TestPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := size{rapid.IntRange(20, 100).Draw(t, "columns"), rapid.IntRange(8, 60).Draw(t, "rows")}
		var content []note
		for range rapid.IntRange(0, 200).Draw(t, "lines") {
			content = append(content, note{plain, rapid.StringOfN(rapid.RuneFrom([]rune("a\t界")), 0, 150, -1).Draw(t, "line")})
		}
		shown := pages{note{bold, "heading"}, wrapAll(content, at.columns)}
		var all []note
		for first := true; first || shown.more(); first = false {
			page := shown.next(at)
			require.LessOrEqual(t, len(page)+2, at.rows)
			require.Equal(t, "heading", page[0].text)
			page = page[1:]
			if shown.more() {
				require.Contains(t, page[len(page)-1].text, ": m shows more")
				page = page[:len(page)-1]
			}
			all = append(all, page...)
		}
		for _, n := range all {
			require.Less(t, cellsOf(n.text), at.columns)
		}
		require.Equal(t, wrapAll(content, at.columns), all)
		require.Equal(t, strings.ReplaceAll(texts(content), "\n", ""), strings.NewReplacer("\n      ", "", "\n", "").Replace(texts(all)))
	})
}
