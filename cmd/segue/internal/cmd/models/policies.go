package models

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/tools"
)

// shownTool is the example tool in instructions if no tools are given.
var shownTool = tools.Definition{
	Name:        "get_weather",
	Description: "Says what the weather is in a city.",
	Parameters:  json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
}

// policyRecord is a policy in the form json.
type policyRecord struct {
	Name         string `json:"name"`
	Instructions string `json:"instructions"`
}

func policiesCommand(c *cli.CLI) *cobra.Command {
	var file string
	form := cli.OneOf(cli.FormText, cli.FormJSON)
	cmd := &cobra.Command{
		Use:   "policies",
		Short: "List the text formats for tool calls, with their instructions",
		Long: `Policies lists the formats in which models that have no tool calls of their own can write them as text, with the
instructions that go into the system prompt. The first is the default. The tool in them is an example, unless --tools says.`,
		Example: "  segue policies --tools tools.json",
		Args:    cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			defs, err := readTools(file)
			if err != nil {
				return err
			}
			if file == "" {
				defs = []tools.Definition{shownTool}
			}
			return listPolicies(c, form.Value, defs)
		},
	}
	form.Offer(cmd, "output", "a text to read, or a JSON array of objects with name and instructions")
	offerTools(cmd, &file)
	return cmd
}

func listPolicies(c *cli.CLI, form string, defs []tools.Definition) error {
	var records []policyRecord
	for _, name := range markdownpolicy.Names() {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{Tools: defs})
		if err != nil {
			return err
		}
		records = append(records, policyRecord{name, p.FormatInstructions(defs)})
	}
	var b strings.Builder
	for i, r := range records {
		usual := ""
		if i == 0 {
			usual = " (the default)"
		}
		fmt.Fprintf(&b, "== %s%s\n\n%s\n\n", r.Name, usual, cmp.Or(r.Instructions, "There is nothing to say without tools."))
	}
	return c.Print(form, records, strings.TrimSuffix(b.String(), "\n"))
}

// offerTools adds the flag for a file of tool definitions.
func offerTools(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "tools", "", `the tools: a file with a JSON array of {"name","description","parameters"}`)
	_ = cmd.MarkFlagFilename("tools", "json") // the only error is an unknown flag
}

// readTools reads a file of tool definitions; without a file it returns none.
func readTools(file string) ([]tools.Definition, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the file of --tools: %w", err)
	}
	var defs []tools.Definition
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err = d.Decode(&defs)
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("there is text after it")
	}
	if err == nil && defs == nil {
		err = errors.New("it is null")
	}
	if err != nil {
		return nil, fmt.Errorf(`the file of --tools is no JSON array of {"name","description","parameters"}: %w`, err)
	}
	return defs, checkTools(defs)
}

// checkTools returns an error if definitions from a file are invalid.
func checkTools(defs []tools.Definition) error {
	places := map[string]int{}
	for i, d := range defs {
		if d.Name == "" {
			return fmt.Errorf("the file of --tools: tool %d has no name", i+1)
		}
		if first, taken := places[d.Name]; taken {
			return fmt.Errorf("the file of --tools: tools %d and %d are both named %q", first, i+1, d.Name)
		}
		if len(d.Parameters) > 0 && d.Parameters[0] != '{' {
			return fmt.Errorf("the file of --tools: the parameters of tool %d, %q, are not a JSON object", i+1, d.Name)
		}
		places[d.Name] = i + 1
	}
	return nil
}
