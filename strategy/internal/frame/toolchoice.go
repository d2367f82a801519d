package frame

import (
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/nextstep"
)

// ToolChoice checks a tool choice in a field of a package's Config. The zero value is valid.
func ToolChoice(pkg, field string, c llmclient.ToolChoice) error {
	modes := []llmclient.ToolChoiceMode{
		"", llmclient.ChooseAuto, llmclient.ChooseNone, llmclient.ChooseRequired, llmclient.ChooseTool,
	}
	switch {
	case !slices.Contains(modes, c.Mode):
		return fmt.Errorf("%s: %s: %q is not one of %q", pkg, field, c.Mode, modes)
	case c.Mode == llmclient.ChooseTool && c.Name == "":
		return fmt.Errorf("%s: %s: %q needs the Name of a tool", pkg, field, c.Mode)
	case c.Mode != llmclient.ChooseTool && c.Name != "":
		return fmt.Errorf("%s: %s: the Name %q is for %q alone, and the mode is %q", pkg, field, c.Name, llmclient.ChooseTool, c.Mode)
	default:
		return nil
	}
}

// Forced reports whether a choice makes the model call a tool.
func Forced(c llmclient.ToolChoice) bool {
	return c.Mode == llmclient.ChooseRequired || c.Mode == llmclient.ChooseTool
}

// RefusesChoice reports whether a provider refused a request because of its tool choice. There is
// no code for that: the text of the refusal contains the field name, as "tool_choice", "tool
// choice" or "toolChoice".
func RefusesChoice(f nextstep.Failure) bool { return refuses(f, "toolchoice") }

// RefusesSchema reports whether a provider refused a request because of its response format. As for
// RefusesChoice, the text contains "response_format", "json_schema" or "structured output".
func RefusesSchema(f nextstep.Failure) bool {
	return refuses(f, "responseformat", "jsonschema", "structuredoutput")
}

// joined writes "tool_choice" and "tool choice" as one word.
var joined = strings.NewReplacer("_", "", " ", "")

func refuses(f nextstep.Failure, fields ...string) bool {
	said := joined.Replace(strings.ToLower(f.Message))
	named := func(field string) bool { return strings.Contains(said, field) }
	return string(f.Code) == string(llmclient.CodeBadRequest) && slices.ContainsFunc(fields, named)
}
