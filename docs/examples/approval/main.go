// Approval is a web app: a visitor gives a model a task, sees what it writes while it writes, and
// is asked before it acts.
package main

import (
	"context"
	"embed"
	"flag"
	"log"
	"net/http"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/tools"
)

//go:embed index.html
var page embed.FS

type mail struct{ To, Text string }

func send(_ context.Context, m mail) (string, error) {
	log.Printf("to %s: %s", m.To, m.Text)
	return "sent", nil
}

func main() {
	agent := segue.Agent{
		Model: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"}),
		Tools: []tools.Tool{tools.New(tools.Definition{Name: "send", Description: "Sends a mail.", NeedsApproval: true}, send)},
		Configure: func(c *orchestrator.Config) {
			c.Store = new(checkpoint.Memory) // one on disk would let a run wait longer than this program
		},
	}
	runs, err := agent.Orchestrator()
	if err != nil {
		log.Fatal(err)
	}
	whoKnowsIt := func(*http.Request, string) error { return nil } // a site with users has an Owner instead
	for path, start := range map[string]sse.Start{"POST /tasks": sse.Tasks(runs), "POST /replies": sse.Replies(runs)} {
		handler, err := sse.New(sse.Config{Start: start, Authorize: whoKnowsIt})
		if err != nil {
			log.Fatal(err)
		}
		http.Handle(path, handler)
	}
	http.Handle("GET /", http.FileServerFS(page))
	address := flag.String("address", "localhost:8080", "where to listen")
	flag.Parse()
	log.Print("http://", *address)
	log.Fatal(http.ListenAndServe(*address, nil))
}
