package tools

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// reference decodes a text with encoding/json.
func reference(text string) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v) == nil && json.Valid([]byte(text))
}

func TestParseProblems(t *testing.T) {
	for text, want := range map[string]string{
		``:                 "not JSON: unexpected end at byte 0",
		`{"path": `:        "not JSON: unexpected end at byte 9",
		`{"path"`:          "not JSON: unexpected end at byte 7",
		`{"a":1,}`:         "not JSON: unexpected '}' at byte 7",
		`{"a" 1}`:          "not JSON: unexpected '1' at byte 5",
		`{a:1}`:            "not JSON: unexpected 'a' at byte 1",
		`[1,]`:             "not JSON: unexpected ']' at byte 3",
		`[1 2]`:            "not JSON: unexpected '2' at byte 3",
		`[1`:               "not JSON: unexpected end at byte 2",
		`"abc`:             "not JSON: unexpected end at byte 4",
		`"abc\`:            "not JSON: unexpected end at byte 5",
		"\"a\nb\"":         `not JSON: unexpected '\n' at byte 2`,
		`"\x"`:             "not JSON: a bad escape in the string at byte 0",
		`"\u12"`:           "not JSON: a bad escape in the string at byte 0",
		`nul`:              "not JSON: unexpected end at byte 3",
		`nulx`:             "not JSON: unexpected 'x' at byte 3",
		`01`:               "not JSON: unexpected '1' at byte 1",
		`-`:                "not JSON: unexpected end at byte 1",
		`1.`:               "not JSON: unexpected end at byte 2",
		`1e`:               "not JSON: unexpected end at byte 2",
		`+1`:               "not JSON: unexpected '+' at byte 0",
		`{} {}`:            "not JSON: unexpected '{' at byte 3",
		`日`:                "not JSON: unexpected '日' at byte 0",
		"\x00":             `not JSON: unexpected '\x00' at byte 0`,
		`1e999`:            "the number at byte 0 is too long",
		`[1e-99999999999]`: "the number at byte 1 is too long",
		`{"a":1,"a":2}`:    `"a" stands twice in an object`,
		`{"a":1,"\u0061":`: `"a" stands twice in an object`,
	} {
		_, problem := parse([]byte(text))
		require.NotNil(t, problem, text)
		require.Equal(t, want, problem.Message, text)
	}
}

// A text beyond the limits is refused before much is built from it: the number of allocated bytes
// hardly depends on the text.
func TestParseBounds(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"10,000 lists":    {strings.Repeat("[", 10_000), "nested deeper than 64 levels"},
		"10,000 objects":  {strings.Repeat(`{"a":`, 10_000), "nested deeper than 64 levels"},
		"many values":     {"[" + strings.Repeat("0,", 1<<19) + "0]", "more than 100000 values"},
		"a long number":   {strings.Repeat("9", 1<<20), "the number at byte 0 is too long"},
		"a long fraction": {"0." + strings.Repeat("9", 1<<20), "the number at byte 0 is too long"},
		"blanks":          {strings.Repeat(" ", 1<<20), "unexpected end"},
		"quotes":          {strings.Repeat(`"`, 1<<20), "unexpected '\"' at byte 2"},
		"backslashes":     {`"` + strings.Repeat(`\`, 1<<20), "unexpected end"},
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte(tt.text)
			_, problem := parse(text)
			require.NotNil(t, problem)
			require.Contains(t, problem.Message, tt.want)
			require.Less(t, testing.AllocsPerRun(1, func() { _, _ = parse(text) }), 4.0*maxValues)
		})
	}
	_, problem := parse([]byte(strings.Repeat("[", 64) + strings.Repeat("]", 64)))
	require.Nil(t, problem)
	_, problem = parse([]byte(strings.Repeat("9", 400) + "e400"))
	require.NotNil(t, problem)
	_, problem = parse([]byte(strings.Repeat("9", 300) + "e400"))
	require.Nil(t, problem)
}

// agree compares parse with encoding/json, and plain schemas with the validator.
func agree(t require.TestingT, text string) {
	want, valid := reference(text)
	got, problem := parse([]byte(text))
	switch {
	case problem == nil:
		require.True(t, valid, "%q", text)
		require.Equal(t, want, got, "%q", text)
	case strings.HasPrefix(problem.Message, "not JSON"):
		require.False(t, valid, "%q: %v", text, problem)
	default: // beyond a limit, or a repeated name
	}
	require.True(t, problem == nil || utf8.ValidString(problem.Message))
	for _, s := range plainSchemas {
		if s.plain.accepts([]byte(text)) {
			require.Nil(t, problem)
			require.NoError(t, s.bounded.Validate(context.Background(), got), "%q", text)
		}
	}
}

var plainSchemas = func() (compiled []*Schema) {
	for _, text := range []string{
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":["null","string"]},"c":{"type":"array","items":{"type":"number"}}},
		  "required":["a"],"additionalProperties":false}`,
		`{"type":"array","items":{"type":"object","properties":{"a":{"type":"boolean"}},"additionalProperties":false}}`,
		`{"type":["integer","boolean","null"]}`, `{"type":"string","description":"x"}`,
	} {
		s, err := CompileSchema(json.RawMessage(text))
		if err != nil || s.plain == nil {
			panic(text)
		}
		compiled = append(compiled, s)
	}
	return compiled
}()

func TestPlainSchemaAccepts(t *testing.T) {
	for i, texts := range [][]string{
		{`{"a":1}`, ` { "c" : [ 1.5 , -2e3 ] , "a" : -0, "b":null } `, `{"b":"\n","a":12345678901234567890}`, `{"a":1,"c":[]}`},
		{`[]`, `[{},{"a":true},{"a":false}]`},
		{`1`, `true`, `null`},
		{`"x"`},
	} {
		for _, text := range texts {
			require.True(t, plainSchemas[i].plain.accepts([]byte(text)), text)
		}
	}
}

// A schema with a keyword that plainSchema does not support has no plainSchema.
func TestPlainSchemaKnowsItsLimits(t *testing.T) {
	for _, schema := range []string{
		`{}`, `true`, `{"type":"object"}`, `{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"array"}`,
		`{"type":["number","integer"]}`, `{"type":"integer","minimum":0}`, `{"type":"string","enum":["a"]}`, `{"type":"string","const":"a"}`,
		`{"type":"string","pattern":"a"}`, `{"type":"string","maxLength":1}`, `{"type":"number","multipleOf":2}`, `{"type":"string","not":{}}`,
		`{"type":"object","properties":{"a":{"minimum":1}},"additionalProperties":false}`,
		`{"type":"object","required":["a"],"additionalProperties":false}`,
		`{"type":"object","minProperties":1,"additionalProperties":false}`,
		`{"type":"array","items":{"type":"string"},"uniqueItems":true}`, `{"type":"array","items":{"type":"string"},"minItems":1}`,
		`{"type":"array","prefixItems":[{"type":"null"}],"items":{"type":"string"}}`,
		`{"$defs":{"a":{"type":"string"}},"$ref":"#/$defs/a","type":"string"}`, `{"type":"string","anyOf":[{"minLength":1}]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":{"type":"string"}}`,
		`{"type":"object","if":{"required":["a"]},"then":false,"additionalProperties":false}`,
		`{"type":"object","propertyNames":{"maxLength":1},"additionalProperties":false}`,
		`{"type":"object","patternProperties":{"a":{}},"additionalProperties":false}`,
		`{"type":"object","dependentRequired":{"a":["b"]},"additionalProperties":false}`,
	} {
		s, err := CompileSchema(json.RawMessage(schema))
		require.NoError(t, err, schema)
		require.Nil(t, s.plain, schema)
	}
}

func TestParseAgreesWithEncodingJSON(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `,`, `:`, `"a"`, `"b"`, `"c"`, `"\u0061"`, `"\ud800"`, `1`, `-1`, `0`, `1.5`, `1e3`, `2E-1`, `true`, `false`, `null`,
		` `, "\n", `"a":1`, `"c":[`, `tru`, `"`, `\`, "\xff", `.`, `e`,
	})
	rapid.Check(t, func(t *rapid.T) {
		agree(t, strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), ""))
	})
}

// The cases of JSONTestSuite, where the corpus is present, and ours in its form: y_ must parse, n_
// must not.
func TestParseSuite(t *testing.T) {
	for _, c := range []struct {
		name, file string
		least      int
	}{
		{"ours", "../testdata/recorded/json/jsontestsuite.jsonl", 50},
		{"JSONTestSuite", "../../shared/corpus/json/jsontestsuite.jsonl", 101},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := os.ReadFile(c.file)
			if errors.Is(err, fs.ErrNotExist) && c.name != "ours" {
				t.Skip("the corpus with the cases of JSONTestSuite is not at ../shared/corpus, beside the repository")
			}
			require.NoError(t, err)
			n := 0
			for line := range bytes.Lines(data) {
				parseCase(t, line)
				n++
			}
			require.GreaterOrEqual(t, n, c.least)
		})
	}
}

// parseCase parses the text of a line of JSONTestSuite.
func parseCase(t *testing.T, line []byte) {
	var c struct{ Name, Text, Base64 string }
	require.NoError(t, json.Unmarshal(line, &c))
	text := c.Text
	if c.Base64 != "" {
		raw, err := base64.StdEncoding.DecodeString(c.Base64)
		require.NoError(t, err)
		text = string(raw)
	}
	agree(t, text)
	_, problem := parse([]byte(text))
	require.False(t, problem != nil && strings.HasPrefix(c.Name, "y_") && !strings.Contains(problem.Message, "twice"), c.Name)
	require.False(t, problem == nil && strings.HasPrefix(c.Name, "n_"), c.Name)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":null,"c":[1.5]}`, `[{"a":true}]`, `"\ud800"`, "\"\xff\"", `{"a":`, `1e400`, `{"a":1,"a":1}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { agree(t, text) })
}
