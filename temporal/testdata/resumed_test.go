package strategytest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/coverage"
	"github.com/segue-go/segue/temporal"
)

// several is a run of a story that several processes work on, each until it crashes or waits.
type several struct {
	name  string
	task  orchestrator.Task
	parts []part
	odd   string // why an engine cannot make it
}

// part is what one process does of it.
type part struct {
	config  orchestrator.Config
	replies []machine.Reply // to waits of the part before
	refused bool            // the replies are
	crashes bool
	left    *store // what it leaves behind
}

// lives returns the runs below dir that are resumed, as the stories make them in the loop.
func lives(t *testing.T, dir string, set strategy.Set) (all []*several) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	require.NoError(t, err)
	for _, file := range files {
		now := new(several)
		s := story{set: set, covered: coverage.New(set)}
		s.before = func(_ *testing.T, r *storyRun) {
			now = &several{name: filepath.Base(file), task: r.task, parts: []part{{config: r.config}}}
			if len(r.notes) > 0 || r.stop.where != "" {
				now.odd = "it has notes or is stopped"
			}
		}
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "resume" {
				p := part{config: s.config(s.life.root).Config}
				p.replies, _ = s.life.replies(d.Input)
				now.parts = append(now.parts, p)
			}
			before := 0
			if s.life != nil {
				before = len(s.life.store.log)
			}
			out := s.command(t, d)
			if d.Cmd != "run" && d.Cmd != "resume" || s.life == nil || len(now.parts) == 0 {
				return out
			}
			p := &now.parts[len(now.parts)-1]
			p.left, p.refused = &s.life.store.store, d.Cmd == "resume" && len(s.life.store.log) == before
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "crash":
					p.crashes = true
				case "unknown", "steps":
					now.odd = "a Resumption says " + arg.Key
				}
			}
			if len(now.parts) == 2 {
				all = append(all, now)
			}
			return out
		})
	}
	return all
}

