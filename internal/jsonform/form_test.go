package jsonform_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/internal/jsonform"
)

type inner struct {
	Name string `json:"name"`
	Size int    `json:"size,omitempty"`
}

type Base struct {
	At     time.Time `json:"at"`
	Hidden string    `json:"value,omitempty"`
}

type outer struct {
	Base
	Value  json.RawMessage  `json:"value,omitempty"`
	One    *inner           `json:"one,omitempty"`
	List   []inner          `json:"list,omitempty"`
	Table  map[string]inner `json:"table,omitempty"`
	Plain  []string         `json:"plain,omitzero"`
	secret string
	Skip   string `json:"-"`
}

var form = jsonform.Of[outer]()

func TestForm_reads(t *testing.T) {
	got, err := form.Read([]byte(`{"at":"2026-01-02T03:04:05Z","value":{"any":1},"one":{"name":"a"},"list":[{"name":"b","size":2}],"table":{"k":{"name":"c"}},"plain":["x"]}`))
	require.NoError(t, err)
	require.Equal(t, outer{
		Base:  Base{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		Value: json.RawMessage(`{"any":1}`), One: &inner{Name: "a"}, List: []inner{{"b", 2}}, Table: map[string]inner{"k": {Name: "c"}}, Plain: []string{"x"},
	}, got)
	require.Empty(t, got.secret)
}

func TestForm_refuses(t *testing.T) {
	for data, want := range map[string]string{
		`{`:     "unexpected end of JSON input",
		`{} {}`: "invalid character '{' after top-level value",
		`null`:  "it is no object",
		`{"at":"2026-01-02T03:04:05Z","list":[null]}`: `the field "list[0]" cannot be read: it is no object`,
		`[]`:                                     "it is no object",
		`{}`:                                     `the field "at" is missing`,
		`{"at":null}`:                            `the field "at" is missing`,
		`{"AT":"2026-01-02T03:04:05Z"}`:          `the field "AT" is unknown`,
		`{"at":"2026-01-02T03:04:05Z","x":1}`:    `the field "x" is unknown`,
		`{"at":"2026-01-02T03:04:05Z","Skip":1}`: `the field "Skip" is unknown`,
		`{"at":"2026-01-02T03:04:05Z","one":{}}`: `the field "one.name" is missing`,
		`{"at":"2026-01-02T03:04:05Z","list":[{"name":"a"},{"name":"b","x":1}]}`: `the field "list[1].x" is unknown`,
		`{"at":"2026-01-02T03:04:05Z","table":{"k":{"Name":""}}}`:                `the field "table.k.Name" is unknown`,
		`{"at":"2026-01-02T03:04:05Z","list":7}`:                                 `the field "list" cannot be read: it is no list`,
	} {
		_, err := form.Read([]byte(data))
		require.ErrorContains(t, err, want, data)
	}
}

// AppendString writes text that encoding/json reads back unchanged, except for bytes that are not
// UTF-8.
func TestAppendString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		if rapid.Bool().Draw(t, "valid") {
			text = rapid.String().Draw(t, "words")
		}
		var got string
		require.NoError(t, json.Unmarshal(jsonform.AppendString(nil, text), &got))
		require.Equal(t, string([]rune(text)), got)
	})
}
