package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/builtin"
)

// native is the policy of a row whose calls are those of the API.
const native = "native"

// callsOfTask is how many requests a task may make.
const callsOfTask = 12

// row is a way to have a list of tasks done.
type row struct {
	table, policy, strategy string
	tasks                   []task
}

func (r row) String() string { return r.table + "/" + r.policy + "/" + r.strategy }

// strategies are the strategies of the rows, and what they have to be told.
var strategies = []struct{ name, config string }{
	{"complete-task", `{}`},
	{"react", `{}`},
	{"reason-act-observe", `{"no_input":true}`},
	{"reflection", `{}`},
	{"retry", `{"strategy":"work"}`},
	{"plan-and-execute", `{"executor":"work"}`},
	{"plan-revise-execute", `{"executor":"work"}`},
}

// rows are the rows of all tables. A policy that the project does not have has no row.
func rows(policies []string) (all []row) {
	natively := func(table string, tasks []task) {
		for _, s := range strategies {
			all = append(all, row{table, native, s.name, tasks})
		}
	}
	natively("twelve", twelve)
	for _, name := range []string{"structured", "fenced", "react"} {
		if slices.Contains(policies, name) {
			all = append(all, row{"twelve", name, "complete-task", twelve})
		}
	}
	natively("several steps", several)
	return all
}

// run has a task done by the server at an address.
func (r row) run(ctx context.Context, k task, model, baseURL string) outcome {
	w := newWorld()
	o, err := r.orchestrator(w, model, baseURL)
	if err != nil {
		return outcome{row: r, task: k, failed: err.Error()}
	}
	res, err := o.Run(ctx, orchestrator.Task{
		Run: fmt.Sprint(r, "/", k.name), Strategy: "it", Input: delegation.Input{Goal: k.goal}, Limits: delegation.Limits{ModelCalls: callsOfTask},
	})
	return judge(r, k, w.calls, res, err)
}

func (r row) orchestrator(w *world, model, baseURL string) (*orchestrator.Orchestrator, error) {
	i := slices.IndexFunc(strategies, func(s struct{ name, config string }) bool { return s.name == r.strategy })
	set, err := builtin.Set(map[string]builtin.Spec{
		"it":   {Strategy: r.strategy, Config: json.RawMessage(strategies[i].config)},
		"work": {Strategy: "complete-task"},
	})
	if err != nil {
		return nil, err
	}
	// The server of the suite adds the key, and limits the time.
	chat, err := openaichat.New(openaichat.Config{Model: model, BaseURL: baseURL, NoEnvironment: true, IdleTimeout: time.Hour})
	if err != nil {
		return nil, err
	}
	var client llmclient.Client = chat
	if r.policy != native {
		p, err := markdownpolicy.New(r.policy, markdownpolicy.Options{})
		if err != nil {
			return nil, err
		}
		client = policyclient.Wrap(client, p)
	}
	return orchestrator.New(orchestrator.Config{Client: client, Strategies: set, Tools: w.tools()})
}

// runAll has every task of every row done, one after the other, and tells of each at once.
func runAll(ctx context.Context, all []row, s *server, tell func(outcome)) (done []outcome) {
	for _, r := range all {
		for _, k := range r.tasks {
			place := strings.ReplaceAll(fmt.Sprintf("%s/%s", r, k.name), " ", "-")
			out := r.run(ctx, k, s.model, s.URL+"/"+place+"/v1")
			out.late, out.missing = s.troubles(place)
			done = append(done, out)
			tell(out)
		}
	}
	return done
}
