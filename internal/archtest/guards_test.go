package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const guardsPage = root + "/docs/internal/durability-guards.md"

// guard is something that keeps a run whole where processes die, freeze or meet; what happens
// without it; and how it is disabled, with the test that fails then.
type guard struct {
	name, without string
	breakage
}

// TestGuards finds what the table of guards disables, and its tests, and holds
// docs/internal/durability-guards.md against the table; with -rewrite it writes the page. With
// SEGUE_BREAK=1 (make breaks) it disables each guard in turn, as TestBreakages does, and holds the
// test to fail.
func TestGuards(t *testing.T) {
	code := goCode(t)
	for _, g := range guards {
		t.Run(g.name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, g.file))
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(text), g.old), "%s has another text: find another way to disable it", g.file)
			folder, test, _ := strings.Cut(g.test, " ")
			require.True(t, code.define(folder, test), "no test %s in %s", test, folder)
			if os.Getenv("SEGUE_BREAK") != "" {
				g.run(t, strings.Replace(string(text), g.old, g.now, 1), folder, test)
			}
		})
	}
	page := pageOfGuards()
	if *rewrite {
		require.NoError(t, os.WriteFile(guardsPage, []byte(page), 0o600))
	}
	have, err := os.ReadFile(guardsPage)
	require.NoError(t, err)
	require.Equal(t, page, string(have), "run: go test ./internal/archtest -run TestGuards -rewrite")
}

// pageOfGuards is docs/internal/durability-guards.md.
func pageOfGuards() string {
	var b strings.Builder
	b.WriteString(`# What keeps a run whole

Each guard below is needed: ` + "`make breaks`" + ` disables one after the other in a copy of its file, and holds the test to fail.
Generated from the table in ` + "`internal/archtest/guards_test.go`" + `; see there for what is changed.

| guard | without it | in | the test that fails |
|---|---|---|---|
`)
	for _, g := range guards {
		folder, test, _ := strings.Cut(g.test, " ")
		fmt.Fprintf(&b, "| %s | %s | `%s` | `%s`, %s |\n", g.name, g.without, g.file, test, folder)
	}
	return b.String()
}

// disabled is how a guard is disabled.
func disabled(test, file, old, now string) breakage {
	return breakage{test: test, what: "its guard is disabled", file: file, old: old, now: now}
}

const (
	kit          = "strategytest/crash TestCrash_builtIn"
	compositions = "strategytest/crash TestCrash_compositions"
)

