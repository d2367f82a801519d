package check

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/messages"
)

// boundFlags are the flags of segue bound.
type boundFlags struct {
	run.Flags
	call messages.Usage // what one model call uses at most; 0: not known
}

// boundRecord is what segue bound says, in the form json.
type boundRecord struct {
	Agent string `json:"agent,omitempty"` // "" without a configuration
	bound.Bound
	Models   []string `json:"models"`             // that may be asked, by the providers' names
	Unpriced []string `json:"unpriced,omitempty"` // those of them whose price is not known
}

func boundCommand(c *cli.CLI) *cobra.Command {
	f := &boundFlags{}
	f.Strategy, f.Approve, f.Reads, f.Mute = cli.OneOf(strategies.Words()...), cli.OneOf(approve.Words...), true, true
	cmd := &cobra.Command{
		Use:   "bound [flags]",
		Short: "Say how much a run uses at most, before it",
		Long: `Bound says how many model calls, tool calls and steps a run with the same flags makes at most, how deep its strategies go, and why
not more: because of the state machines of the strategies, or because of a limit. Agents that are called as tools are included.
Without --agent it is the agent of a task whose words no rule looks for. No model is asked. No trust is needed, unless the agent uses
MCP servers: these are asked for their tools.

What one model call uses is not known: with --call-input and --call-output, such as the context of the model and its longest
reply, there are bounds of the tokens, and of the cost if the prices of the models are known. Without these only limits bound
them. Retries of requests that failed are not counted, and come on top.

How many calls a reply holds is up to the model. Where agents can be called, only the limits on calls bound the run, which are those
of the agent in the configuration, or else 500 model calls, 2,000 tool calls and 1,000 steps.`,
		Example: `  segue bound --agent planner
  segue bound --strategy react --dir . --output json
  segue bound --agent planner --call-input 128000 --call-output 16000`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return showBound(cmd.Context(), c, f) },
	}
	f.Offer(c, cmd)
	f.Settings.Offer(cmd, c, &f.Config)
	cmd.Flags().Int64Var(&f.call.Input, "call-input", 0, "tokens that one model call takes at most")
	cmd.Flags().Int64Var(&f.call.Output, "call-output", 0, "tokens that one reply has at most")
	return cmd
}

// showBound executes segue bound.
func showBound(ctx context.Context, c *cli.CLI, f *boundFlags) error {
	if err := f.Settings.FromEnvironment(c.Getenv); err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	if f.call.Input < 0 || f.call.Output < 0 {
		return errors.New("--call-input and --call-output are numbers of tokens, from 1 on")
	}
	r, err := boundOf(ctx, c, f)
	if err != nil {
		return err
	}
	return c.Print(f.Out.Kind(), r, r.text())
}

// boundOf returns the bound of the run that segue run would begin.
func boundOf(ctx context.Context, c *cli.CLI, f *boundFlags) (boundRecord, error) {
	j, err := run.ReadJob(ctx, c, &f.Flags)
	if err != nil {
		return boundRecord{}, err
	}
	defer j.Close()
	return boundOfJob(j, f.Agent, f.call)
}

// boundOfJob returns the bound of the job of an agent, "" for none, if a model call uses so much.
func boundOfJob(j run.Job, agent string, call messages.Usage) (r boundRecord, err error) {
	o, err := j.Orchestrator(nil)
	if err != nil {
		return r, err
	}
	r.Agent, r.Models = agent, j.Models
	opts := bound.Options{Call: call}
	for _, model := range r.Models {
		price, ok := llmclient.KnownPrices().Of(model)
		if opts.Prices = append(opts.Prices, price); !ok {
			r.Unpriced = append(r.Unpriced, model)
		}
	}
	if len(r.Unpriced) > 0 {
		opts.Prices = nil // the dearest model may be one of these
	}
	r.Bound, err = o.Bound(j.Task, opts)
	return r, err
}

// noBound stands for an amount without a bound.
const noBound = "-"

// text returns the bound for people.
func (r boundRecord) text() string { return agentShown(r.Agent) + r.tables() }

// agentShown returns the heading of what is said of an agent; "" without one.
func agentShown(agent string) string {
	if agent == "" {
		return ""
	}
	return "Agent " + plaintext.OneLine(agent) + "\n\n"
}

// tables returns the bound as tables.
func (r boundRecord) tables() string {
	rows := []string{"AT MOST\t\tBECAUSE OF"}
	for _, row := range []struct {
		what string
		of   bound.Amount
		as   func(int64) string
	}{
		{"model calls", r.ModelCalls, count},
		{"tool calls", r.ToolCalls, count},
		{"steps", r.Steps, count},
		{"depth", r.Depth, count},
		{"input tokens", r.InputTokens, count},
		{"output tokens", r.OutputTokens, count},
		{"tokens", r.TotalTokens, count},
		{"cost", r.Cost, func(n int64) string { return messages.Cost(n).String() }},
	} {
		why := reasonsShown(row.of)
		rows = append(rows, strings.TrimRight(row.what+"\t"+amountShown(row.of, row.as)+"\t"+why[0], "\t"))
		for _, more := range why[1:] {
			rows = append(rows, "\t\t"+more)
		}
	}
	rows = append(rows, "", "ONE FRAME OF\tMODEL CALLS\tTOOL BATCHES\tDELEGATIONS")
	for _, f := range r.Frames {
		rows = append(rows, plaintext.OneLine(f.Strategy)+"\t"+count(f.ModelCalls)+"\t"+count(f.Batches)+"\t"+count(f.Delegations))
	}
	text := cli.Table(rows) + "\n" + noBound + " means no bound. Retries of requests that failed come on top.\n"
	if len(r.Unpriced) > 0 {
		text += "No price is known of: " + plaintext.OneLine(strings.Join(r.Unpriced, ", ")) + "\n"
	}
	return text
}

// count returns a number for people.
func count(n int64) string {
	if n < 0 {
		return noBound
	}
	return plaintext.Thousands(int(n))
}

// amountShown returns an amount for people.
func amountShown(a bound.Amount, as func(int64) string) string {
	if a.Most < 0 {
		return noBound
	}
	return as(a.Most)
}

// reasonsShown returns why there is no more of an amount, a line for each reason.
func reasonsShown(a bound.Amount) []string {
	var all []string
	for _, r := range a.By {
		all = append(all, plaintext.OneLine(r.String()))
	}
	if a.Above > 0 {
		all = append(all, "and what "+plaintext.Counted(a.Above, "call")+" in progress may use")
	}
	return append(all, "")[:max(1, len(all))]
}
