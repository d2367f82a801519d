package openaichat_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Content that is JSON, as Cloudflare writes it for a json_schema, is the answer's text.
func TestContent_otherThanText(t *testing.T) {
	for content, want := range map[string]string{
		`{"city": "Bern"}`: `{"city": "Bern"}`, `42`: `42`, `-1.5e3`: `-1.5e3`, `true`: `true`, `false`: `false`, `{}`: `{}`, `null`: ``, `"Bern"`: `Bern`,
	} {
		resp, err := askWhole(t, sayJSON(t, whole(`"content":`+content, `"stop"`)))
		require.Nil(t, err, content)
		require.Equal(t, want, resp.Message.Text(), content)
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":` + content + `},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
		})
		resp, err = ask(t, s)
		require.Nil(t, err, content)
		require.Equal(t, want, resp.Message.Text(), content)
	}
}
