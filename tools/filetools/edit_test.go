package filetools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/segue-go/segue/tools/filetools"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEdit(t *testing.T) {
	edit := func(path, old, new string) map[string]any {
		return map[string]any{"path": path, "old": old, "new": new}
	}
	b := newBox(t, filetools.Config{MaxWrite: 40}, map[string]string{
		"a": "one\ntwo\nthree\n", "twice": "x\ny\nx\n", "dos": "one\r\ntwo\r\n", "binary": "a\x00b", "big": strings.Repeat("0123456789", 5), "d/e": "", "again": "aabb",
		"mixed": "one\r\ntwo\nthree\r\n", "overlap": "aaa\n",
	})
	require.NoError(t, os.Chmod(filepath.Join(b.dir, "a"), 0o640))
	require.NoError(t, os.Symlink("a", filepath.Join(b.dir, "link")))

	b.want("a changed at line 2", "edit_file", edit("./a", "two\n", "2\n2b\n"))
	b.want("one\n2\n2b\nthree\n", "read_file", map[string]any{"path": "a"})
	info, err := os.Stat(filepath.Join(b.dir, "a"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode(), "the mode stays")
	b.want("a has the new text already: nothing was changed", "edit_file", edit("a", "two\n", "2\n2b\n"))
	b.want("a changed at line 1", "edit_file", edit("a", "one\n", "one\nmore\n"))
	b.want("a has the new text already: nothing was changed", "edit_file", edit("a", "one\n", "one\nmore\n"))
	b.want("a changed at line 2", "edit_file", edit("a", "more\n", ""))
	b.want("one\n2\n2b\nthree\n", "read_file", map[string]any{"path": "a"})

	b.refused("old is empty", "edit_file", edit("a", "", "x"))
	b.refused("the same text", "edit_file", edit("a", "one", "one"))
	b.refused("old does not occur: read the file", "edit_file", edit("a", "One", "x"))
	b.refused("old occurs 2 times, in lines 1, 3: give more", "edit_file", edit("twice", "x", "z"))
	b.refused("old would still occur after the change", "edit_file", edit("again", "ab", ""))
	b.want("dos changed at line 1", "edit_file", edit("dos", "one\ntwo\n", "1\n2\n3\n"))
	b.want("dos has the new text already: nothing was changed", "edit_file", edit("dos", "one\ntwo\n", "1\n2\n3\n"))
	b.want("dos changed at line 3", "edit_file", edit("dos", "3\r\n", "drei\n\n"))
	b.want("1\r\n2\r\ndrei\r\n\r\n", "read_file", map[string]any{"path": "dos"})
	b.refused(`old ends within the end of a line`, "edit_file", edit("dos", "drei\r", "vier\n"))
	b.refused(`some lines of the file end with "\r\n", and others with "\n"`, "edit_file", edit("mixed", "one\ntwo", "z"))
	b.want("mixed changed at line 3", "edit_file", edit("mixed", "three", "3"))
	b.refused("old occurs 2 times, in lines 1, 1: give more", "edit_file", edit("overlap", "aa", "b"))
	b.refused(`"binary" is a binary file`, "edit_file", edit("binary", "a", "z"))
	b.refused(`"big" has 50 bytes, too much to edit: at most 40`, "edit_file", edit("big", "0", "z"))
	b.refused("47 bytes are too much for one file: at most 40", "edit_file", edit("a", "one", strings.Repeat("x", 35)))
	b.refused(`"d" is a folder`, "edit_file", edit("d", "x", "y"))
	b.refused(`"link" is not a regular file`, "edit_file", edit("link", "one", "y"))
	b.refused(`there is no "none"`, "edit_file", edit("none", "x", "y"))
	b.refused("is outside the folder", "edit_file", edit("../secret", "the", "y"))
	b.refused(`missing "new"`, "edit_file", map[string]any{"path": "a", "old": "one"})

	entries, err := os.ReadDir(b.dir)
	require.NoError(t, err)
	require.Len(t, entries, 10, "no temporary file is left: %v", entries)
}

// A call that may have had its effect is made again after a crash.
func TestEdit_againChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("ab\r\n")), 0, 4, -1)
		content, old, new := rapid.StringOfN(rapid.RuneFrom([]rune("ab\r\n")), 0, 12, -1).Draw(t, "content"), word.Draw(t, "old"), word.Draw(t, "new")
		once, err := filetools.Edit(content, old, new)
		if err != nil {
			return
		}
		again, err := filetools.Edit(once, old, new)
		if err == nil && again != once {
			t.Fatalf("%q, with %q for %q, is %q, and then %q", content, new, old, once, again)
		}
	})
}

