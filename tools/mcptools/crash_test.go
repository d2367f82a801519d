package mcptools_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools/mcptools"
)

// What a process that is to be killed is told.
const (
	urlEnv  = "MCPTOOLS_TEST_URL"  // of the server; "": it starts one
	toolEnv = "MCPTOOLS_TEST_TOOL" // that its model calls
	hangEnv = "MCPTOOLS_TEST_HANG" // when the server hangs
)

// written is a store in memory that writes what it keeps into a file, too, for the next process.
type written struct {
	*checkpoint.Memory
	mu   sync.Mutex
	file *os.File
}

type writtenBatch struct {
	Key     checkpoint.Key
	Records []checkpoint.Record
	Header  *checkpoint.Header
}

func (w *written) Append(ctx context.Context, b checkpoint.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.Memory.Append(ctx, b); err != nil {
		return err
	}
	data, err := json.Marshal(writtenBatch{b.Key, b.Records, b.Header})
	if err == nil {
		_, err = w.file.Write(append(data, '\n'))
	}
	return err
}

// readStore returns what a killed process has written.
func readStore(t *testing.T, file string) *checkpoint.Memory {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	left := new(checkpoint.Memory)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var b writtenBatch
		require.NoError(t, json.Unmarshal(lines.Bytes(), &b))
		require.NoError(t, left.Append(t.Context(), checkpoint.Batch{Key: b.Key, Records: b.Records, Header: b.Header, Writer: "dead", Epoch: 1}))
	}
	require.NoError(t, lines.Err())
	return left
}

func paying(list *mcptools.Toolset, store checkpoint.Store, script ...scripted.Reply) (*orchestrator.Orchestrator, error) {
	return orchestrator.New(orchestrator.Config{
		Client: scripted.New(script...), Tools: list.Tools(), Store: store,
		Approve:    &orchestrator.ApprovalConfig{Default: machine.AllowAlways, Tools: map[string]machine.ApprovalPolicy{"pay": machine.AllowAlways}},
		Strategies: strategy.Set{completetask.Name: completetask.New(completetask.Config{})},
	})
}

func crashConfig(url, dir, self string) mcptools.Config {
	cfg := mcptools.Config{Name: "test", URL: url, TrustHints: true, CloseTimeout: time.Second}
	if url == "" {
		cfg.Command, cfg.Env = []string{self}, []string{roleEnv + "=server", dirEnv + "=" + dir}
	}
	return cfg
}

// runProcess makes a run, until it is killed.
func runProcess(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	self, err := os.Executable()
	fail(err)
	s, err := mcptools.Connect(context.Background(), crashConfig(os.Getenv(urlEnv), dir, self))
	fail(err)
	file, err := os.Create(filepath.Join(dir, "journal")) //nolint:gosec // the folder of the test
	fail(err)
	tool := os.Getenv(toolEnv)
	for _, o := range s.Listing().Offers {
		if o.Name == tool {
			tool = o.ToolName
		}
	}
	arguments := fmt.Sprintf(`{"amount":7,"hang":%q}`, os.Getenv(hangEnv))
	o, err := paying(s, &written{Memory: new(checkpoint.Memory), file: file}, scripted.Calls(scripted.Call(tool, arguments, "1")))
	fail(err)
	_, err = o.Run(context.Background(), goTask())
	fail(err)
}

// A process is killed while a server has a call, before and after its effect. Nobody knows whether
// the call had its effect, and a person is asked; unless the call may be made again.
func TestCrash_killed(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, overHTTP := range []bool{false, true} {
		for _, hang := range []string{"before", "after"} {
			for _, tool := range []string{"pay", "pay.once"} {
				t.Run(fmt.Sprint(tool, " ", hang, " http=", overHTTP), func(t *testing.T) {
					t.Parallel()
					dir, url := t.TempDir(), ""
					if overHTTP {
						url = serveHTTP(t, newServer(dir), false).URL
					}
					killedDuring(t, self, dir, url, tool, hang)
					store := readStore(t, filepath.Join(dir, "journal"))
					o, err := paying(connect(t, crashConfig(url, dir, self)), store, scripted.Text("done"))
					require.NoError(t, err)
					res := resumed(t, o)
					before := map[string]int{"before": 0, "after": 1}[hang]
					if tool == "pay.once" {
						require.Equal(t, machine.StatusDone, res.Status)
						require.Equal(t, "paid 7", res.Output.ToolMetas()[0].Output)
						require.Len(t, lines(t, dir, "paid"), before+1)
						keys := lines(t, dir, "keys")
						require.Len(t, keys, 2)
						require.NotEmpty(t, keys[0])
						require.Equal(t, keys[0], keys[1])
						return
					}
					require.Equal(t, machine.StatusWaiting, res.Status)
					require.Equal(t, machine.WaitUnknown, res.Waits[0].Kind)
					require.Len(t, lines(t, dir, "paid"), before)
					res = resumed(t, o, machine.Reply{WaitID: res.Waits[0].ID, Reason: "it was paid"})
					require.Equal(t, messages.StatusUnknown, res.Output.ToolMetas()[0].Status)
					require.Len(t, lines(t, dir, "paid"), before)
				})
			}
		}
	}
}

// killedDuring starts a process with a run, and kills it when the server hangs.
func killedDuring(t *testing.T, self, dir, url, tool, hang string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), roleEnv+"=run", dirEnv+"="+dir, urlEnv+"="+url, toolEnv+"="+tool, hangEnv+"="+hang)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return len(linesOf(dir, "hung")) > 0 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_ = waittest.Exit(t, cmd)
}
