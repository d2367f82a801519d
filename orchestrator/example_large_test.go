package orchestrator_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// A log is far too large for a model. It is kept with the run, and the model finds the line that it
// needs.
func ExampleLargeResults() {
	readLog := tools.NewRaw(tools.Definition{Name: "read_log", ReadOnly: true}, func(context.Context, string) (string, error) {
		return strings.Repeat("all is well\n", 50_000) + "the disk is full\n" + strings.Repeat("all is well\n", 50_000), nil
	})
	cfg := orchestrator.Config{
		Client: &logReader{}, Store: new(checkpoint.Memory), Tools: []tools.Tool{readLog},
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	}
	cfg.LargeResults = orchestrator.LargeResults{Keep: 64 << 20} // bytes that are kept of a run
	o, err := orchestrator.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "What went wrong?"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, out := range res.Output.ToolMetas() {
		fmt.Println(out.ToolName, "kept:", out.Kept.Size, "shown:", len(out.Output) < 17<<10)
	}
	fmt.Println(res.Output.Text())
	// Output:
	// read_log kept: 1200017 shown: true
	// read_result kept: 0 shown: true
	// [1 places from byte 0 on, of 1200017 bytes]
	// byte 600004: the disk is full
}

// logReader plays a model: it reads the log, looks for a word in it, and says what it found.
type logReader struct{}

var keptAs = regexp.MustCompile(`the result is kept as ([a-p]+)`)

func (c *logReader) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	reply := scripted.Calls(scripted.Call("read_log", "{}", "1"))
	if last, ok := req.Messages[len(req.Messages)-1].(messages.Tool); ok {
		reply = scripted.Text(strings.TrimSpace(last.Output))
		if id := keptAs.FindStringSubmatch(last.Output); id != nil {
			reply = scripted.Calls(scripted.Call("read_result", fmt.Sprintf(`{"id":%q,"find":"disk"}`, id[1]), "2"))
		}
	}
	return scripted.New(reply).Complete(ctx, req, onDelta)
}
