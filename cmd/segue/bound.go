package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/messages"
)

// boundFlags are the flags of segue bound.
type boundFlags struct {
	runFlags
	call messages.Usage // what one model call uses at most; 0: not known
}

// boundRecord is what segue bound says, in the form json.
type boundRecord struct {
	Agent string `json:"agent,omitempty"` // "" without a configuration
	bound.Bound
	Models   []string `json:"models"`             // that may be asked, by the providers' names
	Unpriced []string `json:"unpriced,omitempty"` // those of them whose price is not known
}

func (c *cli) boundCommand() *cobra.Command {
	f := &boundFlags{}
	f.strategy, f.approve, f.reads, f.mute = oneOf(strategies.Words()...), oneOf(config.ApprovalWords...), true, true
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
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.showBound(cmd.Context(), f) },
	}
	f.offer(c, cmd)
	f.settings.offer(cmd, c, &f.config)
	cmd.Flags().Int64Var(&f.call.Input, "call-input", 0, "tokens that one model call takes at most")
	cmd.Flags().Int64Var(&f.call.Output, "call-output", 0, "tokens that one reply has at most")
	return cmd
}

// showBound executes segue bound.
func (c *cli) showBound(ctx context.Context, f *boundFlags) error {
	if err := f.settings.fromEnvironment(c.getenv); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	if f.call.Input < 0 || f.call.Output < 0 {
		return errors.New("--call-input and --call-output are numbers of tokens, from 1 on")
	}
	r, err := c.boundOf(ctx, f)
	if err != nil {
		return err
	}
	if kind := f.out.kind(); kind == formJSON || kind == formJSONL {
		return encode(c.stdout, r)
	}
	text, err := r.text()
	if err != nil {
		return err
	}
	return write(c.stdout, text)
}

// boundOf returns the bound of the run that segue run would begin.
func (c *cli) boundOf(ctx context.Context, f *boundFlags) (boundRecord, error) {
	j, err := c.readJob(ctx, &f.runFlags)
	if err != nil {
		return boundRecord{}, err
	}
	defer j.close()
	return j.bound(f.agent, f.call)
}

// readJob makes the job of the run that segue run would begin, of which no model is asked. The
// flags get the agent that is chosen.
func (c *cli) readJob(ctx context.Context, f *runFlags) (j job, err error) {
	f.noAsk = f.noAsk || !f.ask && !c.interactive
	s := c.screen(output{quiet: true})
	place, err := c.configPath(f.config, f.given("config"))
	if err != nil {
		return j, err
	}
	var cfg *config.Config
	if place.Origin == config.OriginNone {
		err = f.needConfiguration()
	} else if cfg, err = place.Read(); err == nil {
		err = cfg.Try()
	}
	if err != nil {
		return j, err
	}
	if cfg != nil {
		if err := f.chooseAgent(cfg, "", s); err != nil {
			return j, err
		}
	}
	return c.jobOf(ctx, f, cfg, s)
}

// bound returns the bound of the job of an agent, "" for none, if a model call uses so much.
func (j job) bound(agent string, call messages.Usage) (r boundRecord, err error) {
	o, err := j.orchestrator(nil)
	if err != nil {
		return r, err
	}
	r.Agent, r.Models = agent, j.models
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
	r.Bound, err = o.Bound(j.task, opts)
	return r, err
}

// noBound stands for an amount without a bound.
const noBound = "-"

// text returns the bound for people.
func (r boundRecord) text() (string, error) {
	var b strings.Builder
	if r.Agent != "" {
		b.WriteString("Agent " + plaintext.OneLine(r.Agent) + "\n\n")
	}
	err := r.tables(&b)
	return b.String(), err
}

// tables writes the bound as tables.
func (r boundRecord) tables(b *strings.Builder) error {
	rows := [][]string{{"AT MOST", "", "BECAUSE OF"}}
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
		rows = append(rows, []string{row.what, amountShown(row.of, row.as), why[0]})
		for _, more := range why[1:] {
			rows = append(rows, []string{"", "", more})
		}
	}
	rows = append(rows, nil, []string{"ONE FRAME OF", "MODEL CALLS", "TOOL BATCHES", "DELEGATIONS"})
	for _, f := range r.Frames {
		rows = append(rows, []string{plaintext.OneLine(f.Strategy), count(f.ModelCalls), count(f.Batches), count(f.Delegations)})
	}
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(table, strings.TrimRight(strings.Join(row, "\t"), "\t")); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	b.WriteString("\n" + noBound + " means no bound. Retries of requests that failed come on top.\n")
	if len(r.Unpriced) > 0 {
		b.WriteString("No price is known of: " + plaintext.OneLine(strings.Join(r.Unpriced, ", ")) + "\n")
	}
	return nil
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
