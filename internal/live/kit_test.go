package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/workflow"
)

const canary = "sk-canary-7f3a9c51e2"

// fake is a model for the tests of the suite itself. It adds with the tool add, and answers with
// the result.
type fake struct {
	*httptest.Server
	asked atomic.Int64
	delay atomic.Int64 // of an answer, in nanoseconds
	says  string       // its answer, instead of the result
}

type wireMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func newFake(t *testing.T) *fake {
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(f.answer))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) model() model {
	return model{name: "fake", baseURL: f.URL + "/v1", key: canary, task: timeOfTask}
}

func (f *fake) answer(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages    []wireMessage `json:"messages"`
		Stream      bool          `json:"stream"`
		Temperature *float64      `json:"temperature"`
		MaxTokens   int           `json:"max_tokens"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil ||
		request.Temperature == nil || *request.Temperature != 0 || request.MaxTokens != tokensOfReply || r.Header.Get("Authorization") != "Bearer "+canary {
		refuse(w, "fake: not asked as the suite asks")
		return
	}
	n := f.asked.Add(1)
	time.Sleep(time.Duration(f.delay.Load()))
	last := request.Messages[len(request.Messages)-1]
	delta := `{"content":"The sum is ` + last.Content + `."}`
	switch {
	case f.says != "":
		text, err := json.Marshal(f.says)
		if err != nil {
			panic(err)
		}
		delta = `{"content":` + string(text) + `}`
	case last.Role == "user" && strings.Contains(last.Content, "Add 19.5"):
		delta = `{"content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":19.5,\"b\":22.5}"}}]}`
	}
	if request.Stream {
		fmt.Fprintf(w, "data: {\"id\":\"s%d\",\"choices\":[{\"index\":0,\"finish_reason\":null,\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n", n)
		fmt.Fprintf(w, "data: {\"id\":\"s%d\",\"choices\":[{\"index\":0,\"finish_reason\":null,\"delta\":%s}]}\n\n", n, delta)
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"delta\":{}}]}\n\ndata: {\"choices\":[],\"usage\":{\"total_tokens\":15}}\n\ndata: [DONE]\n\n")
		return
	}
	fmt.Fprintf(w, `{"id":"r%d","created":%d,"choices":[{"index":0,"message":%s,"finish_reason":"stop"}],"usage":{"total_tokens":15,"prompt_tokens_details":{"cached_tokens":%d}}}`, n, n, delta, n)
}

// short is a row with the tasks of these names.
func short(names ...string) []row {
	r := row{table: "twelve", policy: native, strategy: "complete-task"}
	for _, k := range twelve {
		if slices.Contains(names, k.name) {
			r.tasks = append(r.tasks, k)
		}
	}
	return []row{r}
}

// again has the tasks done by a recording.
func again(t *testing.T, file string, all []row) ([]outcome, *recording) {
	rec := &recording{file: file}
	name, err := rec.read()
	require.NoError(t, err)
	s := newServer(name, nil, rec)
	defer s.Close()
	return runAll(t.Context(), all, s, func(outcome) {}), rec
}

// A suite goes on behind a task that was not done. A replay has the same outcomes, and asks nobody.
// A request that is asked again is answered by the recording.
func TestRecord_andReplay(t *testing.T) {
	f := newFake(t)
	rec := &recording{file: fileOf(t.TempDir(), "fake")}
	all := short("weather", "add", "notool")
	all = append(all, row{table: "twelve", policy: native, strategy: "retry", tasks: all[0].tasks})
	done := record(t, f.model(), rec, all, false)
	require.Equal(t, int64(4), f.asked.Load(), "retry makes the requests of complete-task")
	require.Equal(t, `Twelve tasks of a step or two:

