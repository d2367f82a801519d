package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/llmclient"
)

// ownConfigShown is the usual path of the user's own configuration.
const ownConfigShown = "~/.config/segue/" + config.FileName

// lookup says in help texts where a configuration is searched.
const lookup = "SEGUE_CONFIG, your own, or " + config.FileName + " here or in a folder above; see segue config --help"

func (c *cli) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check and show a configuration, or write the JSON Schema of one",
		Long: `Config is about segue.yaml: models and agents by name, and rules that choose the agent of a task. segue run reads the first
of these:
  the file of --config; '' is none
  the file that SEGUE_CONFIG names
  your own, ` + ownConfigShown + ` (XDG_CONFIG_HOME says another folder than ~/.config)
  segue.yaml in the working folder or the nearest folder above, once you trust it; see segue trust
segue config show --origin says which it is, and what a run would use.`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.configCheckCommand(), c.configShowCommand(), &cobra.Command{
		Use:     "schema",
		Short:   "Write the JSON Schema of a configuration",
		Example: "  segue config schema > segue.schema.json",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return write(c.stdout, string(config.Schema())+"\n") },
	})
	return cmd
}

// checkRecord is a configuration in the form json of segue config check.
type checkRecord struct {
	File     string        `json:"file"`
	Usable   bool          `json:"usable"`
	Tried    bool          `json:"tried"` // its prompts and schemas were tried, too
	Models   int           `json:"models"`
	Agents   int           `json:"agents"`
	Rules    int           `json:"rules"`
	Problems []faultRecord `json:"problems"`
	Warnings []faultRecord `json:"warnings"`
}

// faultRecord is a problem of a configuration.
type faultRecord struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Pointer string `json:"pointer"` // the JSON pointer of the value; "": the whole file
	Text    string `json:"text"`
}

func (c *cli) configCheckCommand() *cobra.Command {
	f, strict := &fileFlag{}, false
	form := oneOf(formText, formJSON)
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say everything that is wrong with a configuration",
		Long: `Check reads a configuration and writes everything that is wrong with it to standard error, a line for each problem:
FILE:LINE:COLUMN: PATH: what is wrong. Then the exit code is 2. Nothing is asked, and no key is needed.

Variables of keys that are not set, and a default that is missing, are warnings: only with --strict they count as problems.`,
		Args: atMostOneFile,
		RunE: func(_ *cobra.Command, args []string) error { return c.checkConfig(f, args, strict, form.value) },
	}
	f.offer(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "let warnings count as problems")
	form.offer(cmd, "output", "a text to read, or a JSON object with the problems")
	return cmd
}

// fileFlag is the flag --config of a command that needs a configuration. The file can also be the
// command's argument.
type fileFlag struct {
	path  string
	given func(flag string) bool
}

// offer adds the flag to cmd.
func (f *fileFlag) offer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "config", "", "the configuration, as FILE (default "+lookup+")")
	f.given = cmd.Flags().Changed
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the only error is an unknown flag
	cmd.ValidArgsFunction = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
}

// readConfig reads the configuration; it returns an error if there is none. It does not try the
// agents of a file that was found and is not trusted, because a template in it may never end.
func (c *cli) readConfig(f *fileFlag, args []string) (cfg *config.Config, tried bool, err error) {
	flag := f.given("config")
	missing := "no " + config.FileName + " here or in a folder above, none of your own, and SEGUE_CONFIG is not set; name a file"
	file, given := f.path, flag || len(args) > 0
	switch {
	case flag && len(args) > 0:
		return nil, false, errors.New("name the file once: as an argument or with --config")
	case flag:
		missing = "--config names none"
	case given:
		file, missing = args[0], "the argument names none"
	}
	place, err := c.configPath(file, given)
	if err != nil {
		return nil, false, err
	}
	if place.Origin == config.OriginNone {
		return nil, false, errors.New("there is no configuration: " + missing)
	}
	cfg, err = place.Read()
	if err != nil || cfg.Found && !c.trusts(cfg) {
		return cfg, false, err
	}
	return cfg, true, cfg.Try()
}

// configPath returns the place of the configuration: the file that an argument or flag names,
// otherwise the result of [config.Locate]. A given but empty argument means no configuration.
func (c *cli) configPath(argument string, given bool) (config.Place, error) {
	switch {
	case !given:
		return config.Locate(c.getenv)
	case argument == "":
		return config.Place{}, nil
	default:
		return config.Place{Path: argument, Origin: config.OriginArgument}, nil
	}
}

