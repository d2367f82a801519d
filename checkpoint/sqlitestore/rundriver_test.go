package sqlitestore_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// attentive is a store that says when the messages that were posted to the run have reached it.
type attentive struct {
	*sqlitestore.Store
	mu        sync.Mutex
	some, all bool
	reached   chan struct{}
}

func (s *attentive) Posted(ctx context.Context, keys ...checkpoint.Key) ([]checkpoint.Message, error) {
	posted, err := s.Store.Posted(ctx, keys...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.some && !s.all { // what came with the call before was handed on since
		s.all = true
		close(s.reached)
	}
	s.some = s.some || len(posted) > 0
	return posted, err
}

// wire is a client whose provider is in the process of the test: it sends pieces of text and calls,
// line by line.
type wire struct{ url string }

func (w wire) Complete(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, nil)
	must(err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Err: err}
	}
	defer resp.Body.Close()
	var said strings.Builder
	var content []messages.AssistantContent
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		switch kind, text, _ := strings.Cut(lines.Text(), " "); kind {
		case "text":
			said.WriteString(text)
			if onDelta != nil {
				onDelta(llmclient.Delta{Text: text})
			}
		case "call":
			content = append(content, messages.ToolCall{ID: text, Name: text, Arguments: "{}"})
		case "end":
			if said.Len() > 0 {
				content = append(content, messages.Text{Text: said.String()})
			}
			return &llmclient.Response{Message: messages.Assistant{Content: content}}, nil
		}
	}
	return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Partial: messages.AssistantText(said.String()), Err: errors.Join(lines.Err(), ctx.Err())}
}

// outcome is how a run ended in a process that was started for a test.
type outcome struct {
	Status machine.Status
	Error  string
	Output delegation.Output
	Leak   string // goroutines that are left
}

// saying tells the test something, in one line.
func saying(word string, v any) {
	data, err := json.Marshal(v)
	must(err)
	fmt.Println(word, string(data))
}

// driver is the program that works on a run of a test.
type driver struct {
	store *attentive
	pause machine.EventKind // at the first event of this kind it waits for what is posted
}

// drive runs or resumes a run, and tells every event.
func drive(path, url, how, pause string) {
	s, err := sqlitestore.Open(context.Background(), sqlitestore.Config{Path: path})
	must(err)
	d := &driver{store: &attentive{Store: s, reached: make(chan struct{})}, pause: machine.EventKind(pause)}
	o := stoppable(d.store, wire{url}, d.tool("quick"), d.tool("slow"), d.tool("pay"))
	var events iter.Seq2[machine.Event, error]
	if how == "resume" {
		events = o.Resume(context.Background(), orchestrator.Resumption{Run: "r", TakeOver: true})
	} else {
		events = o.Stream(context.Background(), orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}})
	}
	end := d.tell(events)
	must(s.Close())
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil {
		end.Leak = err.Error()
	}
	saying("end", end)
	os.Exit(0)
}

func (d *driver) tell(events iter.Seq2[machine.Event, error]) (end outcome) {
	for e, err := range events {
		if err != nil {
			end.Error = err.Error()
		}
		if finished, ok := e.Detail.(machine.RunFinished); ok {
			end.Status, end.Output = finished.Status, finished.Output
		}
		saying(string(e.Kind), e.Text)
		if e.Kind == d.pause {
			<-d.store.reached
			saying("reached", "")
			d.pause = ""
		}
	}
	return end
}

// tool returns a tool: quick ends at once; the others end when they are cut off, or soon after a
// message has reached the run. To pay is neither read-only nor idempotent.
func (d *driver) tool(name string) tools.Tool {
	def := tools.Definition{Name: name, Timeout: -1, ReadOnly: name != "pay"}
	return tools.NewRaw(def, func(ctx context.Context, _ string) (string, error) {
		saying("began", name)
		if name != "quick" {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-d.store.reached:
			}
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(200 * time.Millisecond):
			}
		}
		return "did " + name, nil
	})
}

func stoppable(store checkpoint.Store, client llmclient.Client, list ...tools.Tool) *orchestrator.Orchestrator {
	o, err := orchestrator.New(orchestrator.Config{
		Client: client, Store: store, Tools: list, InboxEvery: 10 * time.Millisecond,
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	})
	must(err)
	return o
}
