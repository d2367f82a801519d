package sse_test

import (
	"bufio"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// A server whose clients see what is written as it is written, and how the run ends without the conversation.
func Example() {
	agent, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Stream("Hel", "lo")),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	})
	if err != nil {
		log.Fatal(err)
	}
	handler, err := sse.New(sse.Config{
		Start: sse.Tasks(agent),
		Filter: func(e *orchestrator.Event) bool {
			if end, ok := e.Detail.(orchestrator.RunFinished); ok {
				end.Output.Messages = nil
				e.Detail = end
				return true
			}
			return e.Kind == orchestrator.EventTextDelta
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/runs", handler)
	server := httptest.NewServer(mux)
	defer server.Close()

	resp, err := http.Post(server.URL+"/runs", "application/json", strings.NewReader(`{"goal": "Say hello."}`))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if name, found := strings.CutPrefix(lines.Text(), "event: "); found {
			fmt.Println(name)
		}
	}
	// Output:
	// text_delta
	// text_delta
	// run_finished
}
