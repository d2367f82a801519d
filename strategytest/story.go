package strategytest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/coverage"
	"github.com/segue-go/segue/tools"
)

// Stories runs every script (*.txt) below dir as a separate test, with the strategies of the set.
// The flag -rewrite rewrites the expected output; read the difference before you accept it.
//
// A script begins with a comment that says why it exists. After that it is a list of commands in
// the form of github.com/cockroachdb/datadriven: a command with arguments, lines of input, "----",
// and the output.
//
//	model              what the model will say: replies separated by blank lines, each a list of
//	                   lines
//	                     for TEXT               only for a request whose last user message has this
//	                     say TEXT               a text; one in double quotes may hold \n; another is
//	                                            the next piece of it
//	                     think TEXT             a thought
//	                     call ID NAME [ARGS]    a tool call, with the arguments as they are
//	                     finish REASON          the finish reason, if it is not the usual one
//	                     usage INPUT OUTPUT     tokens
//	                     fail CODE [TEXT]       no reply: an error of that llmclient.Code
//	                     nothing                an empty reply
//	                     hang                   it takes a day: all else comes first
//	tool NAME [FLAG…]  a tool whose result is the input; flags: failed, panics, read-only,
//	                   idempotent, sequential, needs-approval, untrusted
//	agent NAME STRATEGY [fan-out] [NAME=N…]
//	                   a tool that runs a strategy, as orchestrator.AgentTool makes it, with limits
//	                   of each run
//	limits NAME=N…     limits of the runs below, named as in the JSON form of delegation.Limits
//	large keep=N [show=N]
//	                   the runs below keep results of more than show bytes, N bytes of them, as
//	                     orchestrator.LargeResults says
//	note WHERE         a note, the input, that comes in a step of the next run or resume; before
//	                   its answer. Any number of them
//	run STRATEGY [history=last] [replies=last] [data=JSON] [deltas] [brief] [stop=WHERE]
//	    [stop-now=WHERE] [crash=WHERE]
//	                   a run whose goal is the input; history=last: after the messages of the last
//	                   run; replies=last: with its replies; data=JSON: with that data, which has no
//	                   blanks; brief leaves changes of state out of the output, and all steps
//	                   except the results of agents
//	resume [unknown=tell] [NAME=N…] [deltas] [brief] [stop=WHERE] [stop-now=WHERE] [crash=WHERE]
//	                   the last run goes on in another process, with new limits if they are named;
//	                   each line of the input answers a question of the run
//	                     approve CALL           make the call, or make it again
//	                     edit CALL ARGUMENTS    make the call with other arguments, a JSON object
//	                     refuse CALL [REASON]   do not make it
//	                     answer CALL TEXT       the answer to a question, or what is known of a call
//	walk STRATEGY [children=(STRATEGY, …)] [caps=N] [steps]
//	                   a run in which the world is played, as explore.Walk makes it; the children
//	                   are answered, not run, and caps are lowered to N. The lines of the input:
//	                     goal TEXT              the goal; one in double quotes may hold \n
//	                     world JSON             what no command says, as explore.Story writes it
//	                     #ID NAME               a reaction to an effect, such as "#3/2 tool ok"
//	                     #ID answer JSON        your own answer, see nextstep.AppendAnswer
//	                     #ID record JSON        your own record, see machine.AppendRecord
//	                     NAME                   for the whole run: stop, stop now, crash
//
// A run has the strategies of the set that name only tools and strategies of the script, and those
// that it needs. If orchestrator.New refuses the configuration, the output is its error.
//
// The output of run is what happened: the frames entered and left, the changes of state, what each
// step requested (of the messages of a request, those that the last request of its frame did not
// have) and how it was answered, and the usage of each frame below the root. It also lists replies
// that were not used. Agents, which work concurrently, are written one after the other, in the step
// that ran them; each has a name ("4/c1/2": the second goal of the call c1 in step 4) and numbers
// its own frames and steps.
//
// The output of walk is that every law of package explore holds, or the law that is broken, and
// how. With steps it is also what the run asks for, at first and after each reaction. [Explore]
// writes such stories.
//
// A request that does not begin with the last one of its frame, and declares nothing, fails the
// test; see [nextstep.GetChatCompletion].
//
// A run can be stopped in a step ("#3", or "4/c1/2#1" for one of an agent), or in the first step of
// a frame ("0.1"): after it (stop) or before it has an answer (stop-now). In a batch this is the
// first call. If other calls run at the same time, they first proceed as far as they can. In a step
// whose first call is that of an agent, the run is stopped when the agent begins, however far the
// others are. A script runs in a testing/synctest bubble, with its clock.
//
// A run can also crash in a step, as if its process was killed. In a step that asks a model the
// process dies before the model is asked. In a batch it dies in the first call, after the call had
// its effect and before its result is stored; other calls first proceed as far as they can. An
// agent's call is not such a step, but the agent's steps are. The output is what happened before;
// after the crash only the journal is left. A run that crashed, or that waits for somebody, goes on
// with resume, any number of times. The process that resumes it has the tools that the script
// defines by then, and the replies that were not used, or those of a new model. Its output begins
// with the frames that are open and their states. Steps keep their numbers. A question is named
// after its call: "c1", "4/c1/c2" for a call of the agent "4/c1", and after its step, "#3", if it
// is about no call.
//
// Stories returns which states and transitions of the strategies the runs came through; see
// [RequireCoverage]. What a process did after it crashed does not count.
func Stories(t *testing.T, dir string, set strategy.Set) *coverage.Coverage {
	t.Helper()
	return playAll(t, dir, set, nil)
}

// playAll runs every script below dir. It calls before, which may be nil, before each run.
func playAll(t *testing.T, dir string, set strategy.Set, before func(*testing.T, *storyRun)) *coverage.Coverage {
	t.Helper()
	covered := coverage.New(set)
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "strategytest: no stories in %s", dir)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := story{set: set, before: before, covered: covered}
			datadriven.RunTest(t, file, s.command)
		})
	}
	return covered
}

// story is the state between the commands of one script.
type story struct {
	set     strategy.Set
	before  func(*testing.T, *storyRun)
	covered *coverage.Coverage
	replies []scripted.Reply // for the next run
	script  []scripted.Reply // of the last run
	tools   []tools.Tool
	limits  delegation.Limits
	large   orchestrator.LargeResults
	notes   []storyNote            // for the next run
	configs map[string]*configured // of the runs of each strategy with these tools and limits
	last    messages.History
	life    *life // of the last run; nil before the first
}

func (s *story) command(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "model":
		replies, err := parseReplies(d.Input)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		s.replies = replies
		return ""
	case "tool":
		s.configs = nil
		s.addTool(t, d)
		return ""
	case "agent":
		s.configs = nil
		s.addAgent(t, d)
		return ""
	case "limits":
		s.configs, s.limits = nil, delegation.Limits{}
		for _, arg := range d.CmdArgs {
			setLimit(t, d, &s.limits, arg)
		}
		return ""
	case "large":
		s.configs = nil
		s.setLarge(t, d)
		return ""
	case "note":
		s.addNote(t, d)
		return ""
	case "run":
		return s.run(t, d)
	case "resume":
		return s.resume(t, d)
	case "walk":
		return s.walk(t, d)
	default:
		d.Fatalf(t, "no command %q: the commands are model, tool, agent, limits, large, note, run, resume and walk", d.Cmd)
		return ""
	}
}
