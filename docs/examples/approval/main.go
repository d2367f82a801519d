// Approval is a web app: a visitor gives a model a task, and is asked before the model acts.
package main

import (
	"context"
	"flag"
	"html/template"
	"log"
	"net/http"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

var page = template.Must(template.New("").Parse(`<!doctype html><title>Approval</title>
<form method="post" action="/task"><input name="task" autofocus> <button>Go</button></form>
{{range .Waits}}<form method="post" action="/answer">
<p>May I call <b>{{.Tool}}</b> with <code>{{.Arguments}}</code>?
<input type="hidden" name="run" value="{{.Run}}"><input type="hidden" name="wait" value="{{.ID}}">
<button name="say" value="yes">Yes</button> <button name="say" value="no">No</button></p></form>{{end}}
{{with .Output.Result}}<p id="answer">{{.}}</p>{{end}}`))

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
	show := func(w http.ResponseWriter, res orchestrator.Result, err error) {
		if err == nil {
			err = page.Execute(w, res)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
	http.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { show(w, orchestrator.Result{}, nil) })
	http.HandleFunc("POST /task", func(w http.ResponseWriter, r *http.Request) {
		res, err := runs.Run(r.Context(), orchestrator.Task{Input: delegation.Input{Goal: r.FormValue("task")}})
		show(w, res, err)
	})
	http.HandleFunc("POST /answer", func(w http.ResponseWriter, r *http.Request) {
		reply := orchestrator.Reply{WaitID: r.FormValue("wait"), Approve: r.FormValue("say") == "yes"}
		res, err := orchestrator.Collect(runs.Resume(r.Context(), orchestrator.Resumption{
			Run: r.FormValue("run"), Replies: []orchestrator.Reply{reply},
		}))
		show(w, res, err)
	})
	address := flag.String("address", "localhost:8080", "where to listen")
	flag.Parse()
	log.Print("http://", *address)
	log.Fatal(http.ListenAndServe(*address, nil))
}