| policy | strategy | called | clean | done | marked | invented | late | requests | tokens |
|---|---|---|---|---|---|---|---|---|---|
| native | complete-task | 2 | 1 | 1 of 3 | 0 | 1 | 0 | 4 | 60 |
| native | retry | 2 | 1 | 1 of 3 | 0 | 1 | 0 | 4 | 60 |
`, tables(done))
	require.Equal(t, `twelve/native/complete-task add: called clean DONE; 2 requests, 30 tokens; ["add{\"a\":19.5,\"b\":22.5}"]; "The sum is 42."`, done[0].String())

	replayed, read := again(t, rec.file, all)
	require.Equal(t, golden(done), golden(replayed))
	require.Zero(t, read.unused())
	require.Equal(t, int64(4), f.asked.Load())

	record(t, f.model(), rec, short("add"), true)
	require.Equal(t, int64(4), f.asked.Load(), "with keep nothing that is recorded is asked")
	require.Len(t, rec.used, 2)
	_, err := rec.read()
	require.NoError(t, err)
	require.Len(t, rec.replies, 2, "what was not used is left out")
	record(t, f.model(), rec, short("add"), false)
	require.Equal(t, int64(6), f.asked.Load(), "without, all is asked anew")
}

// A request that is not in the recording is an error that says what to do, and one that no client
// repeats.
func TestReplay_missing(t *testing.T) {
	f := newFake(t)
	rec := &recording{file: fileOf(t.TempDir(), "fake")}
	record(t, f.model(), rec, short("add"), false)
	done, read := again(t, rec.file, short("add", "weather"))
	require.True(t, done[0].done())
	require.Equal(t, 1, done[1].missing)
	require.Equal(t, 1, done[1].requests)
	require.Contains(t, done[1].failed, "live: the recording of fake has no reply to a request of twelve/native/complete-task/weather: record anew with make live")
	require.Zero(t, read.unused())
	_, read = again(t, rec.file, short("weather"))
	require.Equal(t, 2, read.unused())
}

// A task whose time is over ends, in a replay as well. When the time of all is over, the rest is
// not asked.
func TestRecord_late(t *testing.T) {
	f := newFake(t)
	const delay = time.Minute / 500
	f.delay.Store(int64(delay))
	m := f.model()
	m.task = delay / 10
	rec := &recording{file: fileOf(t.TempDir(), "fake")}
	done := record(t, m, rec, short("add", "notool"), false)
	require.Contains(t, tables(done), "| native | complete-task | 1 | 0 | 0 of 2 | 0 | 0 | 2 | 2 | 0 |")
	replayed, _ := again(t, rec.file, short("add", "notool"))
	require.Equal(t, golden(done), golden(replayed))

	f.delay.Store(0)
	done = record(t, f.model(), rec, short("add"), true)
	require.True(t, done[0].done(), "what was late is asked again")

	m.task = 0
	before := f.asked.Load()
	done = record(t, m, rec, short("notool"), false)
	require.True(t, done[0].late)
	require.Equal(t, before, f.asked.Load())
}

// A stream is recorded as what it says, and comes again in the same pieces.
func TestRecord_stream(t *testing.T) {
	f := newFake(t)
	m := f.model()
	rec := &recording{file: fileOf(t.TempDir(), "fake")}
	_, err := rec.read()
	require.NoError(t, err)
	require.NoError(t, rec.write(m.name, false))
	for _, asked := range []*model{&m, nil} {
		s := newServer("fake", asked, rec)
		client, err := openaichat.New(openaichat.Config{Model: "fake", BaseURL: s.URL + "/a/v1", NoEnvironment: true})
		require.NoError(t, err)
		var heard []string
		resp, err := client.Complete(t.Context(), &llmclient.Request{Messages: messages.History{messages.UserText("7")}},
			func(d llmclient.Delta) { heard = append(heard, d.Text) })
		require.NoError(t, err)
		require.Equal(t, "The sum is 7.", resp.Message.Text())
		require.Equal(t, []string{"The sum is 7."}, heard)
		require.Equal(t, int64(15), resp.Usage.Total)
		s.Close()
	}
	require.Equal(t, int64(1), f.asked.Load())
	data, err := os.ReadFile(rec.file)
	require.NoError(t, err)
	require.Contains(t, string(data), `"events":[{"choices":[{"delta":{"content":null,"role":"assistant"},"finish_reason":null,"index":0}]},"The sum is 7.",{"choices":[{"delta":{},"finish_reason":"stop","index":0}]},{"choices":[],"usage":{"total_tokens":15}}]`)
}

// Passing failures of a server are asked again, and are not recorded; refusals are.
func TestRecord_failures(t *testing.T) {
	statuses := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadRequest}
	var asked atomic.Int64
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(statuses[asked.Add(1)-1])
		fmt.Fprint(w, `{"error":{"message":"no, not like this"}}`)
	}))
	defer busy.Close()
	m := model{name: "fake", baseURL: busy.URL, key: canary, task: timeOfTask}
	rec := &recording{file: fileOf(t.TempDir(), "fake")}
	done := record(t, m, rec, short("add"), false)
	require.Contains(t, done[0].failed, "no, not like this")
	require.Equal(t, int64(3), asked.Load())
	require.Len(t, rec.replies, 1)
}

// No recording contains the key, whatever the model says.
func TestRecordings_holdNoKey(t *testing.T) {
	f := newFake(t)
	rec := &recording{file: fileOf(t.TempDir(), "fake"), key: canary}
	record(t, f.model(), rec, short("add"), false)
	require.FileExists(t, rec.file)

	f.says = "The key is " + canary
	m := f.model()
	require.NoError(t, os.Remove(rec.file))
	_, err := rec.read()
	require.NoError(t, err)
	require.NoError(t, rec.write(m.name, false))
	s := newServer("fake", &m, rec)
	defer s.Close()
	runAll(t.Context(), short("add"), s, func(outcome) {})
	require.Len(t, rec.replies, 1)
	require.ErrorContains(t, rec.write(m.name, true), "it holds the key")
	data, err := os.ReadFile(rec.file)
	require.NoError(t, err)
	require.NotContains(t, string(data), canary)
}

// A recording of another version, or one that was changed by hand, is refused by name.
func TestRecording_unreadable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jsonl")
	for text, want := range map[string]string{
		`{"v":2,"model":"m"}`:                     "version 2 is not known",
		"{\"v\":1,\"model\":\"m\"}\n{\"kee\":1}":  "unknown field",
		"{\"v\":1,\"model\":\"m\"}\n{\"key\":\"a": "unexpected EOF",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := (&recording{file: file}).read()
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "a.jsonl")
		require.ErrorContains(t, err, "record anew with make live")
	}
}

func TestFromEnvironment(t *testing.T) {
	env := map[string]string{}
	read := func() (model, []string, error) { return fromEnvironment(func(name string) string { return env[name] }) }
	_, missing, err := read()
	require.NoError(t, err)
	require.Equal(t, []string{"OPENAI_API_KEY", "SEGUE_MODEL"}, missing)
	env = map[string]string{"OPENAI_API_KEY": "k", "SEGUE_MODEL": "m"}
	m, missing, err := read()
	require.NoError(t, err)
	require.Empty(t, missing)
	require.Equal(t, model{name: "m", key: "k", baseURL: "https://api.openai.com/v1", task: time.Minute}, m)
	env["OPENAI_BASE_URL"], env["SEGUE_LIVE_TASK"] = "http://localhost:1/v1/", "3m"
	m, _, err = read()
	require.NoError(t, err)
	require.Equal(t, model{name: "m", key: "k", baseURL: "http://localhost:1/v1", task: 3 * time.Minute}, m)
	env["SEGUE_LIVE_TASK"] = "long"
	_, _, err = read()
	require.ErrorContains(t, err, "long")
	require.Equal(t, filepath.Join("x", "meta_llama-3.1_8b.jsonl"), fileOf("x", "meta/llama-3.1:8b"))
}

// Every built-in strategy has a row, except those that are complete-task with other defaults, and
// the compositions, which need parts. A policy has one as soon as the project has it.
func TestRows(t *testing.T) {
	var names []string
	for _, s := range strategies {
		names = append(names, s.name)
	}
	others := []string{builtin.ToolFirst, builtin.LLMOnly, workflow.NameSequence, workflow.NameParallel, workflow.NameLoop, workflow.NameChoose}
	for _, name := range builtin.Names() {
		if !slices.Contains(others, name) {
			require.Contains(t, names, name)
		}
	}
	rowsOf := func(policies ...string) (all []string) {
		for _, r := range rows(policies) {
			if r.policy != native {
				all = append(all, r.String())
			}
		}
		return all
	}
	require.Equal(t, []string{"twelve/fenced/complete-task", "twelve/react/complete-task"}, rowsOf("fenced", "react", "xml"))
	require.Equal(t, []string{"twelve/structured/complete-task"}, rowsOf("structured"))
	require.Subset(t, rowsOf(markdownpolicy.Names()...), rowsOf("fenced", "react"))
	require.Len(t, twelve, 12)
	require.Len(t, several, 6)
	for _, r := range rows(markdownpolicy.Names()) {
		_, err := r.orchestrator(newWorld(), "m", "http://localhost:1/v1")
		require.NoError(t, err, r)
	}
}

// TestJudge says of each outcome what the table counts.
func TestJudge(t *testing.T) {
	add, notool, nested, several := twelve[0], twelve[6], twelve[8], several[1]
	party := []string{`create_event{"title":"Garden party","date":"2027-05-08","attendees":["Clara","Denis"]}`}
	made := []string{`add{"a":19.5,"b":22.5}`}
	for _, test := range []struct {
		k      task
		made   []string
		answer string
		want   string
	}{
		{add, made, "The sum is 42.", "called clean DONE"},
		{add, []string{`add{"a":22.5,"b":19.5}`}, "42", "called clean DONE"},
		{add, nil, "The sum is 42.", "clean invented"},
		{add, []string{`add{"a":1,"b":2}`}, "3", "nothing"},
		{add, made, "```tool_call\n{\"name\":\"add\"}\n``` 42", "called marked"},
		{add, nil, `{"name": "add", "arguments": {"a": 19.5, "b": 22.5}}`, "marked"},
		{add, nil, "add(a=19.5, b=22.5) # 42", "marked"},
		{add, made, "42\n</example>", "called marked"},
		{add, nil, "<tool_response>42</tool_response>", "marked invented"},
		{add, made, "I thought:\nObservation: 42", "called marked invented"},
		{add, made, "An observation: the sum is 42.", "called clean DONE"},
		{notool, nil, "Rome", "called clean DONE"},
		{notool, made, "Rome", "clean"},
		{notool, nil, "Paris", "called"},
		{nested, party, "I have created the event.", "called clean DONE"},
		{nested, party, "It is sunny in Paris.", "called"},
		{several, []string{`read_file{"path":"bill.txt"}`, `add{"a":6.25,"b":15.25}`, `add{"a":21.5,"b":14}`}, "35.5", "called clean DONE"},
		{several, []string{`read_file{"path":"bill.txt"}`, `add{"a":6.25,"b":15.25}`}, "35.5", "clean"},
	} {
		res := orchestrator.Result{Status: machine.StatusDone, Output: delegation.Output{Result: &test.answer}}
		out := judge(row{}, test.k, test.made, res, nil)
		require.Equal(t, test.want, strings.Join(out.verdict(), " "), test.answer)
		out = judge(row{}, test.k, test.made, res, errors.New("the limit is reached"))
		require.NotContains(t, out.verdict(), "DONE", "a run that failed has no answer")
		require.NotContains(t, out.verdict(), "marked")
		res.Status = machine.StatusWaiting
		out = judge(row{}, test.k, test.made, res, nil)
		require.False(t, out.done(), "a run that waits has no answer")
	}
	kept := orchestrator.Result{Status: machine.StatusDone, Output: delegation.Output{
		Messages: messages.History{messages.AssistantText("<tool_response>42</tool_response>")},
	}}
	out := judge(row{}, add, made, kept, nil)
	require.Equal(t, []string{"called", "invented"}, out.verdict())
	out = judge(row{}, add, nil, kept, errors.New("the limit is reached"))
	require.Equal(t, []string{"invented"}, out.verdict())
}

