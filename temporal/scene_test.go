package temporal

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// job is the goal of a run: so many rounds of calls of the named tools, and an answer.
func goal(rounds int, tools ...string) string {
	return fmt.Sprintf("%d rounds of %s", rounds, strings.Join(tools, ","))
}

// model answers as the goal says. It knows nothing but the request, so it says the same in every
// process.
func model(req *llmclient.Request) scripted.Reply {
	var rounds, done int
	var names string
	for _, m := range req.Messages {
		switch m := m.(type) {
		case messages.User:
			_, _ = fmt.Sscanf(m.Text(), "%d rounds of %s", &rounds, &names)
		case messages.Assistant:
			if len(m.Calls()) > 0 {
				done++
			}
		}
	}
	if done >= rounds {
		return scripted.Text("finished")
	}
	var calls []messages.ToolCall
	for i, name := range strings.Split(names, ",") {
		calls = append(calls, scripted.Call(name, fmt.Sprintf(`{"mark":"%d-%d"}`, done, i), fmt.Sprintf("c%d-%d", done, i)))
	}
	return scripted.Calls(calls...)
}

// scene is what the processes of a test have in common.
type scene struct {
	store   checkpoint.Store
	witness string                     // the file into which tools write what they do
	change  func(*orchestrator.Config) // may be nil
	model   func(*llmclient.Request) scripted.Reply
	slow    time.Duration // how long tools take after their effect
	steps   func()        // is called by tools; may be nil
}

// mark is the arguments of the tools.
type mark struct {
	Mark string `json:"mark"`
}

// orchestrator returns an Orchestrator as each process has one.
func (s *scene) orchestrator(t testing.TB) *orchestrator.Orchestrator {
	t.Helper()
	o, err := s.open()
	require.NoError(t, err)
	return o
}

func (s *scene) open() (*orchestrator.Orchestrator, error) {
	answer := s.model
	if answer == nil {
		answer = model
	}
	tool := func(d tools.Definition) tools.Tool {
		return tools.New(d, func(ctx context.Context, in mark) (string, error) {
			if err := s.write(d.Name, in.Mark, tools.IdempotencyKey(ctx)); err != nil {
				return "", err
			}
			if s.steps != nil {
				s.steps()
			}
			time.Sleep(s.slow)
			return "done " + in.Mark, nil
		})
	}
	reply := scripted.Func(answer)
	reply.Times = -1
	cfg := orchestrator.Config{
		Store: s.store, Client: scripted.NewClient(scripted.Config{Replies: []scripted.Reply{reply}, NoRecord: true}), InboxEvery: -1,
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{MaxModelCalls: -1})},
		Limits:     delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1},
		Tools: []tools.Tool{
			tool(tools.Definition{Name: "look", ReadOnly: true}), tool(tools.Definition{Name: "put", Idempotent: true}),
			tool(tools.Definition{Name: "pay"}), tool(tools.Definition{Name: "grant", NeedsApproval: true}), tools.AskUser(),
		},
	}
	if s.change != nil {
		s.change(&cfg)
	}
	return orchestrator.New(cfg)
}

// write adds a line to the witness, which outlives the process.
func (s *scene) write(words ...string) error {
	if s.witness == "" {
		return nil
	}
	f, err := os.OpenFile(s.witness, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(words, " ") + "\n")
	return err
}

// engine returns an Engine of the scene, without a worker.
func (s *scene) engine(t testing.TB, c client.Client) *Engine {
	t.Helper()
	return &Engine{Client: c, Orchestrator: s.orchestrator(t), Queue: t.Name()}
}

// work starts a worker of an engine. It is stopped at the end of the test, or by the returned
// function.
func work(t testing.TB, e *Engine) (stop func()) {
	t.Helper()
	w := worker.New(e.Client, e.Queue, worker.Options{MaxHeartbeatThrottleInterval: 200 * time.Millisecond})
	e.Register(w)
	require.NoError(t, w.Start())
	stop = sync.OnceFunc(w.Stop)
	t.Cleanup(stop)
	return stop
}

// soon returns a context for what takes at most a minute.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// open opens a SQLite store, as several processes have it.
func open(path string) (*sqlitestore.Store, error) {
	return sqlitestore.Open(context.Background(), sqlitestore.Config{Path: path})
}
