package checkpoint_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
)

// What reads as a cursor is written and read again as the same place.
func FuzzCursor(f *testing.F) {
	for _, c := range []checkpoint.Cursor{
		{},
		{Created: time.Unix(3, 4), Key: checkpoint.Key{Namespace: "acme", Run: "r"}},
	} {
		text, err := c.MarshalText()
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte("e30"))
	f.Add([]byte("eyJyIjoiXHVkODAwIn0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		read := checkpoint.Cursor{Key: checkpoint.Key{Run: "before"}}
		if read.UnmarshalText(text) != nil {
			require.True(t, read.IsZero(), "a text that is no cursor leaves none")
			return
		}
		once, err := read.MarshalText()
		require.NoError(t, err)
		var again checkpoint.Cursor
		require.NoError(t, again.UnmarshalText(once))
		require.Equal(t, read, again)
	})
}

// What reads as a header is written and read again as the same header.
func FuzzHeader(f *testing.F) {
	for _, h := range everyHeader {
		text, err := json.Marshal(h)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(`{"status":"later","due":"0000-01-01T00:00:00+02:00","waits":[null,{}],"labels":{"":""},"origin":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var read, again checkpoint.Header
		if json.Unmarshal(text, &read) != nil {
			return
		}
		_ = read.Status.Ended()
		once, err := json.Marshal(read)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(once, &again))
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}
