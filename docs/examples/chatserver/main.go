// Chatserver is a chat server for several users: their conversations are kept on disk, an answer is
// seen while it is written, goes on without its page, and is canceled, and a person is asked before
// the model buys anything.
package main

import (
	"context"
	"embed"
	"flag"
	"log"
	"net/http"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/tools"
)

//go:embed index.html
var page embed.FS

type order struct{ Item string }

func buy(_ context.Context, o order) (string, error) { return "bought " + o.Item, nil }

// userOf says who makes a request. Here that is who the visitor says that it is: put the check of
// your own login in its place.
func userOf(r *http.Request) (string, error) {
	cookie, err := r.Cookie("user")
	if err != nil || cookie.Value == "" {
		return "", &sse.Error{Status: http.StatusUnauthorized, Code: "login", Message: "Log in first."}
	}
	return cookie.Value, nil
}

func main() {
	address := flag.String("address", "localhost:8080", "where to listen")
	file := flag.String("store", "chats.db", "where to keep the conversations")
	model := flag.String("model", "gpt-4.1-mini", "which model answers")
	flag.Parse()
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, sqlitestore.Config{Path: *file})
	if err != nil {
		log.Fatal(err)
	}
	agent := segue.Agent{
		Model:     openaichat.MustNew(openaichat.Config{Model: *model}),
		Tools:     []tools.Tool{tools.New(tools.Definition{Name: "buy", Description: "Buys something.", NeedsApproval: true}, buy)},
		Configure: func(c *orchestrator.Config) { c.Store = store },
	}
	runs, err := agent.Orchestrator()
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(runs.Recover(ctx, orchestrator.Recovery{})) }() // what a process left that died goes on

	report := func(r *http.Request, err error) { log.Print(r.Method, " ", r.URL, ": ", err) }
	turns, err := sse.New(sse.Config{Start: sse.Tasks(runs), Follow: runs, Detached: true, Namespace: userOf, Owner: userOf, OnError: report})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("POST /turns", turns)
	http.Handle("GET /runs/{run}", turns)
	http.Handle("POST /replies", turns.Replies(runs))
	http.Handle("POST /stops", turns.Stops(runs))
	http.Handle("GET /waits", turns.Waits(runs))
	http.Handle("/sessions", turns.Sessions(runs))
	http.Handle("GET /sessions/{session}", turns.Sessions(runs))
	http.Handle("/", http.FileServerFS(page))
	log.Print("http://", *address)
	log.Fatal(http.ListenAndServe(*address, nil))
}
