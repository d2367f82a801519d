package archtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const proofPage = root + "/docs/internal/proof.md"

// defect is one that an early core had, how it is put back, and what finds it.
type defect struct {
	name, was string
	breakage         // without a file: it cannot be put back
	by        string // what finds it
	law       string // of package explore, which alone finds it; "": the crash kit finds it
}

// TestDefects finds what the table of defects puts back, and the tests that find it, and holds a
// section of docs/internal/proof.md against the table; with -rewrite it writes the section. With
// SEGUE_BREAK=1 (make breaks) it puts each defect back, and holds the test to fail; where a law of
// an exploration finds it, the test must pass without that law.
func TestDefects(t *testing.T) {
	code := goCode(t)
	for _, d := range defects {
		if d.file == "" {
			continue
		}
		t.Run(d.name+"/"+d.was, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, d.file))
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(text), d.old), "%s has another text: find another way to put the defect back", d.file)
			folder, test, _ := strings.Cut(d.test, " ")
			require.True(t, code.define(folder, test), "no test %s in %s", test, folder)
			if os.Getenv("SEGUE_BREAK") == "" {
				return
			}
			broken := strings.Replace(string(text), d.old, d.now, 1)
			d.run(t, broken, folder, test)
			if d.law != "" {
				d.passesWithoutLaw(t, broken, folder, test)
			}
		})
	}
	sectionIs(t, proofPage, "defects", sectionOfDefects(), "go test ./internal/archtest -run '^TestDefects$' -rewrite")
}

// passesWithoutLaw runs the test with the defect, and without the law that finds it.
func (d defect) passesWithoutLaw(t *testing.T, broken, folder, test string) {
	t.Helper()
	tree, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, []byte(broken), 0o600))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(tree, filepath.FromSlash(d.file)): file}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-count", "1", "-timeout", "5m", "-run", "^"+test+"$", "./"+folder)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "SEGUE_WITHOUT_LAW="+d.law)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "without the law %q something else finds the defect:\n%s", d.law, out)
}

// sectionOfDefects is the section of docs/internal/proof.md about the defects.
func sectionOfDefects() string {
	var b strings.Builder
	b.WriteString("| defect | what it was | put back in | found by |\n|---|---|---|---|\n")
	for _, d := range defects {
		where, by := "-", d.by
		if d.file != "" {
			folder, test, _ := strings.Cut(d.test, " ")
			where = "`" + d.file + "`"
			if d.law != "" {
				by = "Explore: " + d.law
			}
			by += " (`" + test + "`, " + folder + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.name, d.was, where, by)
	}
	return b.String()
}

// sectionIs holds a section of a page, between two comments, against a text; with -rewrite it
// writes the section.
func sectionIs(t *testing.T, page, name, want, command string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	begin, end := "<!-- "+name+": "+command+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has no %q", page, begin)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s has no %q", page, end)
	if *rewrite {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+want+end+after), 0o600))
		return
	}
	require.Equal(t, want, have, "run: %s", command)
}

// found is how a defect is put back that a test of package explore finds.
func found(test, file, old, now string) breakage {
	return breakage{test: "strategytest/explore " + test, what: "the defect is put back", file: file, old: old, now: now}
}

