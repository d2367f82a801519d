package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/internal/similar"
)

// SettingFlags are the flags of segue run that a variable of the environment can stand for, in the
// order in which they are shown. Those of readElsewhere are read where they are needed.
var SettingFlags = []string{
	"config", "profile", "agent", "source", "strategy", "model", "api", "base-url", "policy", "system", "dir", "approve", "protect", "ask", "no-ask",
	"idle-timeout", "max-steps", "session", "stdin", "store", "output", "plain", "quiet", "verbose",
}

// readElsewhere are the flags whose variables are read where they are needed.
var readElsewhere = []string{"config", "idle-timeout", "store"}

// excludedBy holds flags that are not set by a variable where another flag is given.
var excludedBy = map[string][]string{"output": {"json"}, "quiet": {"verbose"}, "verbose": {"quiet"}, "ask": {"no-ask"}, "no-ask": {"ask"}}

// VariableOf returns the variable that stands for a flag.
func VariableOf(flag string) string {
	return "SEGUE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// settings are the flags of a command that variables and a profile set where the command line does
// not say them.
type settings struct {
	flags   *pflag.FlagSet
	Only    []string          // the flags that are set so; nil: all of SettingFlags
	Profile string            // of --profile
	origins map[string]string // where a setting is from that is not from the command line, by flag
}

// Offer adds the flag --profile to cmd, whose flags are set. path is the flag --config.
func (s *settings) Offer(cmd *cobra.Command, c *cli.CLI, path *string) {
	s.flags, s.origins = cmd.Flags(), map[string]string{}
	s.flags.StringVarP(&s.Profile, "profile", "P", "", "use the settings of the profile with this `NAME` of the configuration")
	_ = cmd.RegisterFlagCompletionFunc("profile", completeProfiles(c, path)) // the only error is an unknown flag
}

// SaidBy returns who says a setting, for messages.
func (s *settings) SaidBy(flag string) string {
	if from, ok := s.origins[flag]; ok {
		return from
	}
	return "--" + flag
}

// FromEnvironment sets the flags for which there is a variable, and that are not given.
func (s *settings) FromEnvironment(getenv func(string) string) error {
	for _, name := range SettingFlags {
		value := getenv(VariableOf(name))
		if value == "" || s.heedsNot(name) || slices.ContainsFunc(excludedBy[name], s.flags.Changed) {
			continue
		}
		values := []string{value}
		if name == "protect" {
			values = filepath.SplitList(value)
		}
		if err := s.set(name, values, VariableOf(name)); err != nil {
			return err
		}
	}
	return nil
}

// heedsNot reports whether the variable of a flag is read elsewhere, or means nothing here.
func (s *settings) heedsNot(flag string) bool {
	return slices.Contains(readElsewhere, flag) || s.Only != nil && !slices.Contains(s.Only, flag)
}

// FromProfile sets the flags that the profile says, and that nothing stronger says.
func (s *settings) FromProfile(cfg *config.Config) error {
	if s.Profile == "" {
		if s.flags.Changed("profile") {
			return errors.New("--profile names no profile: name one, or leave it out")
		}
		return nil
	}
	p, ok := cfg.Profiles[s.Profile]
	if !ok {
		known := slices.Sorted(maps.Keys(cfg.Profiles))
		return fmt.Errorf("no profile %q in %s%s; there are: %s", s.Profile, cfg.Path, similar.Aside(s.Profile, known), cmp.Or(strings.Join(known, ", "), "none"))
	}
	given, err := keysOf(p)
	if err != nil {
		return err
	}
	if _, said := given["no_ask"]; !said {
		given["no_ask"] = false
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		where := cfg.Where("profiles", s.Profile, key)
		if where == "" {
			continue
		}
		flag := strings.ReplaceAll(key, "_", "-")
		if cfg.Found && (slices.Contains([]string{"api", "base_url", "dir"}, key) || key == "approve" && approve.Loosens(p.Approve)) {
			return fmt.Errorf("%s: profiles.%s.%s: a file that was found cannot say this; say --%s, or name the file with --config", where, s.Profile, key, flag)
		}
		if err := s.set(flag, textsOf(given[key]), "profile "+s.Profile+", "+where); err != nil {
			return err
		}
	}
	return nil
}

// keysOf returns what a profile says, by its keys.
func keysOf(p config.Profile) (map[string]any, error) {
	keys := map[string]any{}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return keys, d.Decode(&keys)
}

// textsOf returns the value of a key of a profile as its flag reads it; that of a list is said
// again.
func textsOf(value any) []string {
	list, ok := value.([]any)
	if !ok {
		return []string{fmt.Sprint(value)}
	}
	var all []string
	for _, item := range list {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

// set sets a flag that is not set. Globs of protected files are added to those that there are.
func (s *settings) set(name string, values []string, from string) error {
	flag := s.flags.Lookup(name)
	if flag == nil || flag.Changed && name != "protect" {
		return nil
	}
	given := flag.Changed
	for _, value := range values {
		if err := fits(flag, value); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if err := s.flags.Set(name, value); err != nil {
			return fmt.Errorf("%s: %w", from, flag.Value.Set(value))
		}
	}
	if given { // it is added to
		from = s.SaidBy(name) + " and " + from
	}
	s.origins[name] = from
	return nil
}

// fits returns an error if a flag is not of the kind of the value.
func fits(flag *pflag.Flag, value string) error {
	switch flag.Value.Type() {
	case "bool":
		if _, err := strconv.ParseBool(value); err != nil {
			return errors.New("it must be true or false")
		}
	case "int":
		if _, err := strconv.Atoi(value); err != nil {
			return errors.New("it must be a whole number")
		}
	}
	return nil
}

// completeProfiles completes the names of the profiles of a configuration.
func completeProfiles(c *cli.CLI, path *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		place, err := c.ConfigPath(*path, cmd.Flags().Changed("config"))
		if err != nil || place.Origin == locate.None {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cfg, err := place.Read()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var all []cobra.Completion
		for name := range cfg.Profiles {
			if strings.HasPrefix(name, begin) {
				all = append(all, name)
			}
		}
		slices.Sort(all)
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// VariablesHelp says which variables stand for flags.
func VariablesHelp() string {
	names := make([]string, len(SettingFlags))
	for i, flag := range SettingFlags {
		names[i] = VariableOf(flag)
	}
	return "  a flag\n  its variable: " + strings.Join(names, ", ")
}
