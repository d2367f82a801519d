package orchestrator_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// TestSuspendedRuns shows what many runs cost that wait for somebody: no goroutine, and little
// memory beyond what was said in them. All of them go on when they are answered. It runs in a
// process of its own, in which earlier tests leave nothing that is freed meanwhile.
func TestSuspendedRuns(t *testing.T) {
	const alone = "SEGUE_TEST_ALONE"
	if os.Getenv(alone) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestSuspendedRuns$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		t.Logf("%s", out)
		return
	}
	const most = 3 << 10 // bytes of a run beyond its history
	asking := scripted.Func(func(req *llmclient.Request) scripted.Reply {
		if answer, ok := req.Messages.Last().(messages.Tool); ok {
			return scripted.Text("Booked for " + answer.Output + ".")
		}
		return scripted.Calls(scripted.Call(tools.AskUserName, `{"question":"Which day suits you?","options":["Monday","Tuesday"]}`, "call_1"))
	})
	asking.Times = -1
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.NewClient(scripted.Config{Replies: []scripted.Reply{asking}, NoRecord: true}),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Tools:      []tools.Tool{tools.AskUser()},
		Store:      new(checkpoint.Memory),
	})
	require.NoError(t, err)
	task := orchestrator.Task{Input: delegation.Input{Goal: "Book me a table for two, and ask me on which day.", Messages: suspendedTalk()}}
	start := func(id string) orchestrator.Result {
		task.Run = id
		res := ran(t, o, task)
		require.Equal(t, machine.StatusWaiting, res.Status)
		require.Len(t, res.Waits, 1)
		return res
	}
	waits := make([][24]byte, prove.CasesOr(300))
	goroutines := runtime.NumGoroutine()
	said := start("the first").Output.Messages
	history, err := json.Marshal(said[:len(said)-1]) // the last answers for the person, and is not in the journal
	require.NoError(t, err)
	before := heapInUse()
	for i := range waits {
		copy(waits[i][:], start(fmt.Sprintf("run-%06d", i)).Waits[0].ID)
	}
	for patience := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines && time.Now().Before(patience); {
		runtime.Gosched() // those of the last tool end on their own
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines, "a run that waits holds no goroutine")
	each := int(heapInUse()-before) / len(waits)
	t.Logf("a run that waits holds %d bytes, %d beyond the %d of the JSON of its history", each, each-len(history), len(history))
	require.Positive(t, each)
	require.LessOrEqual(t, each-len(history), most)

	for i, wait := range waits {
		reply := machine.Reply{WaitID: string(wait[:]), Text: "Monday"}
		res := goOn(t, o, fmt.Sprintf("run-%06d", i), reply)
		require.Equal(t, machine.StatusDone, res.Status)
		require.Equal(t, "Booked for Monday.", res.Output.Text())
	}
}

// suspendedTalk is a conversation of ten messages.
func suspendedTalk() messages.History {
	h := messages.History{messages.System{Text: "You book tables. Be brief, and ask before you decide anything."}}
	for i := range 3 {
		h = append(h,
			messages.UserText(fmt.Sprintf("What about the place with the number %d, is it any good and is it far from here?", i)),
			messages.AssistantText(fmt.Sprintf("Number %d is good, and ten minutes on foot. It closes at eleven, and on Sundays it does not open at all.", i)),
			messages.UserText("And for two?"),
		)
	}
	return h
}

// heapInUse returns the bytes that are in use.
func heapInUse() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // the first may leave what pools hold
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
