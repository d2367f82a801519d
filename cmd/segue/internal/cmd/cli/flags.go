package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/markdownpolicy"
)

// OneArgument returns an error unless a command has one argument.
func OneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%s takes one %s; see %s --help", cmd.Name(), name, cmd.CommandPath())
	}
}

// Choice is a flag that accepts one of several words. The first word is the default.
type Choice struct {
	Words []string
	Value string
}

// OneOf returns a flag that accepts one of these words; the first is the default.
func OneOf(words ...string) Choice { return Choice{Words: words, Value: words[0]} }

// String implements pflag.Value.
func (c *Choice) String() string { return c.Value }

// Type implements pflag.Value: the help shows it as the value. Of many words it shows none.
func (c *Choice) Type() string {
	const most = 25
	if words := strings.Join(c.Words, "|"); len(words) <= most {
		return words
	}
	return "NAME"
}

// Set implements pflag.Value.
func (c *Choice) Set(word string) error {
	for _, w := range c.Words {
		if w == word {
			c.Value = w
			return nil
		}
	}
	return errors.New("it is one of: " + strings.Join(c.Words, ", ") + similar.Hint(word, c.Words))
}

// shorthands are the short forms of flags that are choices, the same in every command.
var shorthands = map[string]string{"output": "o"}

// Offer adds the flag to cmd, with completion.
func (c *Choice) Offer(cmd *cobra.Command, name, usage string) {
	cmd.Flags().VarP(c, name, shorthands[name], usage)
	// The only error is an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.Words, cobra.ShellCompDirectiveNoFileComp))
}

// OfferPolicy adds the flag for the names of policies. One without a usual value can be auto.
func OfferPolicy(cmd *cobra.Command, name *string, usual, usage string) {
	cmd.Flags().StringVar(name, "policy", usual, usage)
	names := markdownpolicy.Names()
	if usual == "" {
		names = append(names, config.PolicyAuto)
	}
	// The only error is an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// OfferAPI adds the flag --api to cmd. It has no value unless it is said.
func (c *Choice) OfferAPI(cmd *cobra.Command, usage string) {
	*c = Choice{Words: endpoint.APIs}
	c.Offer(cmd, "api", cmp.Or(usage, "how the server is spoken to: Chat Completions, OpenAI's Responses or Anthropic's Messages (default that of the model, or chat)"))
}