// guards are in the order in which a run meets them.
var guards = []guard{
	{
		"an append before the telling", "a reader hears of what never happened",
		disabled(kit, "orchestrator/loop.go", "	if err := r.commit(); err != nil {\n		r.endBroken(err)", "	r.deliver(r.m.Ready().Events)\n	if err := r.commit(); err != nil {\n		r.endBroken(err)"),
	},
	{
		"the intent of a call", "a call that had its effect is made again in silence",
		disabled(kit, "machine/effect.go", "return (e.kind == EffectRemote || !e.safe()) && !e.intended", "return false"),
	},
	{
		"the question about what is unknown", "a call that had its effect is made again in silence",
		disabled(kit, "machine/snapshot.go", "case e.performed() && e.intended && e.kind == EffectTool:", "case false:"),
	},
	{
		"the idempotency key", "a service cannot tell a call that is made again from a new one",
		disabled(kit, "machine/effect.go", `strconv.Itoa(e.ID.Seq) + "/" + strconv.Itoa(e.ID.Index)`, `strconv.Itoa(e.Record) + "/" + strconv.Itoa(e.ID.Index)`),
	},
	{
		"answers that are read from the journal", "what was answered is done again",
		disabled(kit, "orchestrator/internal/journals/reading.go", "	err := rd.Machine.Apply(rec)\n", "	if _, ok := rec.(machine.Answered); ok {\n		return nil, nil\n	}\n	err := rd.Machine.Apply(rec)\n"),
	},
	{
		"the verdict before an agent begins", "a resumed run opens branches under another verdict",
		disabled("machine TestApproval_ofAgents", "machine/approval.go", "case e.agent != nil && e.state != waiting:", "case false:"),
	},
	{
		"people are asked again after a crash", "a run waits for an answer that nobody was asked for",
		disabled(compositions, "machine/snapshot.go", "if w := &e.waits[i]; !w.closed {", "if false {\n				w := &e.waits[i]"),
	},
	{
		"one start of an unsafe call", "a middleware that tries again pays twice",
		disabled("orchestrator TestMiddleware_oneApprovalOnePayment", "orchestrator/execution.go", "if x.call != nil && !x.effect.Safe() {", "if false {"),
	},
	{
		"calls that were not begun", "somebody is asked about a call that nobody has made",
		disabled("orchestrator TestResume_brokenOff", "orchestrator/stop.go", "if !e.Safe() && r.executions[e.ID] == nil {", "if false {"),
	},
	{
		"the place of a record", "two processes write one run",
		disabled("checkpoint TestMemory_Conformance", "checkpoint/memory.go", "if want := len(run.records) + i + 1; r.Seq != want {", "if want := len(run.records) + i + 1; false {"),
	},
	{
		"the writer's token", "who repeats an append after an unclear outcome is taken for somebody else",
		disabled("orchestrator TestStore_triesAgain", "checkpoint/memory.go", "case run.repeats(&b):", "case false:"),
	},
	{
		"the epoch", "a process that was frozen writes behind the one that has taken the run over",
		disabled("orchestrator TestLease_takenOver", "checkpoint/memory.go", "case b.Epoch < run.head.Epoch:", "case false:"),
	},
	{
		"the lease", "two processes work on one run, and one of them in vain",
		disabled("checkpoint TestMemory_Conformance", "checkpoint/memory.go", "case h.Lease.Until.After(now):", "case false:"),
	},
	{
		"the heartbeat", "a run whose calls take long seems to have died",
		disabled("orchestrator TestLease_takenOver", "orchestrator/journal.go", "if !l.held || time.Since", "if true || time.Since"),
	},
	{
		"the end of who was taken over", "a process works on, though nothing of it is kept",
		disabled("orchestrator TestLease_takenOver", "orchestrator/journal.go", "		r.cancel(ErrTakenOver)\n", ""),
	},
	{
		"the lease of who takes over", "two processes that take a run over at once both work on it",
		disabled("orchestrator TestTakeOver_byTwoAtOnce", "orchestrator/resume.go", "if err == nil && leases { // of two", "if false { // of two"),
	},
	{
		"the nonce of a turn", "a service takes the payment of a turn that is begun anew for the old one",
		disabled("orchestrator TestSession_begunAnewHasOtherKeys", "orchestrator/session.go", `task.Session, turn+1), rand.Text()`, `task.Session, turn+1), rand.Text()[:0]`),
	},
	{
		"one loop for a run in a process", "a process works on a run twice",
		disabled("orchestrator TestResume_inProgress", "orchestrator/journal.go", "	if k.runs[r.journal.key] != nil {\n		return false\n	}\n", ""),
	},
	{
		"appends that are tried again", "a store that fails for a moment ends the run",
		disabled("orchestrator TestStore_triesAgain", "orchestrator/journal.go", "if isFinal(err) || time.Since(began)", "if true || time.Since(began)"),
	},
	{
		"what recovery counts", "a run that ends its process ends the next one too, for ever",
		disabled("orchestrator TestRecover_endsTheProcess", "orchestrator/recover.go", "if now.Recoveries > mostRecoveries {", "if false {"),
	},
	{
		"the version of who parked a run", "no other version ever tries the run",
		disabled("orchestrator TestRecover_otherVersion", "orchestrator/recover.go", `h.Header.Version == ""):`, `h.Header.Version != c.o.cfg.Version):`),
	},
	{
		"the shape of a step", "an answer is given to another question than the one that was asked",
		disabled("machine TestMachine_refusesWrongRecords", "machine/effect.go", `same := frame == "" || frame`, `same := true || frame`),
	},
	{
		"the digest of a step", "nobody learns that a prompt has changed under a run",
		disabled("machine TestDrift", "machine/effect.go", `if recorded == "" || e.digest == "" || recorded == e.digest {`, `if true {`),
	},
	{
		"the same form live and replayed", "a resumed run decides otherwise than the live one",
		disabled("machine TestCanonical_dropsTheRawBody", "machine/record.go", "		resp.Raw = nil\n", ""),
	},
	{
		"the hash of what a reply answers", "a reply approves another call than the one that was shown",
		disabled("machine TestApproval_isBound", "machine/approval.go", "w.Tool, jsonform.Canonical(w.Arguments), w.Text}", "w.Tool, w.Text}"),
	},
	{
		"arguments as they were approved", "a middleware makes another call than the one that was approved",
		disabled("orchestrator TestApprove_changedBehind", "orchestrator/tool_calls.go", "if was.Approved {", "if false {"),
	},
	{
		"the limits of a run in its journal", "a run that is resumed has the budget of whoever resumes it",
		disabled("machine TestFold_boundsAsTheyWere", "machine/machine.go", "amountsOf(s.Limits).or(amountsOf(c.Limits))", "amountsOf(c.Limits).or(amountsOf(s.Limits))"),
	},
	{
		"the limits behind those of a resumption", "whoever resumes a run lifts the limits that he does not name",
		disabled("machine TestFold_boundsAsTheyWere", "machine/snapshot.go", "amountsOf(r.Limits).or(m.root.limits)", "amountsOf(r.Limits).or(defaultLimits)"),
	},
	{
		"approvals that are open", "a question is asked anew whenever its run is resumed, and no reply to the first fits",
		disabled("machine TestFold_boundsAsTheyWere", "machine/snapshot.go", "w != nil && w.Expired(m.now)", "w != nil"),
	},
	{
		"taint in the journal", "a resumed run trusts what it has read from outside",
		disabled("machine TestFold_boundsAsTheyWere", "messages/encode.go", "if o.Untrusted {", "if false {"),
	},
	{
		"the tools of a run in its journal", "a resumed run may use tools that it did not have",
		disabled("machine TestFold_boundsAsTheyWere", "machine/machine.go", "	if s.Tools == nil {\n		s.Tools = c.Tools", "	if true {\n		s.Tools = c.Tools"),
	},
}
