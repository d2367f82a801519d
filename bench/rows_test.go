package bench_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/tools"
)

// row is one way to do a workload.
type row struct {
	name   string
	script *script // the script that a run follows
	steps  int     // in an iteration
	calls  int     // calls of add in an iteration
	adder  *adder
	run    func(ctx context.Context) (outcome, error) // executes an iteration
	server *server                                    // for the HTTP rows
}

// workload is the same work done in several ways. The first row is the loop.
type workload struct {
	name string
	rows func(tb testing.TB) []row
}

var workloads = []workload{
	{"W1", func(testing.TB) []row { return few(rounds(0)) }},
	{"W2", func(testing.TB) []row { return rounds(10) }},
	{"W3", func(testing.TB) []row { return few(rounds(100)) }},
	{"W4", func(testing.TB) []row { return few(rounds(1000)) }},
	{"W5", func(testing.TB) []row { return batches(20, 5) }},
	{"W6", func(testing.TB) []row { return subtasks(10, 2) }},
	{"W7", func(testing.TB) []row { return crowd(1000, 10) }},
	{"W8", func(testing.TB) []row { return streamed() }},
	{"W9", func(testing.TB) []row { return few(rounds(10_000)) }},
	{"H2", overHTTP},
	{"H8", streamedOverHTTP},
}

// made returns a row whose iterations are single runs of a script, with add as the only tool.
func made(name string, s *script, a *adder, run func(context.Context) (outcome, error)) row {
	return row{name: name, script: s, steps: s.steps(), calls: s.calls(), adder: a, run: run}
}

// rounds makes one call at a time.
func rounds(n int) []row {
	s := adding(goal, n, 1)
	a := new(adder)
	byHand := a.loop(s.model())
	all := []row{
		made("loop", s, a, func(ctx context.Context) (outcome, error) { return looped(byHand.run(ctx, s.goal)) }),
		made("loop-fsm", s, a, func(ctx context.Context) (outcome, error) { return looped(byHand.withFSM(ctx, s.goal)) }),
	}
	return append(all, s.libraryRows(a)...)
}

// few leaves out rows that need not be measured at every length: the loop and the raw tool remain.
func few(all []row) []row { return []row{all[0], all[2]} }

// libraryRows returns a row for each kind of tool, with all its events consumed and without events.
func (s *script) libraryRows(a *adder) []row {
	var all []row
	for _, kind := range []struct {
		name string
		tool tools.Tool
	}{{"raw", a.raw()}, {"typed", a.typed()}} {
		o := library(s.client(), kind.tool)
		all = append(all,
			made(kind.name, s, a, func(ctx context.Context) (outcome, error) { return stream(ctx, o, "work", s.goal) }),
			made(kind.name+"-run", s, a, func(ctx context.Context) (outcome, error) { return whole(ctx, o, "work", s.goal) }))
	}
	return all
}

func (a *adder) loop(m model) *loop {
	return &loop{ask: m, tools: map[string]tool{"add": a.call}, most: many}
}

func looped(history []message, err error) (outcome, error) {
	if err != nil {
		return outcome{}, err
	}
	return outcome{answer: history[len(history)-1].Content, loop: history}, nil
}

// batches makes calls in parallel.
func batches(n, width int) []row {
	s := adding(goal, n, width)
	a := new(adder)
	byHand := a.loop(s.model())
	all := []row{
		made("loop", s, a, func(ctx context.Context) (outcome, error) { return looped(byHand.parallel(ctx, s.goal)) }),
		made("loop-serial", s, a, func(ctx context.Context) (outcome, error) { return looped(byHand.run(ctx, s.goal)) }),
	}
	for i, r := range s.libraryRows(a) {
		if i%2 == 0 { // with events; without them, W2 is enough
			all = append(all, r)
		}
	}
	return all
}

// subtasks delegates, on the stack of frames or to agents that are called as tools.
func subtasks(n, rounds int) []row {
	child := adding(goal, rounds, 1)
	parent := delegating(n, child)
	a := new(adder)
	worker := a.loop(child.model())
	boss := &loop{ask: parent.model(), tools: map[string]tool{"delegate": worker.delegate}, most: many}

	parents, children := parent.client(), child.client()
	client := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
		if req.Model == "parent" {
			return parents(ctx, req, d)
		}
		return children(ctx, req, d)
	})
	raw, asTools := library(client, a.raw()), agents(client, a)

	all := []row{
		made("loop", parent, a, func(ctx context.Context) (outcome, error) { return looped(boss.run(ctx, parent.goal)) }),
		made("raw", parent, a, func(ctx context.Context) (outcome, error) { return stream(ctx, raw, "delegate", parent.goal) }),
		made("agents", parent, a, func(ctx context.Context) (outcome, error) { return stream(ctx, asTools, "boss", parent.goal) }),
	}
	for i := range all {
		all[i].steps = parent.steps() + n*child.steps()
		all[i].calls = n * child.calls()
	}
	return all
}

