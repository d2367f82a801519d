package strategytest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/reasonactobserve"
)

// goldenMemory is a line of a golden file: what a strategy remembered in a run.
type goldenMemory struct {
	Subject  int               `json:"subject"` // index of the guided subject
	Position strategy.Position `json:"position"`
	Snapshot json.RawMessage   `json:"snapshot"`
}

// The golden files are the form of the snapshots of each built-in strategy, and contain each field.
// They can be read, and are written unchanged. A changed line needs a new version of that memory.
func TestSnapshot_golden(t *testing.T) {
	for name, r := range rememberers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata", "snapshots", name+".jsonl")
			made := covering(t, r)
			if flag.Lookup("rewrite").Value.String() == "true" { // of package datadriven
				require.NoError(t, os.WriteFile(file, bytes.Join(made, nil), 0o600))
			}
			golden, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(golden), string(bytes.Join(made, nil)))
			for line := range strings.Lines(string(golden)) {
				var m goldenMemory
				require.NoError(t, json.Unmarshal([]byte(line), &m))
				st := restored(t, r.subjects[m.Subject], m)
				again, err := st.(strategy.Snapshotter).Snapshot()
				require.NoError(t, err)
				require.Equal(t, string(m.Snapshot), string(again))
				require.Equal(t, m.Position, st.(strategy.Tabler).FSM().Position())
			}
		})
	}
}

// covering returns lines of snapshots that together have all fields of a memory.
func covering(t *testing.T, r rememberer) [][]byte {
	t.Helper()
	var lines [][]byte
	seen, before := map[string]bool{}, map[string]bool{}
	for i, g := range r.subjects {
		g.walk(func(s strategy.Strategy) {
			data, err := s.(strategy.Snapshotter).Snapshot()
			require.NoError(t, err)
			if before[string(data)] {
				return
			}
			before[string(data)] = true
			paths := pathsOf(t, data)
			if !slices.ContainsFunc(paths, func(path string) bool { return !seen[path] }) {
				return
			}
			for _, path := range paths {
				seen[path] = true
			}
			var line bytes.Buffer
			e := json.NewEncoder(&line)
			e.SetEscapeHTML(false)
			require.NoError(t, e.Encode(goldenMemory{Subject: i, Position: s.(strategy.Tabler).FSM().Position(), Snapshot: data}))
			lines = append(lines, line.Bytes())
		})
	}
	for _, field := range r.fields {
		require.True(t, seen[field], "no run has %q in its memory", field)
	}
	for path := range seen {
		if path != "v" && !strings.Contains(path, ".") {
			require.Contains(t, r.fields, path)
		}
	}
	return lines
}

// fresh returns a new strategy that can be restored.
func fresh(g guided) strategy.Strategy {
	st := g.New()
	if p, ok := st.(strategy.ToolProvider); ok {
		p.Tools()
	}
	if u, ok := st.(strategy.ToolUser); ok {
		u.UseTools(g.Tools)
	}
	return st
}

func restored(t *testing.T, g guided, m goldenMemory) strategy.Strategy {
	t.Helper()
	st := fresh(g)
	require.NoError(t, st.(strategy.Snapshotter).Restore(m.Snapshot))
	require.NoError(t, st.(strategy.Tabler).FSM().SetPosition(m.Position))
	return st
}

// A snapshot that does not fit is refused, and the error says why: nothing that a strategy
// remembered is lost without a word.
func TestRestore_refusesWhatDoesNotFit(t *testing.T) {
	for name, r := range rememberers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := r.subjects[0]
			var m goldenMemory
			text, err := os.ReadFile(filepath.Join("testdata", "snapshots", name+".jsonl"))
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(bytes.SplitN(text, []byte("\n"), 2)[0], &m))
			with := func(field, value string) string {
				fields := fieldsOf(t, m.Snapshot)
				fields[field] = json.RawMessage(value)
				data, err := json.Marshal(fields)
				require.NoError(t, err)
				return string(data)
			}
			for snapshot, want := range map[string]string{
				with("mood", `"good"`):     `unknown field "mood"`,
				with("v", "2"):             "it has version 2, and this strategy reads version 1",
				with("history", `{"v":7}`): `unknown version "7"`,
				with(r.fields[0], "false"): "the snapshot does not fit: ",
				string(m.Snapshot) + "{}":  "after top-level value",
				string(m.Snapshot[:9]):     "unexpected end of JSON input",
				"{}":                       "it has version 0, and this strategy reads version 1",
				"null":                     "it has version 0, and this strategy reads version 1",
				"":                         "unexpected end of JSON input",
				`[{"v":1}]`:                "cannot unmarshal array",
			} {
				if name == "retry" && strings.Contains(want, `"7"`) {
					continue // it has no history of its own
				}
				err := fresh(g).(strategy.Snapshotter).Restore(json.RawMessage(snapshot))
				require.ErrorContains(t, err, name+": the snapshot does not fit: ", snapshot)
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// Some snapshots have the right form, and do not fit the Config or each other.
func TestRestore_refusesWhatCannotBe(t *testing.T) {
	all := rememberers()
	const history = `"history":{"v":1,"messages":[]}`
	for _, test := range []struct{ name, snapshot, want string }{
		{"reasonactobserve", `{"v":1,"before":1,` + history + `}`, "before is outside the history"},
		{"planreviseexecute", `{"v":1,` + history + `,"plan":{"steps":[{"id":"1","goal":"A","depends_on":["x"]}]}}`, `step "1" of its plan depends on "x", which is no step`},
		{"planreviseexecute", `{"v":1,` + history + `,"plan":{"steps":[{"id":"1","goal":"A","owner":"x"}]}}`, `unknown field "owner"`},
		{"reflection", `{"v":1,` + history + `}`, "lacks one, unlike the Config"},
		{"stepagent", `{"v":1,` + history + `}`, "it has a state and the Config has no NewState, or the other way round"},
		{"stepagent", `{"v":1,` + history + `,"state":{"jumps":3}}`, `the State (*strategytest.counts): json: unknown field "jumps"`},
	} {
		err := fresh(all[test.name].subjects[0]).(strategy.Snapshotter).Restore(json.RawMessage(test.snapshot))
		require.ErrorContains(t, err, test.want)
		require.ErrorContains(t, err, test.name+": the snapshot does not fit: ")
	}
	plain := guided{Subject: Subject{New: completetask.New(completetask.Config{})}}
	err := fresh(plain).(strategy.Snapshotter).Restore(json.RawMessage(`{"v":1,` + history + `,"answer_tool":true}`))
	require.ErrorContains(t, err, "the Config has no Schema")
	without := guided{Subject: Subject{New: reasonactobserve.New(reasonactobserve.Config{})}}
	err = fresh(without).(strategy.Snapshotter).Restore(json.RawMessage(`{"v":1,` + history + `,"consult":"{}"}`))
	require.ErrorContains(t, err, "the Config has no Retrieval")
}
