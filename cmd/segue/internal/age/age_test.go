package age

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "90s": 90 * time.Second, "12h": 12 * time.Hour, "30d": DefaultKeep, "8w": 56 * 24 * time.Hour, "36500d": 36500 * 24 * time.Hour,
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "d", "30", "-1d", "1.5h", "30 d", "30days", "36501d", "99999999999999999999d", "1y"} {
		_, err := Parse(text)
		require.ErrorContains(t, err, "must be an age", text)
	}
}
