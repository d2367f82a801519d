package mcptools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/internal/wholefile"
	"github.com/segue-go/segue/tools"
)

// admission decides which tools of a list are offered.
type admission struct {
	set      *Toolset
	owner    map[string]string // the server's name of the tool that may have a name
	admitted map[string]bool   // by name
	schema   *tools.Schema     // of the tool that was admitted last
}

// admit completes the definition of a tool, or says why it is left out.
func (a *admission) admit(t *mcp.Tool, o *Offer) (err error) {
	cfg := &a.set.cfg
	o.ToolName, err = toolName(cfg.Prefix, t.Name)
	if err != nil {
		o.Name = fmt.Sprintf("%.80q", t.Name)
		return err
	}
	o.Definition.Name = o.ToolName
	if cfg.Allow != nil && !slices.Contains(cfg.Allow, t.Name) {
		return errors.New("the configuration does not allow it")
	}
	if a.owner[o.ToolName] != t.Name || a.admitted[o.ToolName] {
		return fmt.Errorf("another tool of the server has the name %s", o.ToolName)
	}
	if t.Meta[needsTask] != nil {
		return errors.New("each call of it is a task, and tasks are not supported")
	}
	if len(a.admitted) == cfg.Limits.Tools {
		return fmt.Errorf("the server offers more than %d tools", cfg.Limits.Tools)
	}
	if o.Definition.Parameters, a.schema, o.Unchecked, err = schemaOf(t, cfg.Limits.Schema); err != nil {
		return err
	}
	a.admitted[o.ToolName] = true
	return nil
}

// schemaOf returns the input schema of a tool, and the same compiled, without the patterns that
// cannot be checked. A schema that does not say that it is of an object is taken for one: arguments
// are nothing else.
func schemaOf(t *mcp.Tool, most int) (data json.RawMessage, compiled *tools.Schema, unchecked []string, err error) {
	schema, ok := t.InputSchema.(map[string]any)
	if !ok {
		return nil, nil, nil, errors.New("its input schema is not an object")
	}
	schema = withoutNull(schema)
	if _, said := schema["type"]; !said {
		schema["type"] = "object"
	}
	if schema["type"] != "object" {
		return nil, nil, nil, errors.New("its input schema is not one of an object")
	}
	if data, err = json.Marshal(schema); err != nil {
		return nil, nil, nil, errors.New("its input schema is not JSON")
	}
	data = bytes.Map(func(r rune) rune {
		if isHidden(r) {
			return -1
		}
		return r
	}, data)
	if len(data) > most {
		return nil, nil, nil, fmt.Errorf("its input schema has %d bytes, more than %d", len(data), most)
	}
	if compiled, err = tools.CompileSchema(data); err != nil {
		if data, unchecked = withoutPatterns(data); len(unchecked) > 0 {
			compiled, err = tools.CompileSchema(data)
		}
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("its input schema is invalid: %s", clean(err.Error(), 300))
	}
	return asWritten(t, data), compiled, unchecked, nil
}

// anyObject refuses an object that has a name twice: people are shown one of the two values.
var anyObject, _ = tools.CompileSchema([]byte(`{"type":"object"}`))

// asWritten returns a schema as the server has written it, without blanks, if that says the same.
// Models read it in this order.
func asWritten(t *mcp.Tool, schema json.RawMessage) json.RawMessage {
	text, _ := t.Meta[schemaText].(string)
	var written bytes.Buffer
	var was, is any
	if anyObject.Check(text) != nil || json.Compact(&written, []byte(text)) != nil || json.Unmarshal([]byte(text), &was) != nil ||
		json.Unmarshal(schema, &is) != nil || !reflect.DeepEqual(was, is) {
		return schema
	}
	return written.Bytes()
}

// withoutPatterns returns a schema without the patterns that cannot be checked, and these,
// sorted.
func withoutPatterns(schema json.RawMessage) (json.RawMessage, []string) {
	var v any
	var found []string
	_ = json.Unmarshal(schema, &v) // it was written as JSON
	dropPatterns(v, &found)
	slices.Sort(found)
	return asJSON(v), slices.Compact(found)
}

// dropPatterns takes the patterns that cannot be checked out of a schema. With a pattern for names
// it takes out what would refuse these names. With a pattern in a keyword that also asks for what
// does not fit, such as "not", it takes out the keyword; a "oneOf" becomes an "anyOf".
func dropPatterns(v any, found *[]string) {
	unknown := func(pattern string) bool {
		_, err := tools.CompileSchema(asJSON(object{"pattern": asJSON(pattern)}))
		if err != nil {
			*found = append(*found, clean(pattern, 200))
		}
		return err != nil
	}
	list, _ := v.([]any)
	schema, _ := v.(map[string]any)
	names, _ := schema["patternProperties"].(map[string]any)
	for pattern := range names {
		if unknown(pattern) {
			delete(names, pattern)
			delete(schema, "additionalProperties")
		}
	}
	if pattern, ok := schema["pattern"].(string); ok && unknown(pattern) {
		delete(schema, "pattern")
	}
	for _, one := range list {
		dropPatterns(one, found)
	}
	for key, one := range maps.Clone(schema) {
		before := len(*found)
		if dropPatterns(one, found); len(*found) == before {
			continue
		}
		switch key {
		case "oneOf": // more of them fit now
			schema["anyOf"] = cmp.Or[any](schema["anyOf"], one)
			delete(schema, key)
		case "not", "if":
			delete(schema, key)
		}
	}
}

// withoutNull returns a copy of a schema without a "required" that is null, as some servers write
// an empty list.
func withoutNull(schema map[string]any) map[string]any {
	schema = maps.Clone(schema)
	if required, ok := schema["required"]; ok && required == nil {
		delete(schema, "required")
	}
	return schema
}

// Pins are the definitions of tools that somebody has accepted, as fingerprints, for a file beside
// a program's configuration. After a look at a server's tools, keep
// pins.Servers[name] = toolset.Fingerprints(), write the file, and give Config.Pinned that entry
// from then on.
type Pins struct {
	Servers map[string]map[string]string // server, the server's name of the tool: fingerprint
}

type pinsFile struct {
	Version int                          `json:"version"`
	Servers map[string]map[string]string `json:"servers"`
}

const pinsVersion = 1

// ReadPins reads pins from a file that [Pins.Write] has written. A file that does not exist holds
// none.
func ReadPins(path string) (*Pins, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Pins{Servers: map[string]map[string]string{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mcptools: reading the pins: %w", err)
	}
	var f pinsFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("mcptools: the pins in %s: %w", path, err)
	}
	if f.Version != pinsVersion {
		return nil, fmt.Errorf("mcptools: the pins in %s have version %d, and this program reads %d", path, f.Version, pinsVersion)
	}
	if f.Servers == nil {
		f.Servers = map[string]map[string]string{}
	}
	return &Pins{Servers: f.Servers}, nil
}

// Write writes the pins to a file, which it replaces as a whole.
func (p *Pins) Write(path string) error {
	data, err := json.MarshalIndent(pinsFile{Version: pinsVersion, Servers: p.Servers}, "", "  ")
	if err != nil {
		return fmt.Errorf("mcptools: the pins: %w", err)
	}
	if err := wholefile.Replace(path, append(data, '\n')); err != nil {
		return fmt.Errorf("mcptools: writing the pins: %w", err)
	}
	return nil
}