// crowd has many concurrent runs. Their model yields to the other runs, as a real model would, so
// that all are in progress together.
func crowd(n, rounds int) []row {
	s := adding(goal, rounds, 1)
	a := new(adder)
	play := s.model()
	byHand := a.loop(func(ctx context.Context, history []message, d func(string)) (message, error) {
		runtime.Gosched()
		return play(ctx, history, d)
	})
	replies := s.client()
	client := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
		runtime.Gosched()
		return replies(ctx, req, d)
	})
	raw, typed := library(client, a.raw()), library(client, a.typed())
	one := []row{
		made("loop", s, a, func(ctx context.Context) (outcome, error) { return looped(byHand.run(ctx, s.goal)) }),
		made("raw", s, a, func(ctx context.Context) (outcome, error) { return stream(ctx, raw, "work", s.goal) }),
		made("typed", s, a, func(ctx context.Context) (outcome, error) { return stream(ctx, typed, "work", s.goal) }),
		made("typed-run", s, a, func(ctx context.Context) (outcome, error) { return whole(ctx, typed, "work", s.goal) }),
	}
	for i, r := range one {
		one[i].steps, one[i].calls = n*r.steps, n*r.calls
		one[i].run = func(ctx context.Context) (outcome, error) { return together(ctx, n, r) }
	}
	return one
}

// together runs n iterations of a row concurrently, checks each, and returns the last.
func together(ctx context.Context, n int, r row) (outcome, error) {
	outcomes, errs := make([]outcome, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			outcomes[i], errs[i] = r.run(ctx)
			if errs[i] == nil {
				errs[i] = r.script.check(outcomes[i])
			}
		})
	}
	wg.Wait()
	return outcomes[n-1], errors.Join(errs...)
}

// streamed has one reply in pieces; its steps are the pieces.
func streamed() []row {
	s, pieces := telling(deltas)
	a := new(adder)
	byHand := a.loop(s.streamingModel(pieces))
	o := library(s.streamingClient(pieces), a.raw())
	all := []row{
		made("loop", s, a, func(ctx context.Context) (outcome, error) {
			text, history, err := byHand.stream(ctx, s.goal)
			return outcome{answer: text, loop: history}, err
		}),
		made("raw", s, a, func(ctx context.Context) (outcome, error) { return stream(ctx, o, "work", s.goal) }),
		streamedBelow(s, pieces, a),
	}
	return eachDelta(all)
}

// streamedBelow streams the reply to a child, so that two frames are on the stack.
func streamedBelow(s *script, pieces []string, a *adder) row {
	parent := delegating(1, s)
	parents, children := parent.client(), s.streamingClient(pieces)
	o := library(llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
		if req.Model == "parent" {
			return parents(ctx, req, d)
		}
		return children(ctx, req, d)
	}), a.raw())
	r := made("two-frames", parent, a, func(ctx context.Context) (outcome, error) { return stream(ctx, o, "delegate", parent.goal) })
	r.calls = s.calls()
	return r
}

func eachDelta(all []row) []row {
	for i := range all {
		all[i].steps = deltas
	}
	return all
}

// overHTTP is rounds(10) with a provider on loopback. Server and client share the process, so both
// are measured.
func overHTTP(tb testing.TB) []row {
	s := adding(goal, 10, 1)
	a := new(adder)
	return onServers(tb, "application/json", s.bodies(), func(url string) []row {
		byHand := newOpenAI(url)
		o := library(newOpenAIChat(tb, url), a.raw())
		return []row{
			made("loop", s, a, func(ctx context.Context) (outcome, error) { return plainHTTP(ctx, url, a.call, s.goal) }),
			made("openai-go", s, a, func(ctx context.Context) (outcome, error) { return openaiByHand(ctx, &byHand, a.call, s.goal) }),
			made("raw-run", s, a, func(ctx context.Context) (outcome, error) { return whole(ctx, o, "work", s.goal) }),
		}
	})
}

// streamedOverHTTP is streamed() with a provider on loopback, which sends the reply as fast as it
// is read.
func streamedOverHTTP(tb testing.TB) []row {
	s, pieces := telling(deltas)
	a := new(adder)
	return eachDelta(onServers(tb, "text/event-stream", [][]byte{events(pieces)}, func(url string) []row {
		byHand := newOpenAI(url)
		o := library(newOpenAIChat(tb, url), a.raw())
		return []row{
			made("loop", s, a, func(ctx context.Context) (outcome, error) { return plainStream(ctx, url, s.goal) }),
			made("openai-go", s, a, func(ctx context.Context) (outcome, error) { return openaiStream(ctx, &byHand, s.goal) }),
			made("raw", s, a, func(ctx context.Context) (outcome, error) { return stream(ctx, o, "work", s.goal) }),
		}
	}))
}

// onServers serves the bodies in turn to the given rows.
func onServers(tb testing.TB, kind string, bodies [][]byte, rows func(url string) []row) []row {
	srv := newServer(kind, bodies)
	tb.Cleanup(srv.Close)
	all := rows(srv.URL)
	for i := range all {
		all[i].server = srv
	}
	return all
}

func newOpenAIChat(tb testing.TB, url string) llmclient.Client {
	c, err := openaichat.New(openaichat.Config{Model: "gpt-4o", APIKey: "none", BaseURL: url + "/v1"})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// find returns the rows of a workload.
func find(tb testing.TB, name string) []row {
	for _, w := range workloads {
		if w.name == name {
			return w.rows(tb)
		}
	}
	tb.Fatal(fmt.Errorf("bench: no workload %q", name))
	return nil
}
