package machine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file of records anew")

const golden = "testdata/records.golden"

// The golden file is the format: a change of it breaks journals that are kept.
func TestRecord_golden(t *testing.T) {
	var text []byte
	for _, r := range everyRecord {
		line, err := AppendRecord(text, r)
		require.NoError(t, err)
		text = append(line, '\n')
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(golden, text, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(text))
	for i, line := range bytes.Split(bytes.TrimSpace(want), []byte("\n")) {
		got, err := ReadRecord(line)
		require.NoError(t, err, "%s", line)
		require.Equal(t, everyRecord[i], got)
	}
}

// The golden file has every field: one that is added to a record has to be added there.
func TestRecord_goldenHasEveryField(t *testing.T) {
	set := map[string]bool{}
	note := func(part any) {
		v := reflect.ValueOf(part)
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			set[name] = set[name] || !v.Field(i).IsZero()
		}
	}
	for _, r := range everyRecord {
		note(r)
		if r, ok := r.(Replied); ok {
			note(r.Reply)
		}
	}
	note(snapshotOfAll)
	note(snapshotOfAll.Notes[0])
	for _, f := range snapshotOfAll.Frames {
		note(f)
		note(f.Used)
		note(*f.Branch)
		for _, a := range f.Answers {
			note(a)
		}
		for _, e := range append(f.Calls, *cmp.Or(f.Effect, &effectSnapshot{})) {
			note(e)
			for _, w := range e.Waits {
				note(w)
			}
			for _, r := range e.Results {
				note(r)
			}
		}
	}
	for name, is := range set {
		require.True(t, is, name)
	}
	types := []Record{Started{}, Resumed{}, Intended{}, Answered{}, Asked{}, Suspended{}, Replied{}, Noted{}, Stopped{}, Migrated{}}
	for _, r := range types {
		require.True(t, set[reflect.TypeOf(r).Name()+".At"])
	}
}

// The encoders that are written by hand say what the tags of the records declare.
func TestAppendRecord_agreesWithTags(t *testing.T) {
	for _, r := range everyRecord {
		got, err := AppendRecord(nil, r)
		require.NoError(t, err)
		var fields, declared map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(got, &fields))
		if a, ok := r.(Answered); ok {
			a.Answer = nil
			r = a
			delete(fields, "answer")
		}
		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &declared))
		require.Equal(t, "2", string(fields["v"]))
		delete(fields, "v")
		delete(fields, "type")
		require.Len(t, fields, len(declared))
		for name, value := range declared {
			require.JSONEq(t, string(value), string(fields[name]), name)
		}
	}
}

// A binary that does not know a kind of content refuses the journal that holds it, and names the
// kind and its place.
func TestReadRecord_refusesUnknownContent(t *testing.T) {
	input := delegation.Input{Goal: "look", Messages: messages.History{messages.User{Content: []messages.UserContent{messages.Text{Text: "see"}, messages.File{ID: "file-1"}}}}}
	text, err := AppendRecord(nil, Started{At: at, Run: "r", Strategy: "solve", Input: input})
	require.NoError(t, err)
	_, err = ReadRecord(bytes.ReplaceAll(text, []byte(`"type":"file"`), []byte(`"type":"hologram"`)))
	require.ErrorContains(t, err, `messages[0].content[1].type: unknown type "hologram"`)
}

func TestAppendRecord_timesAreUTC(t *testing.T) {
	here := time.FixedZone("here", 7200)
	for _, r := range []Record{Noted{At: at.In(here)}, Intended{At: at.In(here)}, Asked{At: at.In(here), Wait: Wait{Expires: at.In(here)}}} {
		text, err := AppendRecord(nil, r)
		require.NoError(t, err)
		require.Contains(t, string(text), `"at":"2026-03-04T05:06:07.008000009Z"`)
		require.NotContains(t, string(text), "+02:00")
	}
}

