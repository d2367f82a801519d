package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/filetools"
)

// defaultModel is asked if nobody says which.
const defaultModel = "gpt-5-mini"

// runFlags are the flags of segue run.
type runFlags struct {
	strategy choice
	model    string
	baseURL  string
	system   string
	dir      string
	approve  choice
	noAsk    bool
	maxSteps int
	out      output
}

func (c *cli) runCommand() *cobra.Command {
	f := &runFlags{
		strategy: oneOf(strategyNames()...),
		approve:  oneOf(approveAsk, approveAlways, approveNever, approveUntrusted),
	}
	cmd := &cobra.Command{
		Use:   "run [flags] TASK|-",
		Short: "Run a task with a model",
		Long: `Run runs a task with a model of OpenAI, or of any server that speaks Chat Completions. TASK - is read from standard
input. The answer goes to standard output, progress to standard error.

Strategies:
  complete-task         the model works on the task with the tools until it answers
  plan-revise-execute   the model makes a plan and judges it; each step is worked on by itself, by complete-task or, if the
                        plan says so, planned in turn; when a step fails, the rest of the plan is made anew

At a terminal (standard input and standard error), you are asked to approve each tool call that changes something, and
the model can ask you questions. Anywhere else such a run ends with exit code 4, and says what it waits for. Approve:
  ask         you are asked about each call that changes something, such as writing a file
  always      all calls are made
  never       calls that change something are refused, and the model is told so
  untrusted   you are asked about them once the run has read text from outside, such as a file

Ctrl-C stops the run after the step in progress, and ends a question that is open; a second one stops it at once.`,
		Example: `  segue run "What is a segue?"
  segue run --dir notes "Write action-items.md: who does what until when"
  segue run --strategy plan-revise-execute --dir src "Write OVERVIEW.md: what each package is for"
  segue run --dir notes --approve always "Sort the items in action-items.md by date"
  git diff | segue run --no-ask --system "Review this change." -
  segue run --base-url http://localhost:11434/v1 --model qwen3 "Say hello"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New(`run takes one TASK, in quotes, or - for standard input; see segue run --help`)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.runTask(cmd.Context(), f, args[0]) },
	}
	f.strategy.offer(cmd, "strategy", "how to go about the task")
	f.approve.offer(cmd, "approve", "which tool calls need your approval")
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "the model (default SEGUE_MODEL, or "+defaultModel+")")
	flags.StringVar(&f.baseURL, "base-url", "", "the server, up to and without /chat/completions (default OPENAI_BASE_URL, or OpenAI)")
	flags.StringVar(&f.system, "system", "", "the system prompt")
	flags.StringVar(&f.dir, "dir", "", "let the model list, read, write and search the files in this folder, and no others")
	flags.BoolVar(&f.noAsk, "no-ask", false, "do not let the model ask you questions")
	flags.IntVar(&f.maxSteps, "max-steps", 0, "most steps: model calls, batches of tool calls, and steps of plans that are handed on; negative: no bound (default 50 model calls for a task or a step of a plan)")
	f.out.flags(cmd)
	_ = cmd.MarkFlagDirname("dir") // the only error is an unknown flag
	return cmd
}

// runTask carries out segue run.
func (c *cli) runTask(ctx context.Context, f *runFlags, arg string) error {
	goal, err := c.goal(arg)
	if err != nil {
		return err
	}
	client, err := c.client(f)
	if err != nil {
		return err
	}
	j := job{
		client:     client,
		approve:    approvalPolicy(f.approve.value),
		strategies: strategySet(settings{system: f.system, bound: f.maxSteps != 0}),
		task:       orchestrator.Task{Strategy: f.strategy.value, Input: delegation.Input{Goal: goal}},
	}
	if f.maxSteps != 0 {
		j.task.Limits = delegation.Limits{Steps: f.maxSteps, ModelCalls: -1, ToolCalls: -1}
	}
	if f.dir != "" {
		var root *os.Root
		if j.tools, root, err = fileTools(f.dir); err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
	}
	if !f.noAsk {
		j.tools = append(j.tools, tools.AskUser())
	}
	return c.perform(ctx, j, f.out, c.screen(f.out))
}

// goal returns the task, which may stand in standard input.
func (c *cli) goal(arg string) (string, error) {
	if arg == "-" {
		text, err := io.ReadAll(c.stdin)
		if err != nil {
			return "", fmt.Errorf("cannot read the task from standard input: %w", err)
		}
		arg = string(text)
	}
	if strings.TrimSpace(arg) == "" {
		return "", errors.New("the task is empty; say what to do")
	}
	return arg, nil
}

// client returns the model that flags and environment name.
func (c *cli) client(f *runFlags) (llmclient.Client, error) {
	key, url := c.getenv("OPENAI_API_KEY"), cmp.Or(f.baseURL, c.getenv("OPENAI_BASE_URL"))
	if key == "" && url == "" {
		return nil, errors.New("there is no model to ask: set OPENAI_API_KEY, or name a server with --base-url or OPENAI_BASE_URL; segue demo needs neither")
	}
	chat, err := openaichat.New(openaichat.Config{
		Model:   cmp.Or(f.model, c.getenv("SEGUE_MODEL"), defaultModel),
		APIKey:  key,
		BaseURL: url,
	})
	if err != nil {
		return nil, err
	}
	return llmclient.Retry(chat, llmclient.RetryConfig{AfterOutput: true}), nil
}

// fileTools returns the tools for the files of a folder. The folder must be closed after their last use.
func fileTools(dir string) ([]tools.Tool, *os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot use the folder of --dir: %w", err)
	}
	return filetools.New(root, filetools.Config{}), root, nil
}
