package commonmark_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"html"
	"io/fs"
	"os"
	"regexp"
	"testing"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/stretchr/testify/require"
)

// corpora are examples that were written for these tests, numbered from 1001 on, and those of
// CommonMark, which lie beside the repository.
var corpora = []struct {
	name, file string
	examples   int
}{
	{"ours", "../../../testdata/recorded/cases/commonmark-fences.jsonl", 11},
	{"CommonMark", "../../../../shared/corpus/cases/commonmark-fences.jsonl", 29},
}

// outsideOfFences are the examples whose blocks are not fenced blocks at the top level of the text.
var outsideOfFences = map[int]string{
	128: "a block within a quotation: what it holds is quoted",
	134: "an indented block",

	1009: "a block within a quotation, as 128",
}

func TestS2_11_FencesAreThoseOfCommonMark(t *testing.T) {
	for _, c := range corpora {
		t.Run(c.name, func(t *testing.T) {
			file, err := os.Open(c.file)
			if errors.Is(err, fs.ErrNotExist) && c.name != "ours" {
				t.Skip("the corpus of recorded texts is not at ../shared/corpus, beside the repository")
			}
			require.NoError(t, err)
			defer file.Close()
			n := 0
			for lines := bufio.NewScanner(file); lines.Scan(); n++ {
				var e example
				require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
				e.check(t)
			}
			require.Equal(t, c.examples, n)
		})
	}
}

// example is a text, and what it is as HTML.
type example struct {
	N              int
	Markdown, HTML string
}

var code = regexp.MustCompile(`(?s)<pre><code[^>]*>(.*?)</code></pre>`)

// check holds the blocks of the text, which arrives in pieces, to be those of the HTML.
func (e example) check(t *testing.T) {
	var want []string
	for _, block := range code.FindAllStringSubmatch(e.HTML, -1) {
		want = append(want, html.UnescapeString(block[1]))
	}
	if outsideOfFences[e.N] != "" {
		want = nil
	}
	for _, size := range []int{1, 2, 5, len(e.Markdown)} {
		_, got := codeBlocks(e.Markdown, size)
		for i := range got {
			if got[i] != "" && got[i][len(got[i])-1] != '\n' {
				got[i] += "\n" // the end of the text counts as the end of a line
			}
		}
		require.Equal(t, want, got, "example %d in pieces of %d: %q", e.N, size, e.Markdown)
	}
}

func TestS2_11_InfoStringsAndLineBreaks(t *testing.T) {
	for text, want := range map[string]string{
		"```json {.numbers} x=1 \nA\n```":   "json {.numbers} x=1",
		"~~~~ go `x`\r\nA\r\n~~~~~ \r\nB":   "go `x`",
		"   ``` \tpython\t\n   A\n  ```\nB": "python",
		"```c\rA\r```\rB":                   "c",
	} {
		for size := 1; size <= len(text); size++ {
			infos, contents := codeBlocks(text, size)
			require.Equal(t, []string{want}, infos, "%q", text)
			require.Len(t, contents, 1)
			require.Regexp(t, `^A[\r\n]+$`, contents[0], "%q", text)
		}
	}
}

// codeBlocks returns the info strings and contents of the fenced code blocks of a text that arrives
// in pieces of n bytes.
func codeBlocks(text string, n int) (infos, contents []string) {
	find := func(from int) int {
		for at := from; at < len(text); at++ {
			if (text[at] == '`' || text[at] == '~') && textscan.SkipRun(text, at, text[at])-at >= 3 && commonmark.LineStart(text, at) >= 0 {
				return at
			}
		}
		return -1
	}
	for at := find(0); at >= 0; {
		f := commonmark.Fence{Start: at}
		to := min(len(text), at+n)
		for !f.ReadOpening(text[:to], to == len(text)) {
			to = min(len(text), to+n)
		}
		if f.None() {
			at = find(at + f.Length)
			continue
		}
		for to < len(text) && !f.FindEnd(text[:max(to, f.Body)], false) {
			to = min(len(text), to+n)
		}
		closed := f.FindEnd(text, true)
		infos, contents = append(infos, f.Info), append(contents, f.Content(text))
		if !closed {
			break
		}
		at = find(f.End)
	}
	return infos, contents
}

func TestFencesAt(t *testing.T) {
	for text, within := range map[string]bool{
		"":                    false,
		"```\n":               true,
		"```go\nx\n":          true,
		"```\nx\n```\n":       false,
		"````\n```\n":         true,
		"~~~ `x`\n":           true,
		"~~~\n```\n":          true,
		"``` a`b\n":           false,
		"``\n":                false,
		"a ```\n":             false,
		"```\n``` x\n":        true,
		"```\n```` \nx\n~~~~": false,
	} {
		var f commonmark.Fences
		for at := range len(text) {
			f.At(text, at)
		}
		require.Equal(t, within, f.At(text, len(text)), text)
	}
}
