package pyliteral_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy/internal/pyliteral"
)

func TestPyLiteral(t *testing.T) {
	for text, want := range map[string]string{
		`{'a': True, "b": None, 'c': False}`:                  `{"a":true,"b":null,"c":false}`,
		`{'a': [1, 2.5, -3e2,], 'b': {},}`:                    `{"a":[1,2.5,-3e2],"b":{}}`,
		`[(), (1,), (1), (1, 2,), []]`:                        `[[],[1],1,[1,2],[]]`,
		`{1: 'x'}`:                                            `{"1":"x"}`,
		`'it\'s "x" \\ \n \t \x41 \u00e9 \U0001F600 \101 \d'`: `"it's \"x\" \\ \n \t A \u00e9 😀 A \\d"`,
		`"it's"`:                        `"it's"`,
		`'''a "b" 'c'` + "\n" + `d'''`:  `"a \"b\" 'c'\nd"`,
		`r'\d+'`:                        `"\\d+"`,
		"'a\\\nb'":                      `"ab"`,
		`[0x1f, 0b11, 0o17, 1_000, .5]`: `[31,3,15,1000,0.5]`,
		"[1, # one\n 2]":                `[1,2]`,
		`[true, null]`:                  `[true,null]`,
		`'\a\v\0'`:                      `"\u0007\u000b\u0000"`,
		`"\ud83d\ude00"`:                `"\ud83d\ude00"`,
		`+1`:                            `1`,
	} {
		value, end, err := pyliteral.Read(text, 0)
		require.Nil(t, err, text)
		require.Equal(t, want, value)
		require.Equal(t, len(text), end)
		require.True(t, json.Valid([]byte(value)))
	}
}

func TestPyLiteralRefuses(t *testing.T) {
	for _, text := range []string{
		``, `x`, `{'a'}`, `{'a', 'b'}`, `b'x'`, `f'{x}'`, `'a`, "'a\nb'", `'a' 'b`, `[1 2]`, `[1,,2]`, `{'a': 1, 'a': 2}`, `1j`, `01`, `0x`, `nan`,
		`{[1]: 2}`, `{'a': x}`, `[1}`, `'\x4'`, `'\N{DASH}'`, `'\U00110000'`, `{'a': datetime(1)}`, `--1`, strings.Repeat("[", 10_001),
	} {
		value, end, err := pyliteral.Read(text, 0)
		if err == nil {
			require.Less(t, end, len(text), "%s became %s", text, value)
			continue
		}
		require.NotEmpty(t, err.Expected)
	}
}

func TestPyLiteralDeep(t *testing.T) {
	text := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	value, _, err := pyliteral.Read(text, 0)
	require.Nil(t, err)
	require.Equal(t, text, value)
}

func FuzzPyLiteral(f *testing.F) {
	for _, seed := range []string{`{'a': True, "b": (1, 2.5)}`, `'''x'''`, `r"\d"`, `[0x1f, 1_0,]`, "'\\\n\\x41\\777'", `{1: None}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, end, err := pyliteral.Read(text, 0)
		require.True(t, end >= 0 && end <= len(text))
		if err == nil {
			require.True(t, json.Valid([]byte(value)), "%q became %q", text, value)
		}
	})
}
