package markdown

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/internal/prove"
)

var rewrite = flag.Bool("rewrite", false, "write the expected files anew")

// TestRender compares an answer with all kinds of blocks with what is expected at two widths.
func TestRender(t *testing.T) {
	source, err := os.ReadFile("testdata/answer.md")
	require.NoError(t, err)
	for file, s := range map[string]Settings{
		"answer-80.txt":    {Columns: 80},
		"answer-40.txt":    {Columns: 40},
		"answer-color.txt": {Columns: 60, Color: true},
	} {
		t.Run(file, func(t *testing.T) {
			got := Render(string(source), s)
			path := filepath.Join("testdata", file)
			if *rewrite {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

func TestRender_blocks(t *testing.T) {
	for name, tt := range map[string]struct{ source, want string }{
		"nothing":             {"", ""},
		"blank":               {"\n \n", ""},
		"words":               {"one two three four five six", "one two three four\nfive six\n"},
		"a hard break":        {"one  \ntwo\\\nthree", "one\ntwo\nthree\n"},
		"a soft break":        {"one\ntwo", "one two\n"},
		"a long word":         {"abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrst\nuvwxyz\n"},
		"a long address":      {"see https://example.com/abcdefghijklmnop now", "see\nhttps://example.com/abcdefghijklmnop\nnow\n"},
		"a link":              {"[here](https://a.b/c)", "here (https://a.b/c)\n"},
		"a link that shows":   {"[https://a.b](https://a.b) <https://c.d> <me@x.y>", "https://a.b\nhttps://c.d me@x.y\n"},
		"a path":              {"a file in docs/first-hour.md", "a file in\ndocs/first-hour.md\n"},
		"a link that lies":    {"[a.com](https://b.com)", "a.com\n(https://b.com)\n"},
		"an address":          {"[x](a?b&amp;c)", "x (a?b&c)\n"},
		"an image":            {"![a cat](cat.png)", "image: a cat\n(cat.png)\n"},
		"a definition":        {"[one][1]\n\n[1]: http://a.b", "[one][1]\n\n[1]: http://a.b\n"},
		"emphasis":            {"*a* **b** `c` ~~d~~", "*a* **b** `c` ~~d~~\n"},
		"no emphasis":         {"2 * 3 * 4 snake_case_name", "2 * 3 * 4\nsnake_case_name\n"},
		"a tight list":        {"- a\n- b\n  - c", "- a\n- b\n  - c\n"},
		"a loose list":        {"3. a\n\n   b\n\n4. c", "3. a\n\n   b\n\n4. c\n"},
		"an empty item":       {"-\n- a", "-\n- a\n"},
		"tasks":               {"- [ ] a\n- [x] b", "- [ ] a\n- [x] b\n"},
		"a wrapped item":      {"10. one two three four five", "10. one two three\n    four five\n"},
		"code":                {"```go\nfunc  f() {\n\n}\n```", "  func  f() {\n\n  }\n"},
		"code that is long":   {"    abcdefghijklmnopqrstuvwxyz", "  abcdefghijklmnopqrstuvwxyz\n"},
		"a quote":             {"> one two three four five", "| one two three four\n| five\n"},
		"HTML":                {"<b>x</b>\n<div>\ny\n</div>", "<b>x</b>\n\n<div>\ny\n</div>\n"},
		"a block of HTML":     {"<div>\ny\n</div>", "<div>\ny\n</div>\n"},
		"a comment":           {"<!-- a\nb -->\nc", "<!-- a\nb -->\n\nc\n"},
		"a rule":              {"a\n\n***\n\nb", "a\n\n--------------------\n\nb\n"},
		"headings":            {"# a\n## b\nc\n===", "# a\n\n## b\n\n# c\n"},
		"a table":             {"|a|b|\n|-|-:|\n|one|2|", "a   | b\n----+--\none | 2\n"},
		"a wrapped table":     {"|a|b|\n|-|-|\n|one two three|four five six", "a        | b\n---------+----------\none two  | four five\nthree    | six\n"},
		"a table and a rule":  {"Numbers:\n|a|b|\n|-|-|\n|1|2|\n---\nc", "Numbers:\n\na | b\n--+--\n1 | 2\n\n--------------------\n\nc\n"},
		"no table":            {"a|b|c\n|-|\n---", "## a|b|c |-|\n"},
		"a table as records":  {"|a|b|c|\n|-|-|-|\n|one two three|fourandfivesix|seven eight nine|\n|x|y||", "a: one two three\nb: fourandfivesix\nc: seven eight\n  nine\n\na: x\nb: y\n"},
		"wide characters":     {"日本語の文章は空白なしで書かれます。", "日本語の文章は空白な\nしで書かれます。\n"},
		"a table of them":     {"|名|x|\n|-|-|\n|日本|y|\n|a|z|", "名   | x\n-----+--\n日本 | y\na    | z\n"},
		"Hebrew with vowels":  {"שָׁלוֹם עוֹלָם שָׁלוֹם עוֹלָם שָׁלוֹם", "שָׁלוֹם עוֹלָם שָׁלוֹם עוֹלָם\nשָׁלוֹם\n"},
		"nested for ever":     {strings.Repeat(">", 60) + " a", strings.Repeat("| ", 8) + "a\n"},
		"character reference": {"a &amp; b &copy; \\* &lt;", "a & b © * <\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, Render(tt.source, Settings{Columns: 20}))
		})
	}
}

// TestRender_controls lets no model control the terminal, neither with characters nor with
// references to them.
func TestRender_controls(t *testing.T) {
	attack := "a\x1b[2J\x9b2J &#27;]0;x&#7; &#x1b;[31m &#155;2J &#x202e; [x](<\x1b]8;;y&#27;>) `\x1b[1m&#27;`\r\n\n```\n\x1b[2J&#27;\n```\n\n|\x1b[1m|\n|-|\n|&#27;c|\n"
	for _, color := range []bool{false, true} {
		got := Render(attack, Settings{Columns: 40, Color: color})
		require.Empty(t, obeyed(got), "%q", got)
		require.Contains(t, got, "&#27;", "code has no references")
	}
}

var ours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// obeyed returns the control characters of a text, other than styles and line breaks.
func obeyed(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && plaintext.Obeyed(r) {
			return r
		}
		return -1
	}, ours.ReplaceAllString(s, ""))
}

// pieces are what random Markdown is made of.
var pieces = []string{
	"\n", "\n\n", " ", "  ", "    ", "\t", "- ", "* ", "1. ", "2) ", "> ", "# ", "## ", "===\n", "---\n", "```", "```go\n", "~~~\n", "|", "|a|b|\n", "|-|-|\n",
	"`", "*", "**", "_", "~~", "[", "](", ")", "[1]: ", "<div>", "</div>\n", "<!--", "-->", "word", "two words", "日本語", "שָׁלוֹם", "https://a.b/c", "&#27;", "\x1b[2J", "\\", "[x] ",
}

// TestStream writes the same lines however an answer comes, and never takes one back.
func TestStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "source"), "")
		to := Settings{Columns: rapid.IntRange(1, 60).Draw(t, "columns"), Color: rapid.Bool().Draw(t, "color")}
		whole := Render(source, to)
		units, _, _ := read(source, to)
		all := (&Stream{}).take(units)
		require.Equal(t, all, whole, "what was complete was not changed by what came later")

		var s Stream
		var got strings.Builder
		for rest := source; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			got.WriteString(s.Write(rest[:n], to))
			rest = rest[n:]
		}
		got.WriteString(s.Close(to))
		require.Equal(t, whole, got.String())
		require.Empty(t, obeyed(whole), "%q", whole)
		require.True(t, utf8.ValidString(whole))
	})
}

