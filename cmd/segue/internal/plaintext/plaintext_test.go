package plaintext

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestHead(t *testing.T) {
	for _, tt := range []struct {
		s       string
		columns int
		want    string
	}{
		{"", 5, ""},
		{"12345", 5, "12345"},
		{"123456", 5, "12..."},
		{"日本", 4, "日本"},
		{"日本語", 5, "日..."},
		{"日本語", 4, "..."},
		{"שָׁלוֹם", 4, "שָׁלוֹם"},
		{"שָׁלוֹם עוֹלָם", 7, "שָׁלוֹם..."},
		{"e\u0301e\u0301e\u0301e\u0301", 4, "e\u0301e\u0301e\u0301e\u0301"},
		{"👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 5, "👩‍👩‍👧..."},
	} {
		require.Equal(t, tt.want, Head(tt.s, tt.columns), "%q", tt.s)
	}
}

// TestFits holds head and tail to the space they are given, for any text.
func TestFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, columns := rapid.String().Draw(t, "s"), rapid.IntRange(len(Ellipsis), 60).Draw(t, "columns")
		for _, cut := range []string{Head(s, columns), Tail(s, columns)} {
			require.LessOrEqual(t, CellsOf(cut), columns, "%q", cut)
		}
	})
}

// TestOneLine lets nothing through that a terminal obeys, for any text.
func TestOneLine(t *testing.T) {
	require.Equal(t, "a b [2J c", OneLine(" a\r\n\tb\x1b[2J\u2028c\u202e\x00\u009b"))
	require.Equal(t, "a\ufffd2J", OneLine("a\x9b2J"), "a terminal may take single bytes for C1 controls")
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "raw"))
		require.True(t, utf8.ValidString(OneLine(raw)) && utf8.ValidString(Printable(raw)) && utf8.ValidString(Escaped(raw)), "%q", raw)
		for _, r := range OneLine(s) {
			require.False(t, Obeyed(r), "%q", r)
		}
		for _, r := range Printable(s) {
			require.True(t, r == '\n' || r == '\t' || !Obeyed(r), "%q", r)
		}
	})
}

// TestCellsOf measures scripts as terminals show them.
func TestCellsOf(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "日本語": 6, "ｱｲｳ": 3, "한국어": 6, "שָׁלוֹם": 4, "سَلَام": 4, "नमस्ते": 4, "ไทย": 3, "e\u0301": 1, "🇫🇷": 2, "👍🏽": 2, "😀": 2,
	} {
		require.Equal(t, want, CellsOf(s), "%q", s)
	}
}

func TestTail(t *testing.T) {
	require.Equal(t, "ab", Tail("ab", 2))
	require.Equal(t, "語", Tail("日本語", 3))
	require.Equal(t, "לוֹם", Tail("שָׁלוֹם", 3))
}

func TestMiddle(t *testing.T) {
	for _, tt := range []struct {
		s       string
		columns int
		want    string
	}{
		{"src/", 4, "src/"},
		{"src/", -20, "src/"},
		{"123456789", 8, "123...89"},
		{"123456789", -20, "12...9"},
	} {
		require.Equal(t, tt.want, Middle(tt.s, tt.columns), "%q in %d", tt.s, tt.columns)
	}
}

func TestVisible(t *testing.T) {
	require.Equal(t, "a\tb\\n\\r\\x1b[2J\\u202e\\u200b\\u00a0\\u2028\\x7f\\u009b \\\"'日本\\xff\ufffd", Visible("a\tb\n\r\x1b[2J\u202e\u200b\u00a0\u2028\x7f\u009b \\\"'日本\xff\ufffd"))
}

func TestPrintable(t *testing.T) {
	require.Equal(t, "a\tb\n[31mc", Printable("a\tb\r\n\x1b[31mc\a"))
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 4321: "4,321", 123456: "123,456", 1234567: "1,234,567"} {
		require.Equal(t, want, Thousands(n))
	}
}
