package jsonprefix_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/internal/jsonprefix"
)

func TestScanner_Complete(t *testing.T) {
	for text, want := range map[string][2]string{ // with open strings, and without
		``:                           {"", ""},
		` `:                          {"", ""},
		`no`:                         {"", ""},
		`12 `:                        {"", ""},
		`"a`:                         {"", ""},
		` {`:                         {" {}", " {}"},
		`{"a`:                        {`{}`, `{}`},
		`{"a\"`:                      {`{}`, `{}`},
		`{"a" : `:                    {`{}`, `{}`},
		`{"a":"`:                     {`{"a":""}`, `{}`},
		`{"a":"b`:                    {`{"a":"b"}`, `{}`},
		`{"a":"b\`:                   {`{"a":"b"}`, `{}`},
		`{"a":"b\"`:                  {`{"a":"b\""}`, `{}`},
		`{"a":"b\\`:                  {`{"a":"b\\"}`, `{}`},
		`{"a":"b\u00e`:               {`{"a":"b"}`, `{}`},
		`{"a":"b\u00e9`:              {`{"a":"b\u00e9"}`, `{}`},
		`{"a":"b\ud83d`:              {`{"a":"b"}`, `{}`},
		`{"a":"b\ud83d\`:             {`{"a":"b"}`, `{}`},
		`{"a":"b\ud83d\ude0`:         {`{"a":"b"}`, `{}`},
		`{"a":"b\ud83d\ude00`:        {`{"a":"b\ud83d\ude00"}`, `{}`},
		`{"a":"b\ud83d!`:             {`{"a":"b\ud83d!"}`, `{}`},
		`{"a":"b\ud83d\ud83d`:        {`{"a":"b\ud83d"}`, `{}`},
		"{\"a\":\"b\xe2\x82":         {`{"a":"b"}`, `{}`},
		"{\"a\":\"b\xe2\x82\xac":     {`{"a":"b€"}`, `{}`},
		`{"a":"b"`:                   {`{"a":"b"}`, `{"a":"b"}`},
		`{"a":"b",`:                  {`{"a":"b"}`, `{"a":"b"}`},
		`{"a":1`:                     {`{}`, `{}`},
		`{"a":1 `:                    {`{"a":1}`, `{"a":1}`},
		`{"a":1,"b":-2.5e`:           {`{"a":1}`, `{"a":1}`},
		`{"a":tru`:                   {`{}`, `{}`},
		`{"a":true`:                  {`{"a":true}`, `{"a":true}`},
		`{"a":nul`:                   {`{}`, `{}`},
		`{"a":[1,2`:                  {`{"a":[1]}`, `{"a":[1]}`},
		`{"a":["x",{"b":"y`:          {`{"a":["x",{"b":"y"}]}`, `{"a":["x",{}]}`},
		`{"a":[[`:                    {`{"a":[[]]}`, `{"a":[[]]}`},
		`{"a":{"b":{}},"c`:           {`{"a":{"b":{}}}`, `{"a":{"b":{}}}`},
		"{\"a\":\"b\"}\n```":         {`{"a":"b"}`, `{"a":"b"}`},
		`["a","b`:                    {`["a","b"]`, `["a"]`},
		`{"a":1]`:                    {`{"a":1}`, `{"a":1}`},
		`{a`:                         {`{}`, `{}`},
		`{"a":"}{","b":"\\","c":"\"`: {`{"a":"}{","b":"\\","c":"\""}`, `{"a":"}{","b":"\\"}`},
	} {
		var s jsonprefix.Scanner
		s.Write(text)
		require.Equal(t, want[0], string(s.Complete(true)), text)
		require.Equal(t, want[1], string(s.Complete(false)), text)
		require.Equal(t, len(text), s.Len())
	}
}

// Of JSON that is cut anywhere, what is certain is a beginning of the whole, and never shrinks.
func TestScanner_beginsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(object(4).Draw(t, "value"))
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "indented") {
			var b bytes.Buffer
			require.NoError(t, json.Indent(&b, text, " ", "\t"))
			text = b.Bytes()
		}
		cuts(t, string(text))
	})
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{`{"a":"b\ud83d\ude00\n","c":[1,-2.5e3,true,null,{"a":"é"}]}`, `[[],{}]`, `{"a":1,"a":"2"}`, `{"a":"\ud83d\ud83d"}`, "{\"\xe2\":\"\xe2\xe2\x82\xac\"}", `{,}`, `{"a":]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if trimmed := strings.TrimLeft(text, " \t\r\n"); json.Valid([]byte(text)) && trimmed[0] != '"' && len(trimmed) < 1000 && (trimmed[0] == '{' || trimmed[0] == '[') {
			cuts(t, text)
			return
		}
		var whole, pieces jsonprefix.Scanner
		whole.Write(text)
		for i := range len(text) {
			pieces.Write(text[i : i+1])
			pieces.Complete(i%2 == 0)
		}
		require.Equal(t, whole.Complete(true), pieces.Complete(true))
		require.Equal(t, whole.Complete(false), pieces.Complete(false))
	})
}

// cuts holds what is certain of each beginning of a text against what is certain of the next, and
// in the end against the text.
func cuts(t require.TestingT, text string) {
	var s jsonprefix.Scanner
	last := [2]any{}
	for i := range len(text) {
		s.Write(text[i : i+1])
		for j, open := range []bool{true, false} {
			now := s.Complete(open)
			if now == nil {
				require.Nil(t, last[j])
				continue
			}
			read := ordered(t, now)
			require.True(t, begins(last[j], read), "%s: %s", text[:i+1], now)
			last[j] = read
		}
		require.True(t, begins(last[1], last[0]))
	}
	require.Equal(t, ordered(t, []byte(text)), last[0])
	require.Equal(t, last[0], last[1])
}

// member is a member of an object.
type member struct {
	name  string
	value any
}

// ordered reads JSON with its members in their order.
func ordered(t require.TestingT, text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.True(t, json.Valid(text), "%s", text)
	return read(t, d)
}

func read(t require.TestingT, d *json.Decoder) any {
	token, err := d.Token()
	require.NoError(t, err)
	switch token {
	case json.Delim('{'):
		list := []member{}
		for d.More() {
			name, err := d.Token()
			require.NoError(t, err)
			list = append(list, member{name.(string), read(t, d)})
		}
		_, err = d.Token()
		require.NoError(t, err)
		return list
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, read(t, d))
		}
		_, err = d.Token()
		require.NoError(t, err)
		return list
	default:
		return token
	}
}

// begins reports whether a is a beginning of b.
func begins(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return true
	case []member:
		b, ok := b.([]member)
		if !ok || len(a) > len(b) {
			return false
		}
		for i, m := range a {
			if m.name != b[i].name || !begins(m.value, b[i].value) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) > len(b) {
			return false
		}
		for i, v := range a {
			if !begins(v, b[i]) {
				return false
			}
		}
		return true
	case string:
		b, ok := b.(string)
		return ok && strings.HasPrefix(b, a)
	default:
		return a == b
	}
}

// object draws an object with values of every kind.
func object(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.String(), anything(depth-1), 0, 4)
}

func anything(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.String().AsAny(), rapid.Float64().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
		rapid.SampledFrom([]string{"😀", "\\", "\"", "\u2028", "é\n"}).AsAny(),
	}
	if depth > 0 {
		kinds = append(kinds, object(depth).AsAny(), rapid.SliceOfN(anything(depth-1), 0, 4).AsAny())
	}
	return rapid.OneOf(kinds...)
}
