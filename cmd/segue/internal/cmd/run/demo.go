package run

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
)

// demoFiles holds the replies of the scripted model, and the notes for the task.
//
//go:embed demo
var demoFiles embed.FS

const (
	demoTask   = "Read the meeting notes in this folder and write action-items.md: who does what until when. Tell me what may go wrong."
	demoSystem = "You work on the files of one folder with the tools you are given."
	demoReport = "action-items.md"
)

func demoCommand(c *cli.CLI) *cobra.Command {
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a task with a scripted model: no key, no network",
		Long: `Demo runs a task on real files in a temporary folder, with the strategy plan-revise-execute. All is as in segue run, except
that the model reads its replies from a script. Its first plan is rejected; a step of the second one is planned in turn;
there a tool call is wrong, and is mended, and a step fails, and is planned anew. Nothing is asked: all tool calls are
approved. The folder is left for you to look at.`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), c, out) },
	}
	out.Flags(cmd)
	return cmd
}

// runDemo executes segue demo.
func runDemo(ctx context.Context, c *cli.CLI, out cli.Output) error {
	dir, err := DemoFolder()
	if err != nil {
		return cli.Failed(fmt.Errorf("cannot make the folder of the demo: %w", err))
	}
	j, err := DemoJob(dir)
	if err != nil {
		return cli.Failed(err)
	}
	defer j.Close()
	s := c.Screen(out)
	s.ShowProgress("scripted model, no network; the files are in " + dir)
	if err := Perform(ctx, c, j, out, s); err != nil {
		return err
	}
	report, err := os.ReadFile(filepath.Join(dir, demoReport))
	if err != nil {
		return cli.Failed(fmt.Errorf("the report is not there: %w", err))
	}
	if out.Kind() == cli.FormText {
		shown := plaintext.Printable(string(report))
		if live := live(c, out); live != nil {
			shown = live.render(shown)
		}
		if err := cli.Send(c.Stdout, "\n"+demoReport+":\n\n"+shown+"\n"); err != nil {
			return err
		}
	}
	s.ShowProgress("the report is in " + filepath.Join(dir, demoReport))
	return nil
}

// DemoJob makes the job of the demo in a folder.
func DemoJob(dir string) (Job, error) {
	script, err := demoFiles.ReadFile("demo/script.json")
	if err != nil {
		return Job{}, err
	}
	replies, err := scripted.Load(bytes.NewReader(script))
	if err != nil {
		return Job{}, err
	}
	set, err := strategies.Set(strategies.Settings{System: demoSystem})
	if err != nil {
		return Job{}, err
	}
	files, err := workfolder.Open(dir, nil)
	if err != nil {
		return Job{}, err
	}
	return Job{
		Client:     scripted.New(replies...),
		Strategies: set,
		Tools:      files.Tools(),
		Files:      files,
		Approve:    approve.Policies{Default: approve.Always}.Judge,
		Task:       orchestrator.Task{Run: "demo", Strategy: pre.Name, Input: delegation.Input{Goal: demoTask}},
	}, nil
}

// DemoFolder makes a temporary folder with the notes.
func DemoFolder() (string, error) {
	dir, err := os.MkdirTemp("", "segue-demo-")
	if err != nil {
		return "", err
	}
	notes, err := fs.Sub(demoFiles, "demo/notes")
	if err != nil {
		return "", err
	}
	return dir, os.CopyFS(dir, notes)
}