// serve makes the run on the server, with one worker after the other.
func (l *several) serve(t *testing.T, c client.Client) {
	if l.odd != "" {
		t.Skip(l.odd)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	byServer, key := new(store), checkpoint.Key{Namespace: fmt.Sprint(t.Name(), time.Now().UnixNano()), Run: storyID}
	l.task.Namespace, l.task.Stop, l.task.Notes = key.Namespace, nil, nil
	for i := range l.parts {
		l.work(ctx, t, c, i, key, byServer)
	}
	last := l.parts[len(l.parts)-1]
	want := last.standing(t, last.left, checkpoint.Key{Run: storyID})
	have := last.standing(t, byServer, key)
	require.Equal(t, end(t, want.Result, nil, true), end(t, have.Result, nil, true))
	t.Logf("%s: compared: %d parts", l.name, len(l.parts))
}

// orchestrator returns that of a part, with a store.
func (p *part) orchestrator(t *testing.T, s checkpoint.Store, m ...orchestrator.Middleware) *orchestrator.Orchestrator {
	cfg := p.config
	cfg.Client, cfg.Store, cfg.Middleware, cfg.InboxEvery = scripted.New(), s, m, -1
	o, err := orchestrator.New(cfg)
	require.NoError(t, err)
	return o
}

// standing returns how a run stands in a store.
func (p *part) standing(t *testing.T, s *store, key checkpoint.Key) orchestrator.Standing {
	st, err := p.orchestrator(t, s).Standing(t.Context(), key)
	require.NoError(t, err)
	return st
}

// effect is an effect in a form that does not depend on how a run is made.
type effect struct {
	key   string
	index int
}

// work has a worker make a part of a run.
func (l *several) work(ctx context.Context, t *testing.T, c client.Client, i int, key checkpoint.Key, s *store) {
	p, mine, crashed := &l.parts[i], &dying{store: s}, make(chan struct{})
	fatal, k := p.fatal(t), newKeys(s.records(t, key))
	var e temporal.Engine
	e = temporal.Engine{Client: c, Queue: key.Namespace, Orchestrator: p.orchestrator(t, mine, k.around, p.crash(t, key, fatal, mine, crashed), l.answer(t))}
	e.Activities = map[machine.EffectKind]workflow.ActivityOptions{}
	for _, kind := range []machine.EffectKind{machine.EffectModel, machine.EffectTool} {
		e.Activities[kind] = workflow.ActivityOptions{HeartbeatTimeout: 3 * time.Second}
	}
	w := worker.New(c, e.Queue, worker.Options{MaxHeartbeatThrottleInterval: time.Second, StickyScheduleToStartTimeout: time.Second})
	e.Register(w)
	require.NoError(t, w.Start())
	defer w.Stop()
	if i == 0 {
		_, err := e.Start(ctx, l.task)
		require.NoError(t, err)
	} else {
		l.reply(ctx, t, &e, i, key)
	}
	for len(fatal) > 0 { // until it crashes
		select {
		case <-crashed:
			return
		case <-ctx.Done():
			t.Fatalf("%s does not crash in %v", l.name, fatal)
		}
	}
	for {
		st, err := e.Orchestrator.Standing(t.Context(), key)
		require.NoError(t, err)
		if ctx.Err() != nil {
			state, problem := e.Query(t.Context(), key)
			t.Fatalf("%s, part %d: %+v, %+v, %v", l.name, i, st, state, problem)
		}
		if checkpoint.Status(st.Status).Ended() || st.Status != "" && len(st.Waits) == len(p.standing(t, p.left, checkpoint.Key{Run: storyID}).Waits) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// fatal returns the effects in which a part crashes.
func (p *part) fatal(t *testing.T) map[effect]bool {
	all := map[effect]bool{}
	if p.crashes {
		k := newKeys(p.left.journal(t))
		for _, x := range p.standing(t, p.left, checkpoint.Key{Run: storyID}).Effects {
			all[effect{k.of(x.Frame, x.ID.Seq), x.ID.Index}] = true
		}
	}
	return all
}

// crash is a middleware with which a process dies once the fatal effects alone are in progress:
// after calls had their effect, and before a model is asked.
func (p *part) crash(t *testing.T, key checkpoint.Key, fatal map[effect]bool, s *dying, crashed chan struct{}) orchestrator.Middleware {
	var hit atomic.Int32
	return func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			if !fatal[effect{keyOf(ctx), e.ID.Index}] {
				return next(ctx, e)
			}
			if e.Kind == machine.EffectTool {
				_, _ = next(ctx, e)
			}
			if int(hit.Add(1)) == len(fatal) {
				for len(p.standing(t, s.store, key).Effects) > len(fatal) && ctx.Err() == nil {
					time.Sleep(10 * time.Millisecond) // concurrent calls end first
				}
				s.dead.Store(true)
				close(crashed)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
}

// answer is a middleware that answers for models as in the loop.
func (l *several) answer(t *testing.T) orchestrator.Middleware {
	said, k := map[string]nextstep.Answer{}, newKeys(nil)
	for _, r := range l.parts[len(l.parts)-1].left.journal(t) {
		if a, ok := r.(machine.Answered); ok {
			said[k.of(a.Frame, a.Effect.Seq)] = a.Answer // only those of models are used
		}
	}
	return func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			if e.Kind != machine.EffectModel {
				return next(ctx, e)
			}
			a, ok := said[keyOf(ctx)]
			assert.True(t, ok || ctx.Err() != nil, "%s was not requested in the loop", keyOf(ctx))
			return a, ctx.Err()
		}
	}
}

// reply gives the replies of a part, to the waits that the same calls have.
func (l *several) reply(ctx context.Context, t *testing.T, e *temporal.Engine, i int, key checkpoint.Key) {
	p, before := &l.parts[i], &l.parts[i-1]
	for _, reply := range p.replies {
		about := ""
		for _, w := range before.standing(t, before.left, checkpoint.Key{Run: storyID}).Waits {
			if w.ID == reply.WaitID {
				about = w.Frame + "/" + w.CallID
			}
		}
		require.NotEmpty(t, about)
		for sent := false; !sent; time.Sleep(20 * time.Millisecond) {
			st, err := e.Orchestrator.Standing(ctx, key)
			require.NoError(t, err)
			for _, w := range st.Waits {
				if sent = w.Frame+"/"+w.CallID == about; sent {
					reply.WaitID = w.ID
					_, refused := errors.AsType[*machine.ReplyError](e.Answer(ctx, key, reply))
					require.Equal(t, p.refused, refused)
					break
				}
			}
		}
	}
}

// dying is the store of a process that may die: after that, nothing is stored.
type dying struct {
	*store
	dead atomic.Bool
}

func (s *dying) Append(ctx context.Context, b checkpoint.Batch) error {
	if s.dead.Load() {
		return errors.New("the process is dead")
	}
	return s.store.Append(ctx, b)
}
