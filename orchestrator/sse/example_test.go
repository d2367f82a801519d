package sse_test

import (
	"bufio"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// A server whose clients see what is written as it is written, and how the run ends without the
// conversation.
func Example() {
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Stream("Hel", "lo")),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	})
	if err != nil {
		log.Fatal(err)
	}
	handler, err := sse.New(sse.Config{
		Start: sse.Tasks(o),
		Filter: func(e *machine.Event) bool {
			if end, ok := e.Detail.(machine.RunFinished); ok {
				end.Output.Messages = nil
				e.Detail = end
				return true
			}
			return e.Kind == machine.EventTextDelta
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

// Two users of one server: each names runs of their own, and neither learns of the other's.
func Example_owners() {
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Text("Your PIN is 1234.")),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Store:      new(checkpoint.Memory),
	})
	if err != nil {
		log.Fatal(err)
	}
	owner := func(r *http.Request) (string, error) {
		user, _, ok := r.BasicAuth() // a real server checks the password, in a handler around this one
		if !ok {
			return "", &sse.Error{Status: http.StatusUnauthorized, Code: "login", Message: "log in first"}
		}
		return user, nil
	}
	mux := http.NewServeMux()
	for path, start := range map[string]sse.Start{"/runs": sse.Tasks(o), "/replies": sse.Replies(o)} {
		handler, err := sse.New(sse.Config{Start: start, Owner: owner})
		if err != nil {
			log.Fatal(err)
		}
		mux.Handle(path, handler)
	}
	post := func(path, user, body string) {
		req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.SetBasicAuth(user, "")
		resp := httptest.NewRecorder()
		mux.ServeHTTP(resp, req)
		fmt.Println(user, resp.Code, strings.Contains(resp.Body.String(), "1234"))
	}
	post("/runs", "alice", `{"run": "alice:1", "goal": "What is my PIN?"}`)
	post("/replies", "alice", `{"run": "alice:1"}`)
	post("/replies", "mallory", `{"run": "alice:1"}`)
	post("/replies", "mallory", `{"run": "alice:2"}`)
	// Output:
	// alice 200 true
	// alice 200 true
	// mallory 403 false
	// mallory 403 false
}