func TestAppendRecord_refuses(t *testing.T) {
	broken := json.RawMessage(`{"a":`)
	far := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		record Record
		want   string
	}{
		{nil, "machine: <nil> is not a record as a value"},
		{&Noted{}, "machine: *machine.Noted is not a record as a value"},
		{Noted{At: far}, "machine: the record of type noted has no JSON form"},
		{Intended{At: far}, "its year is not between 0 and 9999"},
		{Intended{Effect: EffectID{Seq: -1}}, "a number of its effect is negative"},
		{Asked{Effect: EffectID{Index: -1}}, "the record of type asked has no JSON form: a number of its effect is negative"},
		{Intended{Verdict: 7}, "no verdict has the number 7"},
		{Answered{}, "machine: the record of type answered has no JSON form: it holds no answer"},
		{Answered{Answer: nextstep.APIResponse{}}, "nextstep: api_response: it holds no response"},
		{Answered{Answer: nextstep.APIResponse{Response: &llmclient.Response{Message: messages.Assistant{Extras: messages.Extras{"x": broken}}}}}, "messages: x: an extra is not JSON"},
		{Answered{Answer: nextstep.DelegationResult{Output: delegation.Output{Data: broken}}}, "nextstep: delegation_result"},
		{Answered{Answer: nextstep.DelegationResult{Output: delegation.Output{Messages: messages.History{&messages.User{}}}}}, "is not a message as a value"},
		{Suspended{}, "it holds no waits"},
		{Migrated{}, "its snapshot cannot be read: it has the format 0, and this version of the library reads 1"},
		{Suspended{Waits: []Wait{{}}, State: broken}, "the record of type suspended has no JSON form"},
		{Started{Input: delegation.Input{Data: broken}}, "the record of type started has no JSON form"},
		{Started{Input: delegation.Input{Messages: messages.History{nil}}}, "is not a message as a value"},
		{Started{Temperature: new(math.NaN())}, "unsupported value: NaN"},
	} {
		text, err := AppendRecord(nil, test.record)
		require.ErrorContains(t, err, test.want)
		require.Nil(t, text)
	}
}

func TestReadRecord_refuses(t *testing.T) {
	const head = `{"v":2,"at":"2026-03-04T05:06:07Z",`
	for text, want := range map[string]string{
		``:                                   "machine: the record is not JSON: unexpected end of JSON input",
		`[]`:                                 "does not say in which version",
		`null`:                               "does not say in which version",
		`{"type":"noted"}`:                   "does not say in which version",
		`{"v":null}`:                         "does not say in which version",
		`{"v":"2"}`:                          "does not say in which version",
		`{"v":2}`:                            `machine: the record of type "": there is no such type`,
		`{"v":2,"type":"jumped"}`:            `machine: the record of type "jumped": there is no such type`,
		`{"v":2,"type":"noted"}`:             `machine: the record of type "noted": the field "at" is missing`,
		head + `"type":"noted"}`:             `the field "text" is missing`,
		head + `"type":"noted","text":null}`: `the field "text" is missing`,
		head + `"type":"noted","text":"x","why":1}`:                                                                                `the field "why" is unknown`,
		head + `"type":"noted","Text":"x"}`:                                                                                        `the field "Text" is unknown`,
		head + `"type":"noted","text":"x"} {}`:                                                                                     "after top-level value",
		`{"v":2,"at":"yesterday","type":"noted","text":"x"}`:                                                                       "parsing time",
		head + `"type":"resumed","limits":{"moves":1}}`:                                                                            `the field "limits.moves" is unknown`,
		head + `"type":"intended","effect":"3","frame":"0","tool":"x","verdict":"maybe"}`:                                          `unknown verdict "maybe"`,
		head + `"type":"intended","effect":"x","frame":"0","tool":"x","verdict":"ask"}`:                                            `"x" is not the id of an effect`,
		head + `"type":"intended","effect":"3","frame":"0","tool":"x"}`:                                                            `the field "verdict" is missing`,
		head + `"type":"answered","effect":"3"}`:                                                                                   "it holds no answer",
		head + `"type":"answered","effect":"3","answer":null}`:                                                                     "it holds no answer",
		head + `"type":"answered","effect":"3","answer":{"kind":"tool_results"}}`:                                                  `unknown kind of answer "tool_results"`,
		head + `"type":"answered","effect":"3","answer":{"kind":"tool_result","output":{},"err":1}}`:                               `the field "err" is unknown`,
		head + `"type":"answered","effect":"3","ref":{"hash":"h","size":1}}`:                                                       `the field "ref" is unknown`,
		head + `"type":"asked","effect":"3","wait":{"id":"w","run":"r","frame":"0","seq":1}}`:                                      `the field "wait.kind" is missing`,
		head + `"type":"suspended","effect":"3"}`:                                                                                  `the field "waits" is missing`,
		head + `"type":"suspended","effect":"3","waits":[]}`:                                                                       "it holds no waits",
		head + `"type":"suspended","effect":"3","waits":[null]}`:                                                                   `the field "waits[0]" cannot be read: it is no object`,
		head + `"type":"suspended","effect":"3","waits":[{"run":"r"}]}`:                                                            `the field "waits[0].id" is missing`,
		head + `"type":"replied","reply":{}}`:                                                                                      `the field "reply.wait_id" is missing`,
		head + `"type":"replied","reply":{"wait_id":"w"},"error":{"code":"x"}}`:                                                    `the field "error.message" is missing`,
		head + `"type":"started","run":"r"}`:                                                                                       `the field "strategy" is missing`,
		head + `"type":"started","run":"r","strategy":"s","input":{},"limits":{},"parallel":1,"tools":[{"name":"x","safe":true}]}`: `the field "tools[0].safe" is unknown`,
		head + `"type":"started","run":"r","strategy":"s","input":{"messages":{"v":9}},"limits":{},"parallel":1}`:                  `unknown version "9"`,
	} {
		r, err := ReadRecord([]byte(text))
		require.ErrorContains(t, err, want, text)
		require.Nil(t, r)
	}
}

