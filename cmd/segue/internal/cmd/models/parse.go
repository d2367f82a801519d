package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/textpolicy"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// parseRecord is what segue parse writes.
type parseRecord struct {
	Policy  string         `json:"policy"`
	Matched string         `json:"matched"` // the policy whose format was found; "" if none was
	Parts   []partRecord   `json:"parts"`
	Repairs []repairRecord `json:"repairs"`
	Error   *problemRecord `json:"error"`
}

// partRecord is a part of a reply. Start and end are bytes of the text.
type partRecord struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments any    `json:"arguments,omitempty"` // a JSON object as the model wrote it; a string if it is not JSON
	Start     int    `json:"start"`
	End       int    `json:"end"`
}

type repairRecord struct {
	Offset int    `json:"offset"`
	Line   int    `json:"line"`
	What   string `json:"what"`
}

// problemRecord says why a reply could not be read.
type problemRecord struct {
	Message  string `json:"message"`
	Policy   string `json:"policy"`
	Offset   int    `json:"offset"`
	Line     int    `json:"line"`
	Expected string `json:"expected"`
	Found    string `json:"found"`
	Feedback string `json:"feedback"` // for the model
}

// parseFlags are the flags of segue parse.
type parseFlags struct {
	policy string
	mode   cli.Choice
	tools  string
}

func parseCommand(c *cli.CLI) *cobra.Command {
	f := &parseFlags{mode: cli.OneOf(string(markdownpolicy.ModeError), string(markdownpolicy.ModeText), string(markdownpolicy.ModeRepair))}
	cmd := &cobra.Command{
		Use:   "parse [flags] [FILE|-]",
		Short: "Find the thoughts and tool calls in the text of a model's reply",
		Long: `Parse reads the text of a model's reply, from a file or from standard input, and writes one JSON object: the parts of the
reply in order, what was repaired, and the error if it could not be read; then the exit code is 1. A policy says in which
format calls are written; see segue policies. Of several, with commas between them, the one that comes first reads the reply.

Modes, for what is meant as a call and is none:
  error    an error that says where, and what was expected
  text     it stays text
  repair   it is mended where that cannot change what it means, else as error`,
		Example: `  segue parse --policy hermes reply.txt
  segue parse --policy react --tools tools.json --mode repair - < reply.txt`,
		Args: cli.AtMostOneFile,
		RunE: func(_ *cobra.Command, args []string) error { return runParse(c, f, append(args, "-")[0]) },
	}
	cli.OfferPolicy(cmd, &f.policy, markdownpolicy.Names()[0], "the format: the name of a policy, or several with commas between them")
	f.mode.Offer(cmd, "mode", "what becomes of text that is meant as a call and is none")
	offerTools(cmd, &f.tools)
	return cmd
}

// runParse executes segue parse.
func runParse(c *cli.CLI, f *parseFlags, file string) error {
	defs, err := readTools(f.tools)
	if err != nil {
		return err
	}
	policy, err := textpolicy.New(f.policy, markdownpolicy.Options{Mode: markdownpolicy.Mode(f.mode.Value), Tools: defs})
	if err != nil {
		return err
	}
	text, err := readReply(c, file)
	if err != nil {
		return err
	}
	doc, problem := policy.ParseResponse(text)
	record := parseRecord{
		Policy: f.policy, Matched: doc.Policy, Parts: partRecords(doc.Parts), Repairs: []repairRecord{}, Error: newProblemRecord(problem),
	}
	for _, r := range doc.Repairs {
		record.Repairs = append(record.Repairs, repairRecord(r))
	}
	if err := cli.Encode(c.Stdout, record); err != nil {
		return err
	}
	if problem != nil {
		return cli.Failed(problem)
	}
	return nil
}

// readReply returns the text of a file; - means standard input.
func readReply(c *cli.CLI, file string) (string, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = io.ReadAll(c.Stdin)
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the reply: %w", err)
	}
	return string(data), nil
}

func partRecords(parts []markdownpolicy.Part) []partRecord {
	records := make([]partRecord, len(parts))
	for i, p := range parts {
		r := partRecord{Start: p.Start, End: p.End}
		switch content := p.Content.(type) {
		case messages.Text:
			r.Type, r.Text = "text", content.Text
		case messages.Thought:
			r.Type, r.Text = "thought", content.Text
		case messages.ToolCall:
			r.Type, r.Name, r.Arguments = "tool_call", content.Name, argumentsRecord(content)
		default:
			r.Type = fmt.Sprintf("%T", content)
		}
		records[i] = r
	}
	return records
}

// argumentsRecord returns the arguments of a call as they were written.
func argumentsRecord(call messages.ToolCall) any {
	if json.Valid([]byte(call.Arguments)) {
		return json.RawMessage(call.Arguments)
	}
	return call.Arguments
}

// newProblemRecord returns the error of a policy as data; nil if there is none.
func newProblemRecord(err error) *problemRecord {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*markdownpolicy.ParseError](err)
	if !ok {
		return &problemRecord{Message: err.Error()}
	}
	return &problemRecord{
		Message: e.Error(), Policy: e.Policy, Offset: e.Offset, Line: e.Line, Expected: e.Expected, Found: e.Found, Feedback: e.Feedback(),
	}
}
