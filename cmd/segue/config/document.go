package config

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/segue-go/segue/cmd/segue/internal/regularfile"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/tools"
)

// Document is a YAML document that is no configuration, such as a suite of cases.
type Document struct {
	Value any // as encoding/json decodes it, but a number may be of any type
	c     Config
}

// ReadDocument reads a document in a regular file of at most [MaxSize] bytes. If it is not YAML
// whose values have a JSON form, the error is an [*Error].
func ReadDocument(path string) (*Document, error) {
	text, err := regularfile.Read(path, MaxSize)
	if err != nil {
		return nil, err
	}
	d := &Document{c: Config{Path: path, other: true}}
	var problems []Problem
	d.c.document, d.c.at, problems = readYAML(text)
	d.Value = d.c.document
	return d, d.c.problems(problems)
}

// Decode decodes a document into a struct, by its json tags. If the document does not fit, with
// keys that are not known or values of the wrong type, it returns an [*Error].
func Decode[T any](d *Document) (v T, err error) {
	text, _, err := tools.SchemaOf[T]()
	if err != nil {
		return v, err
	}
	schema, err := tools.CompileSchema(text)
	if err != nil {
		return v, err
	}
	document, err := json.Marshal(d.Value)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(text, &d.c.schema); err != nil {
		return v, err
	}
	var found []Problem
	if e, ok := errors.AsType[*tools.SchemaError](schema.Check(string(document))); ok {
		for _, p := range e.Problems {
			found = append(found, d.c.placed(p)...)
		}
	}
	if err := d.c.problems(found); err != nil {
		return v, err
	}
	return v, json.Unmarshal(document, &v)
}

// UsesFiles reports whether an agent, or one that it can reach, may use tools for files: it names
// one or, if all is set, has no list of tools. strategy is that of [Options].
func (c *Config) UsesFiles(agent, strategy string, all bool) bool {
	return slices.ContainsFunc(c.reach(agent, strategy), func(a reachedAgent) bool {
		return a.Tools == nil && all || slices.ContainsFunc(a.Tools, func(tool string) bool { return slices.Contains(workfolder.ToolNames, tool) })
	})
}
