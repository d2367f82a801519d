package cli

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/llmclient"
)

// OwnConfigShown is the usual path of the user's own configuration.
const OwnConfigShown = "~/.config/segue/" + locate.FileName

// Lookup says in help texts where a configuration is searched.
const Lookup = "SEGUE_CONFIG, your own, or " + locate.FileName + " here or in a folder above; see segue config --help"

// FileFlag is the flag --config of a command that needs a configuration. The file can also be the
// command's argument.
type FileFlag struct {
	Path  string
	Given func(flag string) bool
}

// Offer adds the flag to cmd.
func (f *FileFlag) Offer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Path, "config", "", "the configuration, as FILE (default "+Lookup+")")
	f.Given = cmd.Flags().Changed
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the only error is an unknown flag
	cmd.ValidArgsFunction = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
}

// ReadConfig reads the configuration; it returns an error if there is none. It does not try the
// agents of a file that was found and is not trusted, because a template in it may never end.
func (c *CLI) ReadConfig(f *FileFlag, args []string) (cfg *config.Config, tried bool, err error) {
	flag := f.Given("config")
	missing := "no " + locate.FileName + " here or in a folder above, none of your own, and SEGUE_CONFIG is not set; name a file"
	file, given := f.Path, flag || len(args) > 0
	switch {
	case flag && len(args) > 0:
		return nil, false, errors.New("name the file once: as an argument or with --config")
	case flag:
		missing = "--config names none"
	case given:
		file, missing = args[0], "the argument names none"
	}
	place, err := c.ConfigPath(file, given)
	if err != nil {
		return nil, false, err
	}
	if place.Origin == locate.None {
		return nil, false, errors.New("there is no configuration: " + missing)
	}
	cfg, err = place.Read()
	if err != nil || cfg.Found && !c.Trusts(cfg) {
		return cfg, false, err
	}
	return cfg, true, cfg.Try()
}

// ConfigPath returns the place of the configuration: the file that an argument or flag names,
// otherwise the result of [locate.Default]. A given but empty argument means no configuration.
func (c *CLI) ConfigPath(argument string, given bool) (locate.Place, error) {
	switch {
	case !given:
		return locate.Default(c.Getenv)
	case argument == "":
		return locate.Place{}, nil
	default:
		return locate.Place{Path: argument, Origin: locate.Argument}, nil
	}
}

// CompleteAgentFlag completes the names of the agents of a configuration.
func (c *CLI) CompleteAgentFlag(path *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var all []cobra.Completion
		cfg := c.CompletedConfig(cmd, *path)
		for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
			if strings.HasPrefix(name, begin) {
				all = append(all, cobra.CompletionWithDesc(name, plaintext.Head(plaintext.OneLine(cfg.Agents[name].Description), 50)))
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteModels completes the names of the models of a configuration, and of those whose price is
// known.
func (c *CLI) CompleteModels(path *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var all []cobra.Completion
		own := c.CompletedConfig(cmd, *path).Models
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

// CompletedConfig returns the configuration of a command line that is being completed; an empty one
// if there is none that can be read.
func (c *CLI) CompletedConfig(cmd *cobra.Command, path string) *config.Config {
	place, err := c.ConfigPath(path, cmd.Flags().Changed("config"))
	if err != nil || place.Origin == locate.None {
		return &config.Config{}
	}
	cfg, err := place.Read()
	if err != nil {
		return &config.Config{}
	}
	return cfg
}
