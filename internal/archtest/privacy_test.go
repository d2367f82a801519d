package archtest

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// kept are the types that a store keeps, the variants of sums among them. What they hold is found
// by reflection.
var kept = []any{
	checkpoint.Head{},
	checkpoint.Record{},
	checkpoint.Message{},
	checkpoint.Snapshot{},
	checkpoint.Value{},
	machine.Started{},
	machine.Resumed{},
	machine.Intended{},
	machine.Answered{},
	machine.Asked{},
	machine.Suspended{},
	machine.Replied{},
	machine.Noted{},
	machine.Stopped{},
	machine.Migrated{},
	nextstep.APIResponse{},
	nextstep.ToolResult{},
	nextstep.DelegationResult{},
	nextstep.Failure{},
	messages.System{},
	messages.User{},
	messages.Assistant{},
	messages.Tool{},
	messages.Text{},
	messages.Image{},
	messages.File{},
	messages.Audio{},
	messages.Thought{},
	messages.ToolCall{},
}

// fieldsKept returns the fields of all structs of this module that a store keeps, by the name of
// the type: "machine.Started".
func fieldsKept() map[string][]string {
	found := map[string][]string{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			visit(typ.Elem())
		case reflect.Struct:
			name := typ.String()
			if _, seen := found[name]; seen || !strings.HasPrefix(typ.PkgPath()+"/", module) {
				return
			}
			found[name] = []string{}
			for field := range typ.Fields() {
				if field.IsExported() {
					found[name] = append(found[name], field.Name)
					visit(field.Type)
				}
			}
		default:
		}
	}
	for _, v := range kept {
		visit(reflect.TypeOf(v))
	}
	return found
}

var (
	typeHeading = regexp.MustCompile("^### `([a-z]+\\.\\w+)`")
	fieldRow    = regexp.MustCompile("^\\| ((?:`[A-Z]\\w*`(?:, )?)+) \\| ([^|]+) \\| (yes|no|perhaps) \\|$")
	fieldName   = regexp.MustCompile("`(\\w+)`")
)

// TestPrivacy_everyField compares docs/internal/stored-fields.md with the structs: each field that
// a store keeps has a row below the heading of its type, and no other has.
func TestPrivacy_everyField(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/internal/stored-fields.md"))
	require.NoError(t, err)
	described, at := map[string][]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			at = ""
		}
		if m := typeHeading.FindStringSubmatch(line); m != nil {
			at = m[1]
			described[at] = []string{}
			continue
		}
		if at != "" && strings.HasPrefix(line, "| `") {
			row := fieldRow.FindStringSubmatch(line)
			require.NotNil(t, row, "%s: a row says the fields, what they hold, and whether that is content: %s", at, line)
			for _, m := range fieldName.FindAllStringSubmatch(row[1], -1) {
				described[at] = append(described[at], m[1])
			}
		}
	}
	fields := fieldsKept()
	require.GreaterOrEqual(t, len(fields), 35)
	for name, want := range fields {
		have, ok := described[name]
		require.True(t, ok, "docs/internal/stored-fields.md does not describe %s, with the fields %q", name, want)
		slices.Sort(want)
		slices.Sort(have)
		require.Equal(t, want, have, "the fields of %s in docs/internal/stored-fields.md", name)
	}
	for name := range described {
		require.Contains(t, fields, name, "docs/internal/stored-fields.md describes what no store keeps")
	}
}

// TestPrivacy_everyVariant finds the variants of the sums that a journal holds.
func TestPrivacy_everyVariant(t *testing.T) {
	variant := regexp.MustCompile(`(?m)^func \((\w+)\) (?:isRecord|isAnswer|isMessage|isUserContent|isAssistantContent)\(\)`)
	fields := fieldsKept()
	count := 0
	for _, folder := range []string{"machine", "nextstep", "messages"} {
		for _, file := range filesOf(t, folder) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range variant.FindAllStringSubmatch(string(text), -1) {
				require.Contains(t, fields, folder+"."+m[1])
				count++
			}
		}
	}
	require.GreaterOrEqual(t, count, 20)
}
