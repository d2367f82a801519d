package lineedit

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
)

// keyed is a terminal at which keys were typed.
type keyed struct {
	*terminaltest.Emulator
	columns, rows int
	keys          string
	then          error // when they are all read
}

func (k *keyed) at() Terminal {
	return Terminal{
		Out: k, Size: func() (columns, rows int) { return k.columns, k.rows },
		Next: func(patience <-chan time.Time) (byte, error) {
			switch {
			case k.keys != "":
				c := k.keys[0]
				k.keys = k.keys[1:]
				return c, nil
			case patience != nil:
				return 0, ErrNoKey
			default:
				return 0, k.then
			}
		},
	}
}

func typed(columns, rows int, keys string) *keyed {
	return &keyed{terminaltest.NewEmulator(columns, rows), columns, rows, keys, io.ErrUnexpectedEOF}
}

func chatConfig() Config {
	return Config{
		Prompt: "> ", More: ". ",
		GoesOn: func(s string) (string, bool) { return strings.CutSuffix(s, `\`) },
		Typed:  func() []string { return []string{"the oldest", "two\nlines\there", "the newest"} },
		Complete: func(before string) []Word {
			if word := before[strings.LastIndexAny(before, " \n")+1:]; strings.HasPrefix("/model", word) {
				return []Word{{Text: "/model", About: "change it"}, {Text: "/mode", About: "show it"}}
			}
			return nil
		},
	}
}

func TestEdit(t *testing.T) {
	for name, tt := range map[string]struct{ keys, want string }{
		"Ctrl-J":                {"a\n", "a"},
		"Alt-Enter with Ctrl-J": {"a\x1b\nb\r", "a\nb"},
		"pasted":                {"\x1b[200~a\tb\r\nc\x1b[2J\x1b[201~\r", "a\tb\nc[2J"},
		"the newest":            {"\x1b[A\r", "the newest"},
		"with a line break":     {"\x1bOA\x10\r", "two\nlines\there"},
		"past the oldest":       {"\x10\x10\x10\x10\x10\x10\r", "the oldest"},
		"the draft is kept":     {"draft\x10\x0e\r", "draft"},
		"found":                 {"\x12old\r", "the oldest"},
		"found, then older":     {"\x12the\x12\x01My \r", "My the oldest"},
		"found after a mistake": {"\x12linx\x7f\r", "two\nlines\there"},
		"search left":           {"draft\x12old\x07!\r", "draft!"},
		"not found":             {"draft\x12zzz\r", "draft"},
		"killed and yanked":     {"one two\x17\x01\x19 \r", "two one "},
		"killed to the end":     {"abc\x02\x02\x0b\x19\x19\r", "abcbc"},
		"shared":                {"/m\ts\r", "/modes"},
		"offered":               {"say /m\t\t\r", "say /model"},
		"offered, the next":     {"say /m\t\t\t \x1b[Z\r", "say /mode "},
		"nothing to complete":   {"x\t\t\r", "x"},
		"no keys":               {"a\x1b[Za\x1b[1;2D\x07\x16\x1b[15~b\r", "aab"},
		"split UTF-8":           {"\xc3\xa9\xff\r", "é"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := New(chatConfig()).Edit(typed(40, 12, tt.keys).at(), "")
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

// TestEdit_ends ends the editing without a text.
func TestEdit_ends(t *testing.T) {
	for _, tt := range []struct {
		keys  string
		chat  error
		line  error
		typed string
	}{
		{"\x04", io.EOF, ErrEscaped, ""},
		{"ab\x03", ErrCancelled, ErrCancelled, "ab"},
		{"ab\x1b", io.ErrUnexpectedEOF, ErrEscaped, "ab"},
		{"ab\x01\x04", io.ErrUnexpectedEOF, io.ErrUnexpectedEOF, "b"},
	} {
		got, err := New(chatConfig()).Edit(typed(40, 12, tt.keys).at(), "")
		require.ErrorIs(t, err, tt.chat)
		require.Equal(t, tt.typed, got)
		k := typed(40, 12, tt.keys)
		_, err = New(Config{Prompt: "note > "}).Edit(k.at(), "")
		require.ErrorIs(t, err, tt.line)
		if errors.Is(err, ErrEscaped) {
			require.Equal(t, "\n", k.Text(), "the line is removed")
		}
	}
}

// TestEdit_shown shows rows that are broken between words, the end of a text that is higher than
// the terminal, and all of it when it is complete.
func TestEdit_shown(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{"one two three four five", "> one two three\n  four five\n"},
		{"one\x1b\rtwo", "> one\n. two\n"},
		{"日本語の文字を端末で\u202e折り返す", "> 日本語の文字を端末\n  で折り返す\n"},
		{"an_odd_long_word_日本", "> an_odd_long_word_日\n  本\n"},
		{"an_even_long_word_日本", "> an_even_long_word_\n  日本\n"},
		{"/m\t", "> /mode\n/model  change it\n/mode   show it\n"},
		{"/m\tx", "> /modex\n"},
		{"\x12old", "> the oldest\nsearch: old\n"},
		{"\x12?", ">\nsearch: ? (not found)\n"},
	} {
		k := typed(22, 6, tt.keys)
		shown := ""
		at := k.at()
		next := at.Next
		at.Next = func(patience <-chan time.Time) (byte, error) {
			if k.keys == "" && patience == nil {
				shown = k.Text()
			}
			return next(patience)
		}
		_, err := New(chatConfig()).Edit(at, "")
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, tt.want, shown, tt.keys)
	}
	k := typed(20, 4, strings.Repeat("line\x1b\r", 9)+"end\r")
	_, err := New(chatConfig()).Edit(k.at(), "")
	require.NoError(t, err)
	require.Equal(t, "> line\n"+strings.Repeat(". line\n", 8)+". end\n", k.Text())
}

// TestEdit_any shows a text as it is, whatever is typed: no key leaves something on the screen.
func TestEdit_any(t *testing.T) {
	keys := []string{
		"a", "word ", "日本", "ש", "e\u0301", "\x1b\r", "\x7f", "\x01", "\x05", "\x0b", "\x17", "\x19", "\t", "\x12", "o", "\x07", "\x10", "\x0e",
		"\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[200~x\ty\r\nz\x1b[201~", "\x1b[3~", "\x1bf", "\x1bb", "\x14",
	}
	rapid.Check(t, func(t *rapid.T) {
		k := typed(rapid.IntRange(12, 60).Draw(t, "columns"), 30, "")
		waiting := rapid.SliceOfN(rapid.SampledFrom(keys), 0, 30).Draw(t, "keys")
		waiting = append(waiting, "\x07", "\r")
		at := k.at()
		next := at.Next
		at.Next = func(patience <-chan time.Time) (byte, error) {
			if patience == nil && k.keys == "" { // each key is painted
				k.keys, waiting = waiting[0], waiting[1:]
			}
			return next(patience)
		}
		got, err := New(chatConfig()).Edit(at, "")
		require.NoError(t, err)
		flat := func(s string) string { return strings.Join(strings.Fields(s), "") }
		shown := strings.ReplaceAll(k.Text(), ".", "") // which only begins rows
		require.Equal(t, flat("> "+got), flat(shown))
		for line := range strings.SplitSeq(k.Text(), "\n") {
			require.LessOrEqual(t, plaintext.CellsOf(line), k.columns)
		}
	})
}
