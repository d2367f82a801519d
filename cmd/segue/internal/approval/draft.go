package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/tools"
)

// draft is a text in which a person changes the arguments of a call.
type draft struct {
	text string
	kind string // the end of the name of a file with it: ".json" or ".yaml"
}

// aboutYAML begins a draft in YAML.
const aboutYAML = "# Change the call, save it and close the editor. The lines of a text stand below its name, set in.\n"

// newDraft returns the draft of a call: JSON, or YAML for a tool that changes files, whose texts
// can be read there.
func newDraft(tool, arguments string) draft {
	if workfolder.Changes(tool) {
		if text, ok := yamlOf(arguments); ok {
			return draft{aboutYAML + text, ".yaml"}
		}
	}
	var text bytes.Buffer
	if json.Indent(&text, []byte(arguments), "", "  ") != nil {
		return draft{arguments, ".json"}
	}
	return draft{text.String() + "\n", ".json"}
}

// yamlOf returns an object as YAML; false if it cannot be read back as it was.
func yamlOf(arguments string) (string, bool) {
	members, ok := terminal.MembersOf(arguments)
	if !ok {
		return "", false
	}
	var list yaml.MapSlice
	for _, m := range members {
		var value any
		if json.Unmarshal(m.Value, &value) != nil {
			return "", false
		}
		list = append(list, yaml.MapItem{Key: m.Name, Value: value})
	}
	text, err := yaml.MarshalWithOptions(list, yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return "", false
	}
	for _, text := range []string{blanks.ReplaceAllString(string(text), ""), string(text)} {
		if again, err := (draft{text, ".yaml"}).arguments(); err == nil && jsonform.Canonical(again) == jsonform.Canonical(arguments) {
			return text, true
		}
	}
	return "", false
}

// blanks are the blanks of lines that have nothing else.
var blanks = regexp.MustCompile(`(?m)^ +$`)

// arguments returns the arguments in the draft as JSON without blanks.
func (d draft) arguments() (string, error) {
	text := []byte(d.text)
	if d.kind == ".yaml" {
		var list yaml.MapSlice
		if err := yaml.UnmarshalWithOptions(text, &list, yaml.UseOrderedMap()); err != nil {
			return "", fmt.Errorf("it is not YAML: %s", plaintext.OneLine(firstLine(err.Error())))
		}
		var err error
		if text, err = objectOf(list); err != nil {
			return "", err
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return "", fmt.Errorf("it is not JSON: %w", err)
	}
	if compact.Len() == 0 || compact.Bytes()[0] != '{' {
		return "", errors.New("it is not an object")
	}
	return compact.String(), nil
}

// objectOf returns members as a JSON object, in their order.
func objectOf(list yaml.MapSlice) ([]byte, error) {
	var b bytes.Buffer
	for i, item := range list {
		if b.WriteByte(','); i == 0 {
			b.Reset()
			b.WriteByte('{')
		}
		if inner, ok := item.Value.(yaml.MapSlice); ok {
			text, err := objectOf(inner)
			if err != nil {
				return nil, err
			}
			item.Value = json.RawMessage(text)
		}
		name, err := jsonform.Marshal(fmt.Sprint(item.Key))
		if err != nil {
			return nil, err
		}
		value, err := jsonform.Marshal(item.Value)
		if err != nil {
			return nil, fmt.Errorf("its %v has no JSON form", item.Key)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	if b.WriteByte('}'); len(list) == 0 {
		return []byte("{}"), nil
	}
	return b.Bytes(), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// fits returns an error if arguments are not such as the tool takes. A tool that is not in the list
// says so itself when it is called.
func fits(list []tools.Definition, tool, arguments string) error {
	for _, def := range list {
		if def.Name != tool || def.Parameters == nil {
			continue
		}
		schema, err := tools.CompileSchema(def.Parameters)
		if err != nil {
			return nil //nolint:nilerr // the tool itself says what it thinks of the arguments
		}
		if _, err := schema.Arguments(arguments); err != nil {
			return fmt.Errorf("%s cannot take it: %s", plaintext.Visible(tool), plaintext.OneLine(strings.TrimPrefix(err.Error(), "tools: ")))
		}
	}
	return nil
}

// Changed returns JSON that a person gives as the arguments of a call, without blanks. The error
// says why the call cannot be made with it. list are the tools that are known.
func Changed(list []tools.Definition, tool, text string) (string, error) {
	arguments, err := draft{text, ".json"}.arguments()
	if err != nil {
		return "", err
	}
	return arguments, fits(list, tool, arguments)
}
