package machine

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

func (m *Machine) runStarted(s *Started) {
	m.emit(m.root, EventRunStarted, RunStarted{Strategy: s.Strategy, Goal: s.Input.Goal, Limits: s.Limits, Metadata: s.Metadata})
}

// start begins a run. It stores the record directly in the Machine, because the record is large.
func (m *Machine) start(r Record) error {
	if m.root != nil {
		return &answerError{run: m.run, problem: "the run has begun"}
	}
	m.started = r.(Started)
	s := &m.started
	m.cfg.fill(s)
	canonicalStarted(s)
	if !m.cfg.prepared || len(s.Tools) != len(m.cfg.Tools) || len(s.Tools) > 0 && &s.Tools[0] != &m.cfg.Tools[0] {
		s.Tools = canonicalTools(s.Tools)
	}
	root := m.newFrame()
	if err := m.build(root, s.Strategy); err != nil {
		m.recycle(root)
		m.started = Started{}
		return &ConfigError{Field: "Strategy", Err: err}
	}
	m.run, m.parallel = s.Run, s.Parallel
	m.root, m.index, m.innerMoves = root, 0, 0
	m.begin(s.At)
	root.name, root.depth, root.input, root.allowed, root.limits = "0", 1, s.Input, s.Tools, amountsOf(s.Limits)
	root.branch = &root.trunk
	if holdsUntrusted(s.Input.Messages) {
		root.branch.taint("the input")
	}
	m.runStarted(s)
	m.schedule(root, m.enter(root))
	m.runFrames()
	m.dispatch()
	return nil
}

// Start returns s with missing fields filled in from the Config: limits, Parallel, tools and other
// settings of a run. Apply does the same, but for what journals of earlier releases do not have:
// Conclude and Repeats. The journal must store the result of Start.
func (c *Config) Start(s Started) Started {
	c.fill(&s)
	s.Repeats = cmp.Or(s.Repeats, c.Repeats, DefaultRepeats)
	s.Conclude = true
	return s
}

// fill is Start in place.
func (c *Config) fill(s *Started) {
	s.Limits = amountsOf(s.Limits).or(amountsOf(c.Limits)).or(defaultLimits).limits()
	s.Parallel = cmp.Or(s.Parallel, c.Parallel, 8)
	if s.Parallel < 0 {
		s.Parallel = noBound
	}
	if s.Tools == nil {
		s.Tools = c.Tools
	}
	if s.Tools == nil {
		s.Tools = []tools.Definition{} // so that a replay does not fill in other tools
	}
	if s.Strategy == "" && len(c.Strategies) == 1 {
		s.Strategy = c.Strategies.Names()[0]
	}
	s.Expires = cmp.Or(s.Expires, c.Expires, 24*time.Hour)
	s.StopNote = cmp.Or(s.StopNote, c.StopNote, "[stopped]")
	s.MaxResult = cmp.Or(s.MaxResult, c.MaxResult, tools.DefaultMaxResult)
	if s.Fingerprints == nil {
		s.Fingerprints = c.Fingerprints
	}
}

// noBound is the value of Parallel for no limit.
const noBound = 1 << 30

// build makes f a frame for the strategy with that name. The frame has no place in the tree yet.
func (m *Machine) build(f *frame, name string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the factory of strategy %q %w", name, m.panicked(nil, "the factory of strategy "+name, v))
		}
	}()
	st, err := m.cfg.Strategies.New(name)
	if err != nil {
		return err
	}
	if c, ok := st.(strategy.Checker); ok {
		if err := c.Check(); err != nil {
			return within(name, err)
		}
	}
	f.strategy, f.st = name, st
	if t, ok := st.(strategy.Tabler); ok {
		f.tabler = t
		if err := t.FSM().Check(); err != nil {
			return within(name, err)
		}
	}
	if p, ok := st.(strategy.ToolProvider); ok {
		f.own = p.Tools()
		for i, t := range f.own {
			if t == nil {
				return fmt.Errorf("strategy %q: its tool number %d is nil", name, i)
			}
			f.ownDefs, f.agents = append(f.ownDefs, t.Definition()), append(f.agents, AgentOf(t))
		}
	}
	return nil
}

// within adds the name of a strategy to its errors.
func within(name string, err error) error {
	return errors.Join(guard.Within(fmt.Sprintf("strategy %q", name), err)...)
}

// Try makes the strategy with that name as a run would, and returns it with the tools that it
// brings. The error says why a run could not.
func (c *Config) Try(name string) (strategy.Strategy, []tools.Tool, error) {
	var f frame
	if err := New(c).build(&f, name); err != nil {
		return nil, nil, err
	}
	return f.st, f.own, nil
}
