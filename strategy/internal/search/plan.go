package search

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/segue-go/segue/internal/prompts"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

const listed = `{{range .Tools}}
- {{.Name}}{{if .Description}}: {{.Description}}{{end}}{{if .Parameters}}
  Arguments, as a JSON Schema: {{.Parameters}}{{end}}{{end}}`

var defaultPrompts = toolsearch.Prompts{
	Description: "Finds tools. {{.Count}} tools are not listed here: search for one by what it does or what it works with. Those that are found can be called from your next reply on.",
	Query:       `A few words, such as "send mail", or the name of a tool.`,
	Found:       "These tools were found. They can be called from now on:" + listed,
	Nothing:     `No tool fits "{{.Query}}". There are {{.Count}} tools that can be found. Search again with other words: one or two that say what the tool does, or what it works with.`,
	Arguments:   `Nothing was searched for. Say in "query" with a few words what the tool should do.`,
	Early:       "This call was not run, because the tool had not been offered. It is offered from now on. Make the call again, with arguments that fit the tool:" + listed,
}

var sample = toolsearch.PromptData{Query: "words", Count: 50, Tools: []toolsearch.Found{{Name: "a_tool", Description: "Does it.", Parameters: "{}"}}}

// Plan is a checked Config. It is read-only, and can be used for any number of frames at the same
// time. The nil Plan never searches.
type Plan struct {
	above, results int
	name           string
	pinned         []string
	texts          *prompts.Set
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Compile checks the Config and fills in its defaults. The error says everything that is wrong,
// each time with the name of the package whose Config has this one in its field Search. It returns
// a nil Plan if the search is off. The pinned tools must be among those that the Config of the
// package names; nil names mean all.
func Compile(c toolsearch.Config, pkg string, names []string) (*Plan, error) {
	p := &Plan{
		above: cmp.Or(c.Above, 40), results: cmp.Or(c.Results, 5),
		name: cmp.Or(c.Name, toolsearch.DefaultName), pinned: slices.Clone(c.Pinned),
	}
	var problems []error
	if c.Results < 0 {
		problems = append(problems, fmt.Errorf("%s: Search: Results is %d, and a search must be able to find something", pkg, c.Results))
	}
	if !toolName.MatchString(p.name) {
		problems = append(problems, fmt.Errorf(`%s: Search: the Name %.80q is not 1 to 64 of letters, digits, "_" and "-"`, pkg, p.name))
	}
	for i, name := range c.Pinned {
		if slices.Contains(c.Pinned[:i], name) {
			problems = append(problems, fmt.Errorf("%s: Search: Pinned names %q more than once", pkg, name))
		}
		if names != nil && !slices.Contains(names, name) {
			problems = append(problems, fmt.Errorf("%s: Search: Pinned names %q, which is not among the Tools", pkg, name))
		}
	}
	var err error
	p.texts, err = prompts.Parse(pkg+": Search", c.Prompts, defaultPrompts, map[string]any{"": sample})
	if err = errors.Join(append(problems, err)...); err != nil || c.Above < 0 {
		return nil, err
	}
	return p, nil
}

// Name returns the name of the search tool; "" if there is none.
func (p *Plan) Name() string {
	if p == nil {
		return ""
	}
	return p.name
}

// Names returns the names of tools that a Config names together with the pinned ones, for
// strategy.Namer. Nil names mean that it names none.
func (p *Plan) Names(names []string) []string {
	if p == nil || names != nil { // pinned ones are among them
		return names
	}
	return slices.Clone(p.pinned)
}

// definition returns the search tool of a frame in which that many tools can be found.
func (p *Plan) definition(count int) tools.Definition {
	data := toolsearch.PromptData{Count: count}
	parameters, err := json.Marshal(map[string]any{
		"type":       "object",
		"properties": map[string]any{"query": map[string]any{"type": "string", "description": p.fill("Query", data)}},
		"required":   []string{"query"},
	})
	if err != nil {
		parameters = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)
	}
	return tools.Definition{Name: p.name, Description: p.fill("Description", data), Parameters: parameters, ReadOnly: true}
}

// fill fills in a template. If that fails, it returns the error as a text for the model.
func (p *Plan) fill(name string, data toolsearch.PromptData) string {
	text, err := p.texts.Fill(name, data)
	if err != nil {
		return err.Error()
	}
	return text
}
