package jsonscan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
)

// fragments are pieces of JSON, and pieces that break it.
var fragments = []string{
	"{", "}", "[", "]", `"`, `"a"`, `"b":`, ":", ",", " ", "\n", "1", "-2.5e3", "true", "null", "tru", `\`, `\"`, `"\u00e9"`, `"\u12`, `"\q"`, "\x01", "é", `{"a":`, `[1,`, `{}`, `"{"`, "'", "x",
}

var text = rapid.Custom(func(t *rapid.T) string {
	return rapid.SampledFrom([]string{"{", "["}).Draw(t, "bracket") + strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 20).Draw(t, "fragments"), "")
})

// TestScanAgreesWithJSON compares a scan, whole and in pieces, with encoding/json. The scan ends
// where the first value does, and stops at the first byte that cannot continue a valid value.
// Numbers and constants are examined once they have ended.
func TestScanAgreesWithJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := text.Draw(t, "text")
		var s jsonscan.Scanner
		s.Begin(0)
		at, state := s.Scan(text)
		var value json.RawMessage
		decoder := json.NewDecoder(strings.NewReader(text))
		err := decoder.Decode(&value)
		switch state {
		case jsonscan.Done:
			require.NoError(t, err, text)
			require.Equal(t, int(decoder.InputOffset()), at, text)
			require.Equal(t, text[:at], string(value))
		case jsonscan.More:
			begun := strings.TrimRight(text, "+-.0123456789eEtrufalsn")
			require.ErrorContains(t, json.NewDecoder(strings.NewReader(begun)).Decode(&value), "EOF", text)
			require.Equal(t, len(text), at)
		case jsonscan.Invalid:
			require.Error(t, err, text)
			require.NotContains(t, err.Error(), "EOF", text)
		}
		var pieces jsonscan.Scanner
		pieces.Begin(0)
		for end := range len(text) + 1 {
			pieces.Scan(text[:end])
		}
		again, stateAgain := pieces.Scan(text)
		require.Equal(t, state, stateAgain, text)
		require.Equal(t, at, again, text)
	})
}

// TestEndGoesOnWhereScanStopped shows that End counts brackets and strings in the same way, whether
// Scan has read the text before or not.
func TestEndGoesOnWhereScanStopped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := text.Draw(t, "text")
		alone, behind := jsonscan.At(0), jsonscan.At(0)
		behind.Scan(text[:rapid.IntRange(0, len(text)).Draw(t, "scanned")])
		end, ok := alone.End(text)
		again, okAgain := behind.End(text)
		require.Equal(t, ok, okAgain, text)
		require.Equal(t, end, again, text)
	})
}

// TestEndsAreThoseOfScans asks for the end at each bracket in turn. The result is the same whether
// or not an earlier scan of an enclosing value has read the bracket.
func TestEndsAreThoseOfScans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := text.Draw(t, "text")
		var ends jsonscan.Ends
		for at := range len(text) {
			if text[at] != '{' && text[at] != '[' {
				continue
			}
			end, state := ends.End(text, at)
			if state == jsonscan.Done {
				require.True(t, json.Valid([]byte(text[at:end])), "%q at %d", text, at)
			}
		}
	})
}

func TestMembersElementsObjects(t *testing.T) {
	var keys, values []string
	for key, value := range jsonscan.Members(`{ "a" : [1, {"b":"}"}] , "\u0062":"x\"" }`) {
		keys, values = append(keys, key), append(values, value)
	}
	require.Equal(t, []string{"a", "b"}, keys)
	require.Equal(t, []string{`[1, {"b":"}"}]`, `"x\""`}, values)

	var places []int
	values = nil
	for at, value := range jsonscan.Elements(`[ 1, "," ,[2]]`) {
		places, values = append(places, at), append(values, value)
	}
	require.Equal(t, []int{2, 5, 10}, places)
	require.Equal(t, []string{"1", `","`, "[2]"}, values)

	objects, places := jsonscan.Objects(`{"a":1} {b}, {}`)
	require.Equal(t, []string{`{"a":1}`, "{b}", "{}"}, objects)
	require.Equal(t, []int{0, 8, 13}, places)
	for _, row := range []string{`{"a":1} x`, `[{}, 1]`, `{"a":`, "1"} {
		objects, _ = jsonscan.Objects(row)
		require.Empty(t, objects, row)
	}
}
