package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// breakage is a change that breaks a scenario, and the test that then fails. Every scenario that is
// marked as shown has a test with its number and a breakage: it proves that the test really checks
// what the scenario says.
type breakage struct {
	scenario scenario
	test     string // the folder of its package and its name, such as "orchestrator TestS1_1"
	what     string // what the broken library does
	file     string // the file to change
	old, now string // a text that occurs once in the file, and its replacement
}

// TestBreakages checks that the texts that breakages change, and their tests, exist. With
// SEGUE_BREAK=1 (make breaks) it applies each breakage, through an overlay of the go command, and
// requires that its test fails, with 300 cases of what package prove counts. This takes some
// seconds for each.
func TestBreakages(t *testing.T) {
	code := goCode(t)
	for _, b := range breakages {
		t.Run(b.scenario.String()+"/"+b.what, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, b.file))
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(text), b.old), "%s has another text: find another way to break what %s says", b.file, b.scenario)
			folder, test, _ := strings.Cut(b.test, " ")
			require.Contains(t, numbersIn(strings.Replace(test, "Test", "_", 1)), b.scenario)
			require.True(t, code.define(folder, test), "no test %s in %s", test, folder)
			if os.Getenv("SEGUE_BREAK") != "" {
				b.run(t, strings.Replace(string(text), b.old, b.now, 1), folder, test)
			}
		})
	}
}

// run runs the test of a breakage. The test itself must fail: a package that does not build proves
// nothing.
func (b breakage) run(t *testing.T, broken, folder, test string) {
	t.Helper()
	tree, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "broken.go")
	require.NoError(t, os.WriteFile(file, []byte(broken), 0o600))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(tree, filepath.FromSlash(b.file)): file}})
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-count", "1", "-timeout", "5m", "-run", "^"+test+"$", "./"+folder)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "SEGUE_PROVE=300")
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "%s does not fail when %s:\n%s", test, b.what, out)
	require.Contains(t, string(out), "--- FAIL: "+test, "%s", out)
	t.Logf("%s", out)
}

// define reports whether the tests of a folder include one with this name.
func (s sources) define(folder, test string) bool {
	for file, text := range s {
		if filepath.ToSlash(filepath.Dir(file)) == root+"/"+folder && strings.Contains(text, "\nfunc "+test+"(") {
			return true
		}
	}
	return false
}

