package examples

import (
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
)

// A browser's EventSource asks again by itself when a stream ends. It starts no second run, even if
// it has seen no event of the first.
func TestEventSource_inChromium(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	agent := segue.Agent{Model: scripted.New(scripted.Text("One."), scripted.Text("Two."), scripted.Text("Three."))}
	runs, err := agent.Orchestrator()
	require.NoError(t, err)
	var started atomic.Int32
	handler, err := sse.New(sse.Config{
		Methods: []string{http.MethodGet},
		Filter:  func(*machine.Event) bool { return false },
		Start: func(r *http.Request) (iter.Seq2[machine.Event, error], error) {
			started.Add(1)
			return runs.Stream(r.Context(), orchestrator.Task{Input: delegation.Input{Goal: "go"}}), nil
		},
	})
	require.NoError(t, err)
	site := http.NewServeMux()
	site.Handle("GET /runs", handler)
	site.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<!doctype html><title>Events</title><p></p><script>
const events = new EventSource('/runs')
events.onerror = () => { if (events.readyState === EventSource.CLOSED) document.querySelector('p').textContent = 'closed' }
</script>`)
	})
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	b.open(server.URL)
	b.reads("p", "closed")
	require.EqualValues(t, 1, started.Load())
}