func TestRead_longLine(t *testing.T) {
	long := strings.Repeat("äöü", 10) + "\nlast\n"
	b := newBox(t, filetools.Config{MaxRead: 25}, map[string]string{"long": long})
	read := func(line, at int) map[string]any {
		return map[string]any{"path": "long", "from_line": line, "from_byte": at}
	}
	b.want("äöüäöüäöüäöü\n[cut in line 1: read on with from_line 1 and from_byte 24]", "read_file", map[string]any{"path": "long"})
	b.want("äöüäöüäöüäöü\n[cut in line 1: read on with from_line 1 and from_byte 48]", "read_file", read(1, 24))
	b.want("äöüäöü\nlast\n", "read_file", read(1, 48))
	b.want("\nlast\n", "read_file", read(0, 60))
	b.want("[line 1 has only 61 bytes]", "read_file", read(1, 62))
	b.want("st\n", "read_file", read(2, 2))
	b.want("[line 2 has only 5 bytes]", "read_file", read(2, 6))
	b.refused("from_byte is -1", "read_file", read(1, -1))
}

// A file keeps its byte order mark and the ends of its lines, whatever the content comes with.
func TestWrite_keepsMarkAndLineEnds(t *testing.T) {
	const bom = "\ufeff"
	for name, c := range map[string]struct{ was, content, now, kept string }{
		"both":                    {bom + "old\r\ntext\r\n", "new\ntext\n", bom + "new\r\ntext\r\n", `; the byte order mark of the file is kept; the line ends "\r\n" of the file are kept`},
		"line ends":               {"old\r\n", "new\n\ntext", "new\r\n\r\ntext", `; the line ends "\r\n" of the file are kept`},
		"some given":              {"old\r\n", "new\r\ntext\n", "new\r\ntext\r\n", `; the line ends "\r\n" of the file are kept`},
		"a mark":                  {bom + "old\n", "new\n", bom + "new\n", `; the byte order mark of the file is kept`},
		"a mark, one line":        {bom + "old", "new\r\n", bom + "new\r\n", `; the byte order mark of the file is kept`},
		"both given":              {bom + "old\r\n", bom + "new\r\n", bom + "new\r\n", ""},
		"a mark given":            {bom + "old\r\n", bom + "new\n", bom + "new\r\n", `; the line ends "\r\n" of the file are kept`},
		"neither":                 {"old\n", "new\n", "new\n", ""},
		"what the content brings": {"old\n", bom + "new\r\n", bom + "new\r\n", ""},
		"mixed line ends":         {"one\r\ntwo\n", "new\ntext\n", "new\ntext\n", ""},
		"carriage returns alone":  {"one\rtwo", "new\n", "new\n", ""},
		"a mark within":           {"one" + bom, "new\n", "new\n", ""},
		"bytes, no text":          {bom + "a\x00\r\n", "new\n", "new\n", ""},
		"a part of a mark":        {"\xef\xbb", "new\n", "new\n", ""},
		"an empty file":           {"", "new\n", "new\n", ""},
		"a long file":             {bom + strings.Repeat("line\r\n", 100), "new\n", bom + "new\r\n", `; the byte order mark of the file is kept; the line ends "\r\n" of the file are kept`},
	} {
		b := newBox(t, filetools.Config{MaxWrite: 40}, map[string]string{"a": c.was})
		for range 2 { // a call that may have had its effect is made again after a crash
			b.want(fmt.Sprintf("%d bytes written to a%s", len(c.now), c.kept), "write_file", map[string]any{"path": "a", "content": c.content})
			now, err := os.ReadFile(filepath.Join(b.dir, "a"))
			require.NoError(t, err)
			require.Equal(t, c.now, string(now), name)
			if c.was = c.now; name == "bytes, no text" {
				break
			}
		}
	}

	b := newBox(t, filetools.Config{MaxWrite: 10}, map[string]string{"dos": "old\r\n", "other": bom + "x\r\n"})
	b.refused("11 bytes are too much for one file: at most 10", "write_file", map[string]any{"path": "dos", "content": "a\nb\nc\nde"})
	b.want("5 bytes written to new", "write_file", map[string]any{"path": "new", "content": "a\nbc\n"})
	require.NoError(t, os.Symlink("other", filepath.Join(b.dir, "link")))
	b.want("2 bytes written to link", "write_file", map[string]any{"path": "link", "content": "a\n"})
	if os.Getuid() != 0 {
		require.NoError(t, os.Chmod(filepath.Join(b.dir, "dos"), 0o200))
		b.want("2 bytes written to dos", "write_file", map[string]any{"path": "dos", "content": "a\n"})
	}
}
