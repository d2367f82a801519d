package soak

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// ledger is what the witnesses of all processes say.
type ledger struct {
	dir     string
	read    map[string]int64          // how far a file has been read
	acks    map[string]map[int]string // by run: the sum of each place that was acknowledged
	twice   []ack                     // places that were acknowledged to two
	effects map[string][]effect       // by mark
	again   map[string]int            // by mark: how often a person had the call made again
	yes     map[string]bool           // by mark: a person has approved the call
	asked   int                       // replies about calls that may have had their effect
}

func newLedger(dir string) *ledger {
	return &ledger{
		dir: dir, read: map[string]int64{}, acks: map[string]map[int]string{}, effects: map[string][]effect{},
		again: map[string]int{}, yes: map[string]bool{},
	}
}

// lines returns what a process has added to its file since.
func lines[T any](t testing.TB, l *ledger, kind string, process int) []T {
	t.Helper()
	file := witnessPath(l.dir, kind, process)
	all, to, err := readWitness[T](file, l.read[file])
	require.NoError(t, err)
	l.read[file] = to
	return all
}

// add takes in what a process has noted since.
func (l *ledger) add(t testing.TB, process int) {
	t.Helper()
	for _, a := range lines[ack](t, l, ofAcks, process) {
		places := l.acks[a.Run]
		if places == nil {
			places = map[int]string{}
			l.acks[a.Run] = places
		}
		if _, ok := places[a.Seq]; ok {
			l.twice = append(l.twice, a)
		}
		places[a.Seq] = a.Sum
	}
	for _, e := range lines[effect](t, l, ofEffects, process) {
		l.effects[e.Mark] = append(l.effects[e.Mark], e)
	}
	for _, s := range lines[said](t, l, ofAnswers, process) {
		if s.Kind != machine.WaitUnknown {
			l.yes[s.Mark] = l.yes[s.Mark] || s.Approve
			continue
		}
		l.asked++
		if s.Approve {
			l.again[s.Mark]++
		}
	}
}

// forget drops what is known of a job.
func (l *ledger) forget(job string) {
	delete(l.acks, job)
	for _, d := range expected(job) {
		delete(l.effects, d.mark)
		delete(l.again, d.mark)
		delete(l.yes, d.mark)
	}
}

// losses compares a journal with what was acknowledged of it. It returns how many records the
// journal has, and what is wrong with it.
func (l *ledger) losses(ctx context.Context, store checkpoint.Store, run string) (n int, wrong []string) {
	places := l.acks[run]
	for r, err := range store.Read(ctx, checkpoint.Key{Run: run}, 1) {
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s, after record %d: %v", run, n, err))
			break
		}
		if n++; r.Seq != n {
			wrong = append(wrong, fmt.Sprintf("%s: record %d stands at %d", run, r.Seq, n))
		}
		if sum, ok := places[r.Seq]; ok && sum != sumOf(&r) {
			wrong = append(wrong, fmt.Sprintf("%s: record %d is another than that which was acknowledged", run, r.Seq))
		}
	}
	for seq := range places {
		if seq > n {
			wrong = append(wrong, fmt.Sprintf("%s: record %d was acknowledged and is gone; the last is %d", run, seq, n))
		}
	}
	return n, wrong
}

// acts compares the effects of a job with those that it is to have. It returns what is wrong, and
// how many effects of calls that are neither read-only nor idempotent there were.
func (l *ledger) acts(job string) (unsafe int, wrong []string) {
	want := expected(job)
	for _, d := range want {
		all := l.effects[d.mark]
		keys := map[string]bool{}
		for _, e := range all {
			keys[e.Key] = true
		}
		switch {
		case len(all) == 0:
			wrong = append(wrong, fmt.Sprintf("the effect %s of %s never came", d.mark, d.tool))
		case len(keys) != 1 || keys[""]:
			wrong = append(wrong, fmt.Sprintf("the effect %s of %s has the keys %v", d.mark, d.tool, keys))
		case d.tool == "put":
			continue
		case len(all) > 1+l.again[d.mark]:
			wrong = append(wrong, fmt.Sprintf("the effect %s of %s came %d times, and a person had it made again %d times", d.mark, d.tool, len(all), l.again[d.mark]))
		case d.tool == "grant" && !l.yes[d.mark]:
			wrong = append(wrong, fmt.Sprintf("nobody has approved %s", d.mark))
		}
		unsafe += len(all)
	}
	for mark := range l.effects {
		if strings.HasPrefix(mark, job+"/") && !slices.ContainsFunc(want, func(d due) bool { return d.mark == mark }) {
			wrong = append(wrong, "the effect "+mark+" was not to come")
		}
	}
	return unsafe, wrong
}

// ending is how a job has ended, as far as it does not depend on what happened to its processes.
type ending struct {
	status  machine.Status
	text    string
	texts   []string // of the model, in the order of the work
	results []string // of tools
}

func endingOf(res orchestrator.Result) ending { //nolint:gocritic // as Run returns it
	e := ending{status: res.Status, text: res.Output.Text(), texts: res.Output.Texts()}
	for _, out := range res.Output.ToolMetas() {
		if out.Status == messages.StatusUnknown {
			out.Output = ""
		}
		e.results = append(e.results, out.Output)
	}
	return e
}

// requireSame checks that a job has ended as it does uncut, except that a result may be what a
// person has said of the call.
func (e ending) requireSame(t testing.TB, uncut ending) { //nolint:gocritic // an ending is a value
	t.Helper()
	require.Len(t, e.results, len(uncut.results))
	for i, r := range e.results {
		if r == "" {
			e.results[i] = uncut.results[i]
		}
	}
	require.Equal(t, uncut, e)
}

// uncut returns how a job ends to which nothing happens.
func uncut(ctx context.Context, job string) (ending, error) {
	o, err := build(new(checkpoint.Memory), new(memoryWorld), func(c *orchestrator.Config) {
		c.Client = client(func(req *llmclient.Request) scripted.Reply { return reply(read(req)) })
		c.Reply = func(_ context.Context, w machine.Wait) (machine.Reply, error) {
			return machine.Reply{WaitID: w.ID, Approve: granted(markOf(w.Arguments)), Reason: "as it is written"}, nil
		}
	})
	if err != nil {
		return ending{}, err
	}
	res, err := o.Run(ctx, taskOf(job))
	return endingOf(res), err
}

// The job that is cut in all tests does what it is to do where nothing happens to it.
func TestUncut(t *testing.T) {
	e, err := uncut(t.Context(), "s0-0")
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, e.status)
	require.Equal(t, "finished s0-0", e.text)
	require.Contains(t, e.results, "did s0-0/calls/pay-2")
	require.Contains(t, e.results, "did s0-0/approval/put")
	require.Len(t, e.texts, 4)
}