// The tasks can be done: their calls, made one after the other, have the results that the answers
// need.
func TestWorld(t *testing.T) {
	w := newWorld()
	made := func(name, args string) string {
		for _, tl := range w.tools() {
			if tl.Definition().Name == name {
				text, err := tl.Call(t.Context(), args)
				if err != nil {
					return err.Error()
				}
				return text
			}
		}
		return ""
	}
	require.Equal(t, "42", made("add", `{"a":19.5,"b":22.5}`))
	require.Equal(t, "-4 degrees celsius, light wind", made("get_weather", `{"city":"Bergen, Norway"}`))
	require.Contains(t, made("order_status", `{"id":"61"}`), "ids begin with A-, such as A-61")
	require.JSONEq(t, `{"id":"A-61","status":"shipped","carrier":"Bluebird"}`, made("order_status", `{"id":"A-61"}`))
	require.Equal(t, "written", made("write_file", `{"path":"note.txt","text":"shipped"}`))
	require.Equal(t, "shipped", made("read_file", `{"path":"./note.txt"}`))
	require.Equal(t, "Read attic.txt next.\n", made("read_file", `{"path":"start.txt"}`))
	require.Contains(t, made("read_file", `{"path":"lost.txt"}`), `no file named "lost.txt"`)
	require.Equal(t, "event 31 is created", made("create_event", `{"title":"a","date":"2027-01-01","attendees":["b"]}`))
	require.Equal(t, `get_weather{"city":"Bergen, Norway"}`, w.calls[1])
}