// defects are those of an early core, by their numbers, and one of what came later.
var defects = []defect{
	{
		name: "B1", was: "an append that has begun is given up when its caller goes away", by: "neither kit, whose stores are in memory and do not look at a context; a test of the journal does",
		breakage: breakage{test: "orchestrator TestStore_finishesThoughTheRunIsCancelled", what: "the defect is put back", file: "orchestrator/journal.go", old: "context.WithCancelCause(context.WithoutCancel(ctx))", now: "context.WithCancelCause(ctx)"},
	},
	{
		name: "B3", was: "a call whose handler fails counts for nothing, so that limits can be passed without end", law: "no limit is passed",
		breakage: found("TestDefects_limits", "machine/step.go", "		status, reason := messages.StatusUnknown, tools.ReasonError\n		if e.safe() {", "		m.refund(e)\n		m.charge(e.frame, &usage{Counts: delegation.Counts{ToolCalls: -1}})\n		status, reason := messages.StatusUnknown, tools.ReasonError\n		if e.safe() {"),
	},
	{
		name: "B4", was: "a strategy sees the raw body of a live reply, and decides otherwise when the run is resumed", law: "answers from a journal give the same steps",
		breakage: found("TestDefects_raw", "machine/record.go", "		resp.Raw = nil\n", ""),
	},
	{name: "B4", was: "a strategy sees the live error of a client", by: "neither, for it cannot be put back: an answer holds a Failure, which is data and has no place for an error"},
	{
		name: "B5", was: "an agent may use all tools of the run", law: "no tool is called that the frame may not use",
		breakage: found("TestDefects_toolsOfAgents", "machine/step.go", "Tools: e.agent.Tools, Model", "Tools: nil, Model"),
	},
	{name: "B5", was: "the run of an agent can be taken by a stranger; its id is too long for the store", by: "neither, for it cannot be put back: an agent works in a branch of its caller's run, and has no run of its own"},
	{
		name: "B6", was: "a remote child is given more than is left", law: "no limit is passed",
		breakage: found("TestDefects_limitsOfChildren", "machine/step.go", "limits := m.remaining(f).tighter(amountsOf(step.Limits).or(noLimits))", "limits := amountsOf(step.Limits).or(noLimits)"),
	},
	{
		name: "B11", was: "two calls of a reply may have one id", law: "an answer that does not fit is refused and changes nothing",
		breakage: found("TestDefects_misfits", "machine/effect.go", "			if ids[c.ID] {", "			if false {"),
	},
	{
		name: "B11", was: "a result may be of another tool than the call", law: "an answer that does not fit is refused and changes nothing",
		breakage: found("TestDefects_misfits", "machine/effect.go", "	case o.ToolName != \"\" && o.ToolName != c.Name:", "	case false:"),
	},
	{
		name: "B11", was: "a usage may be negative, and gives back what was spent", law: "an answer that does not fit is refused and changes nothing",
		breakage: found("TestDefects_misfits", "machine/effect.go", "	return u.Input < 0 ||", "	return false && u.Input < 0 ||"),
	},
	{
		name: "B12", was: "a strategy sees text that is not UTF-8, which no journal keeps", law: "answers from a journal give the same steps",
		breakage: found("TestDefects_text", "machine/record.go", "		if !utf8.ValidString(text) {", "		if false && !utf8.ValidString(text) {"),
	},
	{name: "B12", was: "a fan-out ignores Parallel", by: "neither: both kits have everything under way at once, where order shows most; the laws of package machine count what is in progress"},
	{name: "B12", was: "a Config that is changed later changes the Orchestrator; typed nils panic", by: "neither: it is no matter of one run; tests of New in package orchestrator look at it"},
	{
		name: "B14", was: "a stopped run ends with open calls in its conversation", law: "the conversation of an output is valid, with each call answered once",
		breakage: found("TestDefects_stops", "machine/frame.go", "	out.Messages, _ = out.Messages.Repair()\n", ""),
	},
	{
		name: "B15", was: "a call that may have had its effect is made again in silence", by: "crash kit",
		breakage: breakage{test: kit, what: "the defect is put back", file: "machine/snapshot.go", old: "case e.performed() && e.intended && e.kind == EffectTool:", now: "case false:"},
	},
	{
		name: "B15", was: "one approval, two calls, by a middleware that calls twice", by: "neither kit, for the crash kit has a middleware of its own alone; a test of middlewares does",
		breakage: breakage{test: "orchestrator TestMiddleware_oneApprovalOnePayment", what: "the defect is put back", file: "orchestrator/execution.go", old: "if x.call != nil && !x.effect.Safe() {", now: "if false {"},
	},
	{
		name: "B16", was: "a run whose agents were stopped is a success", law: "a stopped run is done only if nothing of it was cut off",
		breakage: found("TestDefects_stoppedAgents", "machine/ending.go", "		f.up.batch.cut = true\n		m.leave(f, out)", "		m.leave(f, out)"),
	},
	{name: "B16", was: "the zero FSM panics", by: "neither: no run begins with it; `TestFSM_zeroRefuses` does"},
	{
		name: "B18", was: "text from outside that a remote child brings is trusted", law: "a frame that has read text from outside is known to have",
		breakage: found("TestDefects_textFromOutside", "machine/effect.go", "	if out.Untrusted || holdsUntrusted(out.Messages) {", "	if holdsUntrusted(out.Messages) {"),
	},
	{
		name: "B18", was: "a run, or its agent, fails for good when the store fails for a moment", by: "crash kit, on a store that does",
		breakage: breakage{test: "strategytest/crash TestStore_flaky", what: "the defect is put back", file: "orchestrator/journal.go", old: "if isFinal(err) || time.Since(began)", now: "if true || time.Since(began)"},
	},
	{
		name: "-", was: "a strategy may hand off more often than the limit on handoffs allows", by: "Explore: no limit is passed, and without it a run that meets nothing but the same mishap does not end",
		breakage: found("TestDefects_handoffs", "machine/ending.go", "m.reached(f, oneHandoff())", "m.reached(f, stepOf(0, 0))"),
	},
}
