package segue

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// letter has a field of every kind.
type letter struct {
	To     string
	Copies int
	Weight float64
	Urgent bool
	Parts  []part
	Notes  map[string]string
	Reply  *part
	At     time.Time
	Raw    []byte
}

type part struct {
	Text  string
	Pages []int
}

func letters() *rapid.Generator[letter] {
	parts := rapid.Custom(func(t *rapid.T) part {
		return part{rapid.String().Draw(t, "text"), rapid.SliceOfN(rapid.Int(), 0, 3).Draw(t, "pages")}
	})
	return rapid.Custom(func(t *rapid.T) letter {
		l := letter{
			To: rapid.String().Draw(t, "to"), Copies: rapid.Int().Draw(t, "copies"), Weight: rapid.Float64().Draw(t, "weight"),
			Urgent: rapid.Bool().Draw(t, "urgent"), Parts: rapid.SliceOfN(parts, 0, 3).Draw(t, "parts"),
			Notes: rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "notes"),
			At:    time.Unix(rapid.Int64Range(0, 1e10).Draw(t, "at"), 0).UTC(), Raw: rapid.SliceOf(rapid.Byte()).Draw(t, "raw"),
		}
		if rapid.Bool().Draw(t, "reply") {
			p := parts.Draw(t, "reply to")
			l.Reply = &p
		}
		return l
	})
}

// Of an answer that is cut anywhere, what is read is a beginning of the whole, and of what is read
// next.
func TestPartial_beginsTheAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := letters().Draw(t, "letter")
		text, err := json.Marshal(want)
		require.NoError(t, err)
		whole := string(text)
		if rapid.Bool().Draw(t, "fenced") {
			whole = "\n```json\n" + whole + "\n```"
		}
		var r reader
		var last letter
		for i := range len(whole) {
			r.write(whole[i : i+1])
			r.next = 0
			now, ok := readCertain[letter](&r)
			if !ok {
				continue
			}
			require.NoError(t, begins(reflect.ValueOf(last), reflect.ValueOf(now)), whole[:i+1])
			require.NoError(t, begins(reflect.ValueOf(now), reflect.ValueOf(want)), whole[:i+1])
			last = now
		}
		again, err := json.Marshal(last)
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	})
}

type difference string

func (d difference) Error() string { return string(d) }

// begins says where a is no beginning of b.
func begins(a, b reflect.Value) error {
	switch {
	case a.IsZero():
		return nil
	case a.Type() == reflect.TypeFor[time.Time]():
	case a.Kind() == reflect.String:
		if strings.HasPrefix(b.String(), a.String()) {
			return nil
		}
	case a.Kind() == reflect.Pointer && !b.IsNil():
		return begins(a.Elem(), b.Elem())
	case a.Kind() == reflect.Slice && a.Len() <= b.Len():
		for i := range a.Len() {
			if err := begins(a.Index(i), b.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case a.Kind() == reflect.Map:
		for _, k := range a.MapKeys() {
			if !b.MapIndex(k).IsValid() {
				return difference(k.String())
			}
			if err := begins(a.MapIndex(k), b.MapIndex(k)); err != nil {
				return err
			}
		}
		return nil
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			if err := begins(a.Field(i), b.Field(i)); err != nil {
				return err
			}
		}
		return nil
	default: // compared below
	}
	if !reflect.DeepEqual(a.Interface(), b.Interface()) {
		return difference(a.String() + " is no beginning of " + b.String())
	}
	return nil
}

// Reading takes time in the length of the answer, however small the pieces are.
func TestPartial_isLinear(t *testing.T) {
	for _, n := range []int{1000, 10_000, 200_000} {
		text := `{"Text":"` + strings.Repeat("a", n) + `","Pages":[1`
		var r reader
		reads := 0
		for i := range len(text) {
			r.write(text[i : i+1])
			if _, ok := readCertain[part](&r); ok {
				reads++
			}
		}
		require.Less(t, r.parsed, 80*len(text))
		require.Greater(t, reads, 100)
	}
}
