package jsonform_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/internal/jsonform"
)

type counted struct {
	N     int64           `json:"n"`
	Small int8            `json:"small"`
	U     uint64          `json:"u"`
	P     **int           `json:"p"`
	List  []int           `json:"list"`
	Pair  [2]int          `json:"pair"`
	Bytes []byte          `json:"bytes"`
	Table map[string]uint `json:"table"`
	Keys  map[int]int     `json:"keys"`
	Deep  []map[string]struct{ V, W int }
	F     float64         `json:"f"`
	Num   json.Number     `json:"num"`
	Any   any             `json:"any"`
	Raw   json.RawMessage `json:"raw"`
	Own   money           `json:"own"`
	Text  string          `json:"text"`
	Quote int             `json:"quote,string"`
	Wait  time.Duration   `json:"wait"`
	Skip  int             `json:"-"`
	within
	*Page
	Named Page `json:"named"`
}

type within struct{ Inside int }

type Page struct {
	Number int         `json:"number"`
	Num    int         `json:"num"` // counted has a field of that name
	Other  json.Number `json:"other"`
	*Page              // encoding/json never reads this one
}

// money reads its own JSON, and keeps how it was written.
type money string

func (m *money) UnmarshalJSON(text []byte) error { *m = money(text); return nil }

func TestDecode_wholeNumbers(t *testing.T) {
	decode := func(text string) (counted, error) {
		var v counted
		err := jsonform.Decode([]byte(text), &v, true)
		return v, err
	}
	four := 4
	pointer := &four
	for text, want := range map[string]counted{
		`{"n":5.0}`:                      {N: 5},
		`{"n":5.0000}`:                   {N: 5},
		`{"n":1e3}`:                      {N: 1000},
		`{"n":1E+3}`:                     {N: 1000},
		`{"n":1.5e1}`:                    {N: 15},
		`{"n":-2500e-2}`:                 {N: -25},
		`{"n":-0.0}`:                     {},
		`{"n":0e999999999999999999999}`:  {},
		`{"u":-0}`:                       {},
		`{"n":9007199254740993.0}`:       {N: 9007199254740993},
		`{"n":9223372036854775807.0}`:    {N: math.MaxInt64},
		`{"n":-9.223372036854775808e18}`: {N: math.MinInt64},
		`{"u":18446744073709551615.0}`:   {U: math.MaxUint64},
		`{"small":1.27e2}`:               {Small: 127},
		`{"N":5.0}`:                      {N: 5}, // encoding/json ignores the case
		`{"p":4.0}`:                      {P: &pointer},
		`{"list":[1,2.0,3e0]}`:           {List: []int{1, 2, 3}},
		`{"pair":[1.0,2.0]}`:             {Pair: [2]int{1, 2}},
		`{"bytes":[104.0,105]}`:          {Bytes: []byte("hi")},
		`{"table":{"5.0":1.0,"b":2e0}}`:  {Table: map[string]uint{"5.0": 1, "b": 2}},
		`{"keys":{"5":1.0}}`:             {Keys: map[int]int{5: 1}},
		`{"Deep":[{"a":{"V":1.0,"W":2}},{"b":{"w":3.0}}]}`: {Deep: []map[string]struct{ V, W int }{{"a": {1, 2}}, {"b": {0, 3}}}},
		`{"wait":1e9}`:             {Wait: time.Second},
		`{"Inside":5.0}`:           {within: within{5}},
		`{"number":5.0}`:           {Page: &Page{Number: 5}},
		`{"named":{"number":5.0}}`: {Named: Page{Number: 5}},

		// Where an integer stands as 1.0, nothing else changes its digits.
		`{"n":1.0,"f":5.0,"num":5.0,"any":[5.0,{"n":1e3}],"raw":{"n":5.0},"own":5.00,"text":"5.0 \"n\":1e3","quote":"7"}`: {
			N: 1, F: 5, Num: "5.0", Any: []any{json.Number("5.0"), map[string]any{"n": json.Number("1e3")}},
			Raw: json.RawMessage(`{"n":5.0}`), Own: "5.00", Text: `5.0 "n":1e3`, Quote: 7,
		},
		`{"n":1.0,"other":5.0,"unknown":2.0,"f":-0.0}`: {N: 1, F: math.Copysign(0, -1), Page: &Page{Other: "5.0"}},
		" {\"n\" : 5.0 , \"list\" : [ 6.0 ] } ":        {N: 5, List: []int{6}},
	} {
		got, err := decode(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, field := range map[string]string{
		`{"n":5.5}`: "n", `{"n":1e-1}`: "n", `{"n":1e400}`: "n", `{"n":1e99999999999999999999}`: "n", `{"n":1e1000000000}`: "n",
		`{"n":9223372036854775808.0}`: "n", `{"n":9223372036854775807.5}`: "n", `{"small":128.0}`: "small", `{"u":-1.0}`: "u",
		`{"n":"5.0"}`: "n", `{"list":[1.0,2.5]}`: "list", `{"Named":{"number":5.5},"n":1.0}`: "named.number", `{"n":[1.0]}`: "n", `{"n":true}`: "n",
	} {
		_, err := decode(text)
		var e *json.UnmarshalTypeError
		require.ErrorAs(t, err, &e, text)
		require.Equal(t, field, e.Field, text)
	}
	for _, text := range []string{``, `{"n":5.0`, `{"n":5.}`, `{"n":05.0}`, `{"n":5.0}x`} {
		var e *json.SyntaxError
		require.ErrorAs(t, jsonform.Decode([]byte(text), &counted{}, false), &e, text)
	}
	require.Error(t, jsonform.Decode([]byte(`5.0`), nil, false))
	require.Error(t, jsonform.Decode([]byte(`5.0`), 5, false))
	var n uint8
	require.NoError(t, jsonform.Decode([]byte(`5.0`), &n, false))
	require.Equal(t, uint8(5), n)
}

// A number becomes an integer exactly where it is one.
func TestDecode_isExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		exact, ok := new(big.Rat).SetString(text)
		require.True(t, ok)
		var n int64
		err := jsonform.Decode([]byte(text), &n, false)
		if !exact.IsInt() || !exact.Num().IsInt64() {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, exact.Num().Int64(), n)
	})
}

func TestDecode_isLinear(t *testing.T) {
	var list []struct{ N int }
	text := "[" + strings.Repeat(`{"N":5.0},`, 200_000) + `{"N":6.0}]`
	require.NoError(t, jsonform.Decode([]byte(text), &list, false))
	require.Len(t, list, 200_001)
	require.Equal(t, 6, list[200_000].N)
}