// breakages are in the order of the scenarios. A scenario that says several things needs several.
var breakages = []breakage{
	{
		scenario{"S0", 8},
		"orchestrator TestS0_8_runOfAReplyWithoutChoices", "a reply without choices is an empty answer",
		"llmclient/openaichat/accumulate.go", `return true, wire.Lacks(data, "choice")`,
		`a.index, a.finish = 0, "stop"; return true, nil`,
	},
	{
		scenario{"S0", 8},
		"orchestrator TestS0_8_runOfAReplyWithoutChoices", "a run that fails has no history",
		"machine/frame.go", `out.Messages = out.Messages.Clip()`, `out.Messages = nil`,
	},
	{
		scenario{"S1", 2},
		"strategy/completetask TestS1_2_ways", "the stream lacks the end of a call",
		"machine/step.go", `m.emitFor(f, e.id.Seq, EventToolFinished, ToolFinished{Output: out})`, `_ = out`,
	},
	{
		scenario{"S1", 2},
		"strategy/completetask TestS1_2_ways", "the stream lacks the beginning of a call",
		"machine/step.go", `m.emitFor(e.frame, e.id.Seq, EventToolStarted, ToolStarted{Call: e.call})`, ``,
	},
	{
		scenario{"S1", 2},
		"strategy/completetask TestS1_2_ways", "Run returns no metadata",
		"orchestrator/orchestrator.go", `res = result(&end, e.Run)`, `res = result(&end, e.Run); res.Output.Metadata = nil`,
	},
	{
		scenario{"S1", 4},
		"orchestrator TestS1_4_noFieldForTools", "no tools are an empty list of them",
		"llmclient/internal/wire/body.go", `if n == 0 {`, `if n < 0 {`,
	},
	{
		scenario{"S1", 4},
		"orchestrator TestS1_4_noFieldForTools", "a critique is offered the tools of the run",
		"strategy/reflection/reflection.go", `Messages: s.History.Clip(), Schema: s.schema,`, `Messages: s.History.Clip(), Schema: s.schema, Tools: s.Defs,`,
	},
	{
		scenario{"S1", 4},
		"orchestrator TestS1_4_noFieldForTools", "ReAct offers tools besides its text",
		"strategy/react/react.go", `ToolFormat:  llmclient.ToolsText,`, ``,
	},
	{
		scenario{"S1", 6},
		"checkpoint/sqlitestore TestS1_6_stoppedByAnotherProcess", "a run that is resumed does not look into its inbox before it goes on",
		"orchestrator/resume.go", `r.collect(posted)
	return nil`, `return nil`,
	},
	{
		scenario{"S1", 6},
		"checkpoint/sqlitestore TestS1_6_stoppedByAnotherProcess", "what has not begun when the stop comes begins",
		"orchestrator/loop.go", `stops := r.stopped()`, `stops := r.stopped() && r.m.Seq() > 99`,
	},
	{
		scenario{"S1", 6},
		"checkpoint/sqlitestore TestS1_6_stoppedByAnotherProcess", "the error does not say why the run was stopped",
		"orchestrator/inbox.go", `return "stop was asked for: " + e.reason`, `return "stop was asked for"`,
	},
	{
		scenario{"S1", 7},
		"orchestrator TestS1_7_stoppedBehindTheSecondRound", "the metadata does not count the rounds",
		"strategy/completetask/output.go", `"model_calls": strconv.AppendInt(nil, int64(s.Asked), 10)`, `"model_calls": strconv.AppendInt(nil, 0, 10)`,
	},
	{
		scenario{"S1", 16},
		"strategy/planreviseexecute TestS1_16_textsOfSteps", "what a step said is lost",
		"strategy/planreviseexecute/execute.go", `s.parts = append(s.parts, delegation.PartsOf(out, step.ID, len(s.History))...)`, ``,
	},
	{
		scenario{"S1", 16},
		"strategy/planreviseexecute TestS1_16_textsOfSteps", "the steps that are done are not counted",
		"strategy/planreviseexecute/output.go", `_ = m.Set("steps_executed", s.plan.Done())`, `_ = m.Set("steps_executed", 0)`,
	},
	{
		scenario{"S1", 16},
		"strategy/planreviseexecute TestS1_16_textsOfSteps", "a plan as long as is allowed is cut",
		"strategy/planreviseexecute/internal/planorder/plan.go", `if len(revised.Steps) >= rules.MaxSteps && !rules.Refuse {`, `if len(revised.Steps)+1 >= rules.MaxSteps && !rules.Refuse {`,
	},
	{
		scenario{"S1", 18},
		"strategy/planreviseexecute TestS1_18_planIsCut", "a plan that is too long is not cut",
		"strategy/planreviseexecute/internal/planorder/plan.go", `if len(revised.Steps) >= rules.MaxSteps && !rules.Refuse {`, `if rules.MaxSteps < 0 {`,
	},
	{
		scenario{"S1", 18},
		"strategy/planreviseexecute TestS1_18_planIsCut", "the metadata does not say how long the plan was",
		"strategy/planreviseexecute/internal/planorder/plan.go", `revised.Planned = len(revised.Steps) + cut`, `revised.Planned = len(revised.Steps)`,
	},
	{
		scenario{"S1", 18},
		"strategy/planreviseexecute TestS1_18_planIsCut", "the metadata does not say that the plan was cut",
		"strategy/planreviseexecute/output.go", `_ = m.Set("truncated", true)`, ``,
	},
	{
		scenario{"S1", 8},
		"checkpoint/sqlitestore TestS1_8_stoppedByAnotherProcess", "a stop at once does not end the request of the model",
		"orchestrator/inbox.go", `r.cancel(&errPostedStop{p.Text}) // also an effect on the goroutine of the loop`, ``,
	},
	{
		scenario{"S1", 8},
		"checkpoint/sqlitestore TestS1_8_stoppedByAnotherProcess", "the text so far is lost",
		"orchestrator/handler.go", `answer.Code, answer.Model, answer.Partial = delegation.Code(failed.Code), failed.Model, failed.Partial`, `answer.Code, answer.Model = delegation.Code(failed.Code), failed.Model`,
	},
	{
		scenario{"S1", 19},
		"orchestrator TestS1_19_aStepFails", "a plan goes on behind a step that failed",
		"strategy/planreviseexecute/execute.go", `if step.Err != nil {`, `if step.Err != nil && s.plan.Next() < 0 {`,
	},
	{
		scenario{"S1", 19},
		"orchestrator TestS1_19_aStepFails", "a step is not told the results that it depends on",
		"strategy/planreviseexecute/execute.go", `data.Results = s.results(step.DependsOn)`, ``,
	},
	{
		scenario{"S1", 34},
		"tools/mcptools TestS1_34_sameAsNative", "results of a server are not marked as untrusted",
		"tools/mcptools/listing.go", `!s.cfg.TrustResults,`, `false,`,
	},
	{
		scenario{"S1", 34},
		"tools/mcptools TestS1_34_sameAsNative", "the server is called with arguments that do not fit",
		"tools/mcptools/tool.go", `t.schema.ArgumentsContext(ctx, arguments)`, `arguments, error(nil)`,
	},
	{
		scenario{"S1", 35},
		"tools/mcptools TestS1_35_perAgent", "two tools with one name are joined",
		"tools/mcptools/names.go", `owner[name]; taken {`, `owner[name]; taken && first == "" {`,
	},
	{
		scenario{"S1", 35},
		"tools/mcptools TestS1_35_perAgent", "tools that are not allowed are offered",
		"tools/mcptools/admission.go", `if cfg.Allow != nil && !slices.Contains(cfg.Allow, t.Name) {`, `if slices.Contains(cfg.Allow, "") {`,
	},
	{
		scenario{"S1", 36},
		"tools/mcptools TestS1_36_retry", "a failure of a server's tool is a result",
		"tools/mcptools/tool.go", `if res.IsError {`, `if false {`,
	},
	{
		scenario{"S1", 37},
		"tools/mcptools TestS1_37_endToEnd", "the end of a run does not end the call of the server",
		"tools/mcptools/tool.go", `own, stop := context.WithCancelCause(ctx)`, `own, stop := context.WithCancelCause(context.WithoutCancel(ctx))`,
	},
	{
		scenario{"S1", 37},
		"tools/mcptools TestS1_37_endToEnd", "the progress of a server is lost",
		"tools/mcptools/call.go", `tools.Progress(r.ctx, progressText(p))`, `tools.Progress(context.Background(), progressText(p))`,
	},
	{
		scenario{"S3", 15},
		"orchestrator TestS3_15_orphan", "a call that nobody answered is answered as if it had gone well",
		"messages/repair.go", `Status: StatusUnknown`, `Status: StatusOK`,
	},
	{
		scenario{"S3", 15},
		"orchestrator TestS3_15_orphan", "an empty message of the assistant stays",
		"messages/repair.go", `if m.Empty() {`, `if false {`,
	},
	{
		scenario{"S3", 18},
		"orchestrator TestS3_18_noSuchAgent", "the first strategy of the set stands in for one that is not there",
		"strategy/strategy.go", `return nil, &UnknownError{Name: name, Known: s.Names()}`, `return s[s.Names()[0]](), nil`,
	},
	{
		scenario{"S3", 19},
		"orchestrator TestS3_19_orderOfHooks", "a call that was changed is made as it was",
		"orchestrator/tool_calls.go", `if e.Call.Arguments != was.Call.Arguments {`, `if e.Call.Arguments = was.Call.Arguments; false {`,
	},
	{
		scenario{"S3", 19},
		"orchestrator TestS3_19_orderOfHooks", "the first plan is made behind the first step",
		"strategy/stepagent/stepagent.go", `(s.iteration-1)%s.PlanEvery == 0`, `s.iteration > 1`,
	},
	{
		scenario{"S4", 1},
		"strategy/reasonactobserve TestS4_1_finishesAtOnce", "the first event does not say how many steps there may be",
		"orchestrator/sse/flat.go", `Strategy: cmp.Or(f.Strategy, d.Strategy), MaxSteps: f.MaxSteps}`, `Strategy: cmp.Or(f.Strategy, d.Strategy)}`,
	},
	{
		scenario{"S4", 1},
		"strategy/reasonactobserve TestS4_1_finishesAtOnce", "the last event does not say how many steps there were",
		"orchestrator/sse/flat.go", `{Type: FlatCompletion, Steps: f.Turns, Answer`, `{Type: FlatCompletion, Answer`,
	},
	{
		scenario{"S4", 1},
		"strategy/reasonactobserve TestS4_1_finishesAtOnce", "the answer that comes with a decision is not taken",
		"strategy/reasonactobserve/control.go", `FinalAnswer    text   ` + "`json:\"final_answer\"`", `FinalAnswer    text   ` + "`json:\"answer\"`",
	},
	{
		scenario{"S4", 7},
		"orchestrator TestS4_7_anotherAnswerMeanwhile", "an answer goes to whatever else is waited for",
		"orchestrator/questions.go", `rec.Reply.WaitID = w.ID`, `for _, o := range r.m.Waits() {
			if rec.Reply.WaitID = o.ID; o.ID != w.ID {
				break
			}
		}`,
	},
	{
		scenario{"S4", 7},
		"orchestrator TestS4_7_anotherAnswerMeanwhile", "a person may take longer than the run",
		"orchestrator/questions.go", `reply, err := x.run.o.cfg.Reply(ctx, w)`, `reply, err := x.run.o.cfg.Reply(context.WithoutCancel(ctx), w)`,
	},
	{
		scenario{"S4", 18},
		"checkpoint/sqlitestore TestS4_18_stoppedByAnotherProcess", "the conversation ends with results of tools",
		"machine/ending.go", `out.Messages = append(out.Messages, messages.AssistantText(e.note)).Clip()`, `out.Messages = out.Messages.Clip()`,
	},
	{
		scenario{"S4", 18},
		"checkpoint/sqlitestore TestS4_18_stoppedByAnotherProcess", "a stop that waits for the tool cuts it off",
		"orchestrator/inbox.go", `if r.journal.inbox.stops.Store(true); p.Now {`, `if r.journal.inbox.stops.Store(true); true {`,
	},
	{
		scenario{"S4", 18},
		"checkpoint/sqlitestore TestS4_18_stoppedByAnotherProcess", "a call that had begun when its process was killed counts as not started",
		"machine/ending.go", `if e.state == waiting || e.begun {`, `if e.state == waiting && false {`,
	},
	{
		scenario{"S4", 18},
		"checkpoint/sqlitestore TestS4_18_stoppedByAnotherProcess", "a stop at once waits for the tool",
		"orchestrator/inbox.go", `r.cancel(&errPostedStop{p.Text}) // also an effect on the goroutine of the loop`, ``,
	},
	{
		scenario{"S4", 22},
		"orchestrator TestS4_22_callsOnTheWire", "a message without calls has an empty list of them",
		"llmclient/openaichat/encodemsg.go", `if calls > 0 {`, `if true {`,
	},
	{
		scenario{"S4", 22},
		"orchestrator TestS4_22_callsOnTheWire", "arguments are sent as an object",
		"llmclient/openaichat/encodemsg.go", `e.Text("arguments", args)`, `e.Raw("arguments", []byte(args), "")`,
	},
	{
		scenario{"S4", 27},
		"orchestrator/sse TestS4_27_oneToOne", "calls are shown under the names of their types",
		"orchestrator/sse/flat.go", `return strings.TrimPrefix(string(e.Type), "agent_")`, `return string(e.Type)`,
	},
	{
		scenario{"S4", 27},
		"orchestrator/sse TestS4_27_oneToOne", "nobody hears that the results of calls are there",
		"orchestrator/sse/flat.go", `return []FlatEvent{{Type: FlatObserve, Step: f.Turns}}`, `return nil`,
	},
	{
		scenario{"S4", 27},
		"orchestrator/sse TestS4_27_oneToOne", "a question ends the turn without a word",
		"orchestrator/sse/flat.go", `return []FlatEvent{{Type: FlatRequestInput, Step: f.Turns, Question: d.Wait.Text}}`, `return nil`,
	},
}