func TestReadRecord_ofAnotherVersion(t *testing.T) {
	for text, want := range map[string]string{
		`{"v":1,"type":"start","at":"2026-03-04T05:06:07Z","start":{"strategy":"solve"}}`: "machine: the record was written by an earlier version of this library, in format 1, and this one reads format 2: go on with the version that wrote it",
		`{"v":3,"type":"noted"}`: "machine: the record was written by a later version of this library, in format 3, and this one reads format 2: go on with the version that wrote it",
	} {
		_, err := ReadRecord([]byte(text))
		require.EqualError(t, err, want)
		require.ErrorAs(t, err, new(*VersionError))
		require.ErrorIs(t, err, nextstep.ErrVersion)
	}
}

// What reads, writes and reads again the same.
func FuzzReadRecord(f *testing.F) {
	for _, r := range everyRecord {
		text, err := AppendRecord(nil, r)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(`{"v":1,"type":"start"}`))
	f.Add([]byte(`{"v":2,"type":"suspended","at":"0000-01-01T00:00:00+02:00","effect":"1/0/2","waits":[null],"state": [ 1 ]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := ReadRecord(text)
		if err != nil {
			return
		}
		once, err := AppendRecord(nil, read)
		if err != nil { // a time whose year in UTC is another one
			require.ErrorContains(t, err, "year")
			return
		}
		again, err := ReadRecord(once)
		require.NoError(t, err, "%s", once)
		require.Equal(t, applied(read), again)
		twice, err := AppendRecord(nil, again)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}

// applied returns a record as Apply takes it.
func applied(r Record) Record {
	switch r := r.(type) {
	case Started:
		canonicalStarted(&r)
		if len(r.Tools) > 0 {
			r.Tools = canonicalTools(r.Tools)
		}
		return r
	case Intended:
		canonicalIntended(&r)
		return r
	case Answered:
		_ = canonicalAnswered(&r)
		return r
	case Asked:
		canonicalAsked(&r)
		return r
	case Suspended:
		canonicalSuspended(&r)
		return r
	case Replied:
		canonicalReplied(&r)
		return r
	case Stopped:
		canonicalStopped(&r)
		return r
	case Resumed:
		canonicalResumed(&r)
		return r
	default:
		r, _ = canonical(r)
		return r
	}
}

// commonRecords are those that runs are made of.
func commonRecords() map[string]Record {
	text := strings.Repeat("some text of a file\n", 20)
	digest := strings.Repeat("0123456789abcdef", 2)
	return map[string]Record{
		"reply": Answered{At: at, Effect: EffectID{Seq: 3}, Frame: "0", Kind: EffectModel, Digest: digest, Elapsed: time.Second, Answer: nextstep.APIResponse{Response: &llmclient.Response{
			Message: messages.Assistant{Content: []messages.AssistantContent{
				messages.Text{Text: "I look at it."}, messages.ToolCall{ID: "call_1", Name: "read_file", Arguments: `{"path":"a.go"}`},
			}},
			Finish: llmclient.FinishToolCalls, Usage: messages.Usage{Input: 1200, Output: 40, Total: 1240}, Model: "m-1", ID: "chatcmpl-123",
		}}},
		"result":   Answered{At: at, Effect: EffectID{Seq: 4, Index: 1}, Frame: "0", Kind: EffectTool, Tool: "read_file", Digest: digest, Elapsed: time.Second, Answer: nextstep.ToolResult{Output: messages.ToolOutput{CallID: "call_1", ToolName: "read_file", Output: text, Status: messages.StatusOK}}},
		"failure":  Answered{At: at, Effect: EffectID{Seq: 4, Index: 1}, Frame: "0", Kind: EffectTool, Tool: "read_file", Digest: digest, Answer: nextstep.Failure{Source: nextstep.SourceTool, Code: "failed", Message: "no such file"}},
		"intended": Intended{At: at, Effect: EffectID{Seq: 4, Index: 1}, Frame: "0", Tool: "write_file", Digest: digest, Verdict: VerdictAllow},
	}
}

func BenchmarkAppendRecord(b *testing.B) {
	for name, r := range commonRecords() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				var err error
				if buf, err = AppendRecord(buf[:0], r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadRecord(b *testing.B) {
	for name, r := range commonRecords() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			text, err := AppendRecord(nil, r)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := ReadRecord(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A record is written for every effect: it may cost what its reply must be boxed with, and no more.
func TestAppendRecord_allocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for name, r := range commonRecords() {
		buf, err := AppendRecord(nil, r)
		require.NoError(t, err)
		most := 0.0
		if name == "reply" {
			most = 1
		}
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { buf, _ = AppendRecord(buf[:0], r) }), most, name)
	}
}
