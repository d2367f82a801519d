package machine_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
)

// page is the description of the events.
func page(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../docs/events.md")
	require.NoError(t, err)
	return string(data)
}

// shown returns the lines of JSON on the page.
func shown(t *testing.T) (lines []string) {
	t.Helper()
	for _, block := range strings.Split(page(t), "```json\n")[1:] {
		code, _, found := strings.Cut(block, "```")
		require.True(t, found)
		lines = append(lines, strings.Split(strings.TrimSpace(code), "\n")...)
	}
	return lines
}

// constants returns the values of the constants of a type in a file of this package.
func constants(t *testing.T, file, typ string) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, decl := range parsed.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			s := spec.(*ast.ValueSpec)
			if name, ok := s.Type.(*ast.Ident); !ok || name.Name != typ {
				continue
			}
			value, err := strconv.Unquote(s.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			values = append(values, value)
		}
	}
	require.NotEmpty(t, values)
	return values
}

// Each line of the page is an event, and what is written of it is the line again: no field is
// misspelt or missing a place.
func TestEventsPage_isJSONOfEvents(t *testing.T) {
	lines := shown(t)
	require.Greater(t, len(lines), 20)
	for _, line := range lines {
		var e machine.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e), "%s", line)
		back, err := json.Marshal(e)
		require.NoError(t, err)
		require.JSONEq(t, line, string(back))
	}
}

// Each kind has its section with a line of its own, and each word of the sums is explained.
func TestEventsPage_hasEveryKind(t *testing.T) {
	text := page(t)
	for _, kind := range constants(t, "event.go", "EventKind") {
		_, section, found := strings.Cut(text, "\n### "+kind+"\n")
		require.True(t, found, "the page has a section %s", kind)
		section, _, _ = strings.Cut(section, "\n### ")
		require.Contains(t, section, `"kind":"`+kind+`"`)
	}
	for _, typ := range []string{"Status", "Share"} {
		for _, value := range constants(t, "event.go", typ) {
			require.Contains(t, text, "`"+value+"`", "%s", typ)
		}
	}
}

// Each field of each detail stands on the page: in a line of JSON, or by name.
func TestEventsPage_hasEveryField(t *testing.T) {
	text := page(t)
	fields := map[string]bool{}
	var e machine.Event
	for _, v := range []any{
		e,
		machine.RunStarted{},
		machine.RunResumed{},
		machine.FrameEntered{},
		machine.StateChanged{},
		machine.StepTaken{},
		machine.CallDelta{},
		machine.StepSnapshot{},
		machine.ToolStarted{},
		machine.ToolProgress{},
		machine.ToolFinished{},
		machine.RetryWaiting{},
		machine.WaitStarted{},
		machine.WaitEnded{},
		machine.FrameLeft{},
		machine.Compacted{},
		machine.Noting{},
		machine.Drifted{},
		machine.RunMigrated{},
		machine.SnapshotFailed{},
		machine.RunFinished{},
	} {
		tags(reflect.TypeOf(v), fields)
	}
	full, err := messages.History{
		messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "1"}}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "1", Status: "ok", Reason: "r", Untrusted: true, Elapsed: 1}},
	}.MarshalJSON()
	require.NoError(t, err)
	var tree any
	require.NoError(t, json.Unmarshal(full, &tree))
	names(tree, fields)
	require.Greater(t, len(fields), 40)
	for field := range fields {
		require.True(t, strings.Contains(text, `"`+field+`":`) || strings.Contains(text, "`"+field+"`"), "the page has the field %s", field)
	}
	for _, kind := range details(t) {
		require.Contains(t, fields, kind)
	}
}

// details returns the name of a field for each kind with a detail, so that a new kind is not
// forgotten above.
func details(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, line := range shown(t) {
		var e struct {
			Detail map[string]any `json:"detail"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		for field := range e.Detail {
			found = append(found, field)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// tags collects the JSON names of the fields of a struct, and of the structs of this module in it.
func tags(typ reflect.Type, found map[string]bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() {
		return
	}
	for field := range typ.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			found[name] = true
			tags(field.Type, found)
		}
	}
}

// names collects the names in a JSON value.
func names(v any, found map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			found[name] = true
			names(inner, found)
		}
	case []any:
		for _, inner := range v {
			names(inner, found)
		}
	}
}

// A kind that is not known is read as it is; one with a detail is an error that names it.
func TestEvent_unknownKind(t *testing.T) {
	var e machine.Event
	require.NoError(t, json.Unmarshal([]byte(`{"run":"r","kind":"mine","text":"x","later":1}`), &e))
	require.Equal(t, machine.Event{Run: "r", Kind: "mine", Text: "x"}, e)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"kind":"later","detail":{}}`), &e), `"later"`)
}