// TestStream_early writes blocks, items and lines of code as soon as they are complete.
func TestStream_early(t *testing.T) {
	var s Stream
	to := Settings{Columns: 40}
	for _, step := range []struct{ piece, want string }{
		{"# Tit", ""},
		{"le\n", "# Title\n"},
		{"Some words\nand more", ""},
		{"\n\n", "\nSome words and more\n"},
		{"- one\n", ""},
		{"- two\n- th", "\n- one\n"},
		{"ree\n\n", "- two\n"},
		{"```\nf()\n", "- three\n\n  f()\n"},
		{"g()\n", "  g()\n"},
		{"```\n", ""},
		{"|a|\n|-|\n|b|\n", ""},
		{"\n", "\na\n-\nb\n"},
		{"The end", ""},
	} {
		require.Equal(t, step.want, s.Write(step.piece, to), step.piece)
	}
	require.Equal(t, "\nThe end\n", s.Close(to))
	require.Equal(t, "again\n", s.Write("again\n\n", to))
}

// TestStream_long reads a long answer, and each kind of long block, with work in proportion to its
// length: with four times the length, and the memory that is taken for it, not sixteen times.
func TestStream_long(t *testing.T) {
	to, together := Settings{Columns: 80}, prove.DepthOr(10, 1) // so many lines come at once
	for name, tt := range map[string]struct{ begin, again string }{
		"paragraphs": {"", "Some words\n\n"},
		"flags":      {"Flags:\n", "--flag does it\n"},
		"a list":     {"", "- **one** item\n"},
		"code":       {"```\n", "a line of code\n"},
		"a table":    {"|a|b|\n|-|-|\n", "|one|two|\n"},
	} {
		t.Run(name, func(t *testing.T) {
			taken := func(times int) uint64 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				var s Stream
				s.Write(tt.begin, to)
				for range times / together {
					s.Write(strings.Repeat(tt.again, together), to)
				}
				s.Close(to)
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			require.Less(t, taken(2000), 8*taken(500))
		})
	}
}

// TestRender_fits keeps every line within the terminal, but for code, addresses and HTML.
func TestRender_fits(t *testing.T) {
	words := []string{"a", "word", "日本語", "שָׁלוֹם", "*x*", "`code`", "[l](x.md)", "- ", "> ", "\n", "\n\n", "|a|b|\n|-|-|\n|some words|other words|\n", "veryveryverylongword"}
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 40).Draw(t, "source"), " ")
		columns := rapid.IntRange(30, 80).Draw(t, "columns")
		if strings.Contains(source, "     ") {
			t.Skip("code")
		}
		for line := range strings.SplitSeq(Render(source, Settings{Columns: columns}), "\n") {
			if strings.Count(line, "| ")+strings.Count(line, "- ") > 4 {
				continue // deep nesting keeps a minimum of room
			}
			require.LessOrEqual(t, plaintext.CellsOf(line), columns, "%q", line)
		}
	})
}
