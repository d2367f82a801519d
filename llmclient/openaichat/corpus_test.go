package openaichat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
)

// corpusDirs are folders of exchanges: those written for these tests, and recorded traffic, which
// is not part of this repository.
var corpusDirs = [...]string{"../../testdata/recorded/http", "../../../shared/corpus/http"}

// corpusName is the name of a folder for a subtest.
func corpusName(dir string) string { return strings.Split(strings.TrimLeft(dir, "./"), "/")[0] }

type recording struct {
	ID           string
	Interactions []interaction
}

type interaction struct {
	Request *struct {
		URL  string
		Body json.RawMessage
	}
	Response struct {
		Status  int
		Headers map[string]string
		Body    string
	}
}

// codes are the errors that the status alone does not determine. "#0" is the first exchange of a
// file.
var codes = map[string]llmclient.Code{
	"error/azure-02#0":       llmclient.CodeContentFilter, // an error object in a 200
	"error/azure-04#0":       llmclient.CodeContentFilter,
	"error/deepseek-01#0":    llmclient.CodeContextLength,
	"error/groq-01#0":        llmclient.CodeMalformedToolCall,
	"error/groq-04#0":        llmclient.CodeMalformedToolCall, // event: error in a 200 stream
	"error/ollamacloud-01#0": llmclient.CodeContextLength,
	"error/openrouter-04#0":  llmclient.CodeBadRequest, // an error chunk in a 200 stream
	"plain/demo-01#0":        llmclient.CodeBadResponse,
	"quirk/demo-01#0":        llmclient.CodeBadResponse,
}

func codeOf(id string, status int) llmclient.Code {
	if code, ok := codes[id]; ok {
		return code
	}
	return map[int]llmclient.Code{
		200: "", 400: llmclient.CodeBadRequest, 401: llmclient.CodeAuth, 404: llmclient.CodeNotFound, 429: llmclient.CodeRateLimited,
	}[status]
}

func recordings(t testing.TB, corpusDir string) []recording {
	if _, err := os.Stat(corpusDir); err != nil && strings.Contains(corpusDir, "shared") {
		t.Skip("the corpus of recorded traffic is not at ../shared/corpus, beside the repository")
	}
	files, err := filepath.Glob(filepath.Join(corpusDir, "*", "*.json"))
	require.NoError(t, err)
	var all []recording
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "ollama-native" { // another protocol
			continue
		}
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var rec recording
		require.NoError(t, json.Unmarshal(raw, &rec), file)
		all = append(all, rec)
	}
	require.NotEmpty(t, all)
	return all
}

// replayer serves each exchange under its own path.
func replayer(t testing.TB, all []recording) *server {
	answers := map[string]interaction{}
	for _, rec := range all {
		for n, x := range rec.Interactions {
			answers[fmt.Sprintf("/%s#%d", rec.ID, n)] = x
		}
	}
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		x, ok := answers[r.URL.Path]
		if !ok {
			http.Error(w, "no such recording", http.StatusTeapot)
			return
		}
		for name, value := range x.Response.Headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(x.Response.Status)
		_, _ = w.Write([]byte(x.Response.Body))
	})
}

func TestCorpus_EveryExchangeIsReadStreamedAndNot(t *testing.T) {
	for dir, least := range map[string]int{corpusDirs[0]: 15, corpusDirs[1]: 300} {
		t.Run(corpusName(dir), func(t *testing.T) {
			require.GreaterOrEqual(t, readAll(t, recordings(t, dir)), least)
		})
	}
}

// readAll reads every exchange, and returns how many there are.
func readAll(t *testing.T, all []recording) (exchanges int) {
	s := replayer(t, all)
	client := newClient(t, s, func(cfg *openaichat.Config) {
		cfg.Options = []option.RequestOption{option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			r.URL.Path = r.Context().Value(pathKey{}).(string)
			return next(r)
		})}
	})
	for _, rec := range all {
		for n, x := range rec.Interactions {
			id := fmt.Sprintf("%s#%d", rec.ID, n)
			ctx := context.WithValue(context.Background(), pathKey{}, "/"+id)
			want := readRecording(x.Response.Body)
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/stream=%v", id, stream), func(t *testing.T) {
					readExchange(ctx, t, client, want, codeOf(id, x.Response.Status), x.Response.Status, stream)
				})
			}
			exchanges++
		}
	}
	return exchanges
}

// pathKey is the context key of the requested path.
type pathKey struct{}

func readExchange(ctx context.Context, t *testing.T, client *openaichat.Client, want reading, code llmclient.Code, status int, stream bool) {
	heard := map[llmclient.DeltaKind]string{}
	var onDelta func(llmclient.Delta)
	if stream {
		onDelta = func(d llmclient.Delta) { heard[d.Kind] += d.Text }
	}
	resp, err := client.Complete(ctx, hello(), onDelta)
	if code != "" {
		e := asError(t, err)
		require.Equal(t, code, e.Code, e.Error())
		require.Equal(t, status, e.Status)
		require.Equal(t, want.text, e.Partial.Text())
		require.NotEmpty(t, e.Message)
		return
	}
	require.False(t, want.failed)
	require.NoError(t, err)
	require.Equal(t, want.text, resp.Message.Text())
	require.Equal(t, want.thought, resp.Message.Thought())
	require.Equal(t, want.finish, resp.Finish)
	require.Equal(t, want.usage, counted(resp.Usage))
	calls := resp.Message.Calls()
	require.Len(t, calls, len(want.calls))
	for i, c := range want.calls {
		require.Equal(t, c.name, calls[i].Name)
		require.JSONEq(t, c.args, calls[i].Arguments)
		require.NotEmpty(t, calls[i].ID)
		if c.id != "" {
			require.Equal(t, c.id, calls[i].ID)
		}
	}
	if stream {
		require.Equal(t, want.text, heard[llmclient.DeltaText])
		require.Equal(t, want.thought, heard[llmclient.DeltaThought])
	}
	require.Equal(t, want.model, resp.Model)
}
