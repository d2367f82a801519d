package examples

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
)

// words are what the model of a cuttingSite says, a word at a time.
const words = "one two three four five six seven eight nine ten"

// cuttingSite serves a run that takes a second, and cuts every stream but each third one in its
// midst.
func cuttingSite(t *testing.T, page string) string {
	t.Helper()
	model := llmclient.ClientFunc(func(_ context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		for word := range strings.SplitAfterSeq(words, " ") {
			time.Sleep(100 * time.Millisecond)
			onDelta(llmclient.Delta{Text: word})
		}
		return &llmclient.Response{Message: messages.AssistantText(words)}, nil
	})
	agent := segue.Agent{Model: model, Configure: func(c *orchestrator.Config) { c.Store = new(checkpoint.Memory) }}
	runs, err := agent.Orchestrator()
	require.NoError(t, err)
	handler, err := sse.New(sse.Config{Start: sse.Tasks(runs), Follow: runs, Detached: true, Authorize: func(*http.Request, string) error { return nil }})
	require.NoError(t, err)
	site, asked := http.NewServeMux(), atomic.Int32{}
	site.HandleFunc("/runs/{run}", func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if n%3 == 0 {
			handler.ServeHTTP(w, r)
			return
		}
		ctx, cut := context.WithTimeout(r.Context(), time.Duration(150+80*n)*time.Millisecond)
		defer cut()
		handler.ServeHTTP(w, r.WithContext(ctx))
		panic(http.ErrAbortHandler) // the connection breaks
	})
	site.Handle("/runs", handler)
	site.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	return server.URL
}

// A browser's EventSource that is cut in the middle of a reply has the whole text in the end.
func TestEventSource_cutInChromium(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.open(cuttingSite(t, `<!doctype html><title>Events</title><p id="text"></p><p id="end"></p><script type="module">
const put = (id, text) => document.getElementById(id).textContent = text
await fetch('/runs', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{"run": "r", "goal": "go"}'})
const events = new EventSource('/runs/r')
let text = '', opened = 0
const on = (kind, then) => events.addEventListener(kind, e => { then(JSON.parse(e.data)); put('text', text) })
events.onopen = () => opened++
on('text_delta', e => text += e.text)
on('step_snapshot', e => text = e.detail.text ?? '')
on('run_finished', () => put('end', opened > 1 ? 'reconnected' : 'never cut'))
</script>`))
	b.reads("#end", "reconnected")
	b.reads("#text", words)
}
