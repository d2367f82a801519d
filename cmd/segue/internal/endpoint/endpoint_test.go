package endpoint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSameServer(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"https://api.openai.com/v1", "https://API.openai.com:443/other", true},
		{"http://h", "http://h:80/x", true},
		{"http://h", "https://h", false},
		{"https://h", "https://h:8443", false},
		{"https://h", "https://h.evil.com", false},
		{"https://h", "https://user@h", true},
		{"https://h@evil.com", "https://h", false},
		{"http://[::1]:80", "http://[::1]", true},
		{"", "", false},
		{"::", "::", false},
		{"https:///x", "https:///x", false},
	} {
		require.Equal(t, tt.want, sameServer(tt.a, tt.b), "%s %s", tt.a, tt.b)
	}
}