// checkConfig executes segue config check.
func (c *cli) checkConfig(f *fileFlag, args []string, strict bool, form string) error {
	cfg, tried, err := c.readConfig(f, args)
	if e, ok := errors.AsType[*config.Error](err); ok {
		if err := c.writeProblems(checkRecord{File: e.Path}, e.Problems, false, form); err != nil {
			return err
		}
		return fmt.Errorf("%s cannot be used: %s", plaintext.Visible(e.Path), plaintext.Counted(len(e.Problems), "problem"))
	}
	if err != nil {
		return err
	}
	if !tried {
		c.screen(output{}).Warn(plaintext.Visible(cfg.Path) + " was found and is not trusted: its prompts and schemas are not tried; name it to try them")
	}
	warnings := cfg.Warnings(c.getenv)
	r := checkRecord{File: cfg.Path, Usable: true, Tried: tried, Models: len(cfg.Models), Agents: len(cfg.Agents), Rules: len(cfg.Rules)}
	if err := c.writeProblems(r, warnings, true, form); err != nil {
		return err
	}
	if strict && len(warnings) > 0 {
		return fmt.Errorf("%s has %s, and --strict lets none pass", plaintext.Visible(cfg.Path), plaintext.Counted(len(warnings), "warning"))
	}
	if form == formJSON {
		return nil
	}
	return write(c.stdout, fmt.Sprintf("%s can be used: %s, %s, %s\n", plaintext.Visible(cfg.Path),
		plaintext.Counted(len(cfg.Models), "model"), plaintext.Counted(len(cfg.Agents), "agent"), plaintext.Counted(len(cfg.Rules), "rule")))
}

// writeProblems writes problems of a configuration, or warnings: for people to standard error, a
// line for each, as JSON to standard output.
func (c *cli) writeProblems(r checkRecord, problems []config.Problem, warnings bool, form string) error {
	r.Problems, r.Warnings = []faultRecord{}, []faultRecord{}
	for _, p := range problems {
		fault := faultRecord{p.At.Line, p.At.Column, p.Pointer, p.Text}
		if warnings {
			r.Warnings = append(r.Warnings, fault)
			p.Text = "warning: " + p.Text
		} else {
			r.Problems = append(r.Problems, fault)
		}
		if form == formJSON {
			continue
		}
		if err := write(c.stderr, plaintext.Visible(r.File)+":"+plaintext.OneLine(p.String())+"\n"); err != nil {
			return err
		}
	}
	if form == formJSON {
		return encode(c.stdout, r)
	}
	return nil
}

// agentRecord is an agent in the form json.
type agentRecord struct {
	Name        string   `json:"name"`
	Strategy    string   `json:"strategy"`
	Model       string   `json:"model"` // "" means the model of the environment, or none if executors do all of the work
	Description string   `json:"description"`
	Default     bool     `json:"default"`
	Children    []string `json:"children"`
	Successors  []string `json:"successors,omitempty"` // that it may hand over to
}

func (c *cli) agentsCommand() *cobra.Command {
	f := &fileFlag{}
	form := oneOf(formText, formJSON)
	cmd := &cobra.Command{
		Use:   "agents [FILE]",
		Short: "List the agents of the configuration",
		Long: `Agents lists the agents of the configuration with their strategies, models and descriptions. The default is marked with *;
a model - is that of the environment, or none where executors do all of the work.`,
		Args: atMostOneFile,
	}
	f.offer(cmd)
	form.offer(cmd, "output", "a text to read, or a JSON array of objects")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		cfg, _, err := c.readConfig(f, args)
		if err != nil {
			return err
		}
		return c.listAgents(cfg, form.value)
	}
	return cmd
}

func (c *cli) listAgents(cfg *config.Config, form string) error {
	records := []agentRecord{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
		a := cfg.Agents[name]
		r := agentRecord{
			Name: name, Strategy: a.StrategyName(), Model: cfg.ModelOf(a), Description: a.Description,
			Default: name == cfg.Default || len(cfg.Agents) == 1, Children: []string{}, Successors: a.HandsOffTo(),
		}
		for _, child := range a.Children {
			r.Children = append(r.Children, child.Agent)
		}
		records = append(records, r)
	}
	if form == formJSON {
		return encode(c.stdout, records)
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range records {
		mark := " "
		if r.Default {
			mark = "*"
		}
		if _, err := fmt.Fprintf(table, "%s %s\t%s\t%s\t%s\n", mark, r.Name, r.Strategy, cmp.Or(r.Model, "-"), plaintext.OneLine(r.Description)); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return write(c.stdout, b.String())
}

// completeAgentFlag completes the names of the agents of a configuration.
func (c *cli) completeAgentFlag(path *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var all []cobra.Completion
		cfg := c.completedConfig(cmd, *path)
		for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
			if strings.HasPrefix(name, begin) {
				all = append(all, cobra.CompletionWithDesc(name, plaintext.Head(plaintext.OneLine(cfg.Agents[name].Description), 50)))
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeModels completes the names of the models of a configuration, and of those whose price is
// known.
func (c *cli) completeModels(path *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var all []cobra.Completion
		own := c.completedConfig(cmd, *path).Models
		for _, name := range slices.Sorted(maps.Keys(own)) {
			if strings.HasPrefix(name, begin) {
				all = append(all, cobra.CompletionWithDesc(name, plaintext.Head(plaintext.OneLine("of the configuration: "+own[name].Model), 50)))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(llmclient.KnownPrices())) {
			if _, again := own[name]; !again && strings.HasPrefix(name, begin) {
				all = append(all, name)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completedConfig returns the configuration of a command line that is being completed; an empty one
// if there is none that can be read.
func (c *cli) completedConfig(cmd *cobra.Command, path string) *config.Config {
	place, err := c.configPath(path, cmd.Flags().Changed("config"))
	if err != nil || place.Origin == config.OriginNone {
		return &config.Config{}
	}
	cfg, err := place.Read()
	if err != nil {
		return &config.Config{}
	}
	return cfg
}
