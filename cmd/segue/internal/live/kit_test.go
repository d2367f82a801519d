package live

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/workflow"
)

const canary = "sk-canary-7f3a9c51e2"

// fake is a model for the tests of the suite itself. It adds with the tool add, and answers with
// the result.
type fake struct {
	*httptest.Server
	asked atomic.Int64
	says  string // its answer, instead of the result
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
	return model{name: "fake", baseURL: f.URL + "/v1", key: canary}
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
	last := request.Messages[len(request.Messages)-1]
	delta := fmt.Sprintf(`{"content":%q}`, cmp.Or(f.says, "The sum is "+last.Content+"."))
	if last.Role == "user" && strings.Contains(last.Content, "Add 19.5") {
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

// usual is the variant that most tests try, and short are flags that choose cases.
const usual = "^complete-task$"

func short(cases string) []string { return []string{"--case", "^(" + cases + ")$"} }

// again has a recording do cases of the twelve.
func again(t *testing.T, file string, flags ...string) (outcomes, *server) {
	rec := &recording{file: file}
	name, err := rec.read()
	require.NoError(t, err)
	s := newServer(name, nil, rec)
	defer s.Close()
	return evaluate(t, s, io.Discard, both[:1], flags...), s
}

// A suite goes on behind a task that was not done. A replay has the same outcomes, and asks nobody.
// A request that is asked again is answered by the recording.
func TestRecord_andReplay(t *testing.T) {
	f := newFake(t)
	rec := &recording{file: fileOf(t.TempDir(), "fake"), key: canary}
	done := record(t, f.model(), rec, false, both[:1], "^(complete-task|retry)$", short("weather|add|notool")...)
	require.Equal(t, int64(4), f.asked.Load(), "retry makes the requests of complete-task")
	require.Equal(t, `Twelve tasks of a step or two:

| variant | passed | rate | answer | calls | errors | requests | tokens |
|---|--:|--:|--:|--:|--:|--:|--:|
| complete-task | 1 of 3 | 33 (1–95) | 33 | 67 | 0 | 1.3 | 20 |
| retry | 1 of 3 | 33 (1–95) | 33 | 67 | 0 | 1.3 | 20 |
`, done.tables)
	require.Equal(t, `twelve complete-task, add: calls answer PASSED; 2 requests, 30 tokens; ["add{\"a\":19.5,\"b\":22.5}"]; "The sum is 42."`+"\n", done.lines[0])

	replayed, s := again(t, rec.file, short("weather|add|notool")...)
	require.Equal(t, done, replayed)
	require.Zero(t, s.rec.unused())
	require.Equal(t, int64(4), f.asked.Load())

	record(t, f.model(), rec, true, both[:1], usual, short("add")...)
	require.Equal(t, int64(4), f.asked.Load(), "with keep nothing that is recorded is asked")
	_, err := rec.read()
	require.NoError(t, err)
	require.Len(t, rec.replies, 2, "what was not used is left out")
	record(t, f.model(), rec, false, both[:1], usual, short("add")...)
	require.Equal(t, int64(6), f.asked.Load(), "without, all is asked anew")

	done, s = again(t, rec.file, short("add|weather")...)
	require.Contains(t, done.lines[0], "PASSED")
	require.Contains(t, done.lines[1], "the recording of fake has no reply to this request: record anew with make live")
	require.Equal(t, 1, s.missing, "no client repeats it")
	require.Zero(t, s.rec.unused())
	_, s = again(t, rec.file, short("weather")...)
	require.Equal(t, 2, s.rec.unused())
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
		client, err := openaichat.New(openaichat.Config{Model: "fake", BaseURL: s.URL + "/v1", NoEnvironment: true})
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
	rec := &recording{file: fileOf(t.TempDir(), "fake")}
	done := record(t, model{name: "fake", baseURL: busy.URL, key: canary}, rec, false, both[:1], usual, short("add")...)
	require.Contains(t, done.lines[0], "no, not like this")
	require.Equal(t, int64(3), asked.Load())
	require.Len(t, rec.replies, 1)
}

// No recording contains the key, whatever the model says.
func TestRecordings_holdNoKey(t *testing.T) {
	f := newFake(t)
	f.says = "The key is " + canary
	m := f.model()
	rec := &recording{file: fileOf(t.TempDir(), "fake"), key: canary}
	_, err := rec.read()
	require.NoError(t, err)
	rec.variant = usual
	require.NoError(t, rec.write(m.name, false))
	s := newServer("fake", &m, rec)
	defer s.Close()
	evaluate(t, s, io.Discard, both[:1], short("add")...)
	require.Len(t, rec.replies, 2)
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
	read := func() (model, []string) { return fromEnvironment(func(name string) string { return env[name] }) }
	_, missing := read()
	require.Equal(t, []string{"OPENAI_API_KEY", "SEGUE_MODEL"}, missing)
	env = map[string]string{"OPENAI_API_KEY": "k", "SEGUE_MODEL": "m"}
	m, missing := read()
	require.Empty(t, missing)
	require.Equal(t, model{name: "m", key: "k", baseURL: "https://api.openai.com/v1"}, m)
	env["OPENAI_BASE_URL"] = "http://localhost:1/v1/"
	m, _ = read()
	require.Equal(t, model{name: "m", key: "k", baseURL: "http://localhost:1/v1"}, m)
	require.Equal(t, filepath.Join("x", "meta_llama-3.1_8b.jsonl"), fileOf("x", "meta/llama-3.1:8b"))
}

// Every built-in strategy is tried, except those that are complete-task with other defaults, and
// the compositions, which need parts; and complete-task with every text format.
func TestVariants(t *testing.T) {
	want := []string{}
	for _, name := range builtin.Names() {
		switch name {
		case builtin.ToolFirst, builtin.LLMOnly, workflow.NameSequence, workflow.NameParallel, workflow.NameLoop, workflow.NameChoose:
		default:
			want = append(want, name)
		}
	}
	require.ElementsMatch(t, want, variantsOf(t, both[1]))
	for _, name := range markdownpolicy.Names() {
		want = append(want, "complete-task "+name)
	}
	require.ElementsMatch(t, want, variantsOf(t, both[0]))
}

func variantsOf(t *testing.T, s suite) (names []string) {
	for _, v := range read(t, s).Variants {
		require.Equal(t, v.Name, strings.TrimSpace(v.Agent+" "+v.Policy))
		names = append(names, v.Name)
	}
	return names
}

// read reads of a suite what the tests look at.
func read(t *testing.T, s suite) (said struct {
	Defaults eval.Case
	Variants []struct{ Name, Agent, Policy string }
},
) {
	text, err := os.ReadFile(suites + s.name + ".yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &said))
	return said
}

// An answer that holds a mark of a format, a call or a result does not pass.
func TestMarks(t *testing.T) {
	for _, s := range both {
		lacks := read(t, s).Defaults.Answer.Lacks
		for answer, passes := range map[string]bool{
			"42": true, "An observation: the sum is 42.": true,
			"```tool_call\n{\"name\":\"add\"}\n``` 42":                false,
			`{"name": "add", "arguments": {"a": 19.5, "b": 22.5}} 42`: false,
			"add(a=19.5, b=22.5) # 42":                                false,
			"42\n</example>":                                          false,
			"<tool_response>42</tool_response>":                       false,
			"I thought:\nObservation: 42":                             false,
		} {
			marked := slices.ContainsFunc(lacks, func(mark string) bool { return regexp.MustCompile(mark).MatchString(answer) })
			require.Equal(t, passes, !marked, answer)
		}
	}
}
