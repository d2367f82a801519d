package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// corpora are folders of conversations: those that were written for these tests, and recorded
// traffic of real providers, which lies beside the repository and is no part of it.
var corpora = []struct {
	name, dir string
	least     int // conversations in it
}{
	{"ours", "../testdata/recorded/http", 6},
	{"recorded", "../../shared/corpus/http", 60},
}

// cassette is one recording; see the corpus' README.
type cassette struct {
	Interactions []interaction `json:"interactions"`
}

type interaction struct {
	Request *struct {
		Body wireRequest `json:"body"`
	} `json:"request"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	} `json:"response"`
}

type wireRequest struct {
	Messages []wireMessage `json:"messages"`
	Stream   bool          `json:"stream"`
	Tools    []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type wireMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

// otherwise lists the conversations whose recorded client did something else than hand on what it
// was answered.
var otherwise = map[string]string{
	"error/groq-01":      "the provider could not read the model's call; the recorded client made a call with an id of its own out of it, the library tells the model in words",
	"error/groq-04":      "as groq-01: the recorded client answers what could not be read with a message of its own, the library with another",
	"parallel/openai-05": "the recorded client kept only the first of five calls, because it had run out of iterations",
	"tool/openai-08":     "the recorded client sent arguments back that the model had not written",
}

// nameless lists the conversations in which the provider gave calls no id, so that each client
// makes its own.
var nameless = map[string]bool{"quirk/gemini-01": true}

// TestW17_conversations has the orchestrator hold every recorded conversation of more than one turn
// again, against a server that answers what was recorded, with tools that return the recorded
// results. From the second on, its requests must be the recorded ones in roles, call ids, argument
// values and tool results.
func TestW17_conversations(t *testing.T) {
	for _, c := range corpora {
		t.Run(c.name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(c.dir, "*", "*.json"))
			require.NoError(t, err)
			if len(files) == 0 && c.name != "ours" {
				t.Skip("the corpus of recorded traffic is not at ../shared/corpus, beside the repository")
			}
			require.GreaterOrEqual(t, holdAll(t, c.dir, files), c.least)
		})
	}
}

// holdAll holds the conversations of the files again, and returns how many there are.
func holdAll(t *testing.T, dir string, files []string) (conversations int) {
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "ollama-native" {
			continue // another protocol
		}
		for n, turns := range chains(t, file) {
			conversations++
			name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), dir+"/"), ".json")
			t.Run(fmt.Sprintf("%s#%d", name, n), func(t *testing.T) {
				if why := otherwise[name]; why != "" {
					t.Skip(why)
				}
				replay(t, turns, !nameless[name])
			})
		}
	}
	return conversations
}

// chains returns the runs of interactions of a file in which each request holds the one before and
// what was answered.
func chains(t *testing.T, file string) [][]interaction {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var c cassette
	require.NoError(t, json.Unmarshal(data, &c))
	var all [][]interaction
	for i, next := range c.Interactions {
		if next.Request == nil || len(next.Request.Body.Messages) == 0 {
			return nil // the requests were not recorded
		}
		if i > 0 && goesOn(c.Interactions[i-1].Request.Body.Messages, next.Request.Body.Messages) {
			all[len(all)-1] = append(all[len(all)-1], next)
			continue
		}
		all = append(all, []interaction{next})
	}
	var long [][]interaction
	for _, chain := range all {
		if len(chain) > 1 {
			long = append(long, chain)
		}
	}
	return long
}

func goesOn(before, after []wireMessage) bool {
	return len(after) > len(before) && reflect.DeepEqual(before, after[:len(before)]) && after[len(before)].Role == "assistant"
}

// replay holds one conversation.
func replay(t *testing.T, turns []interaction, ids bool) {
	server := &recordedServer{turns: turns}
	ts := httptest.NewServer(server)
	defer ts.Close()
	client, err := openaichat.New(openaichat.Config{Model: "recorded", BaseURL: ts.URL, APIKey: "none", HTTPClient: ts.Client()})
	require.NoError(t, err)
	stop := &stopper{}
	o, err := orchestrator.New(orchestrator.Config{
		StopNote:   "-", // the recorded clients said nothing of a stop
		Client:     client,
		Tools:      recordedTools(t, turns),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Middleware: []orchestrator.Middleware{stop.around},
	})
	require.NoError(t, err)

	history := read(t, turns[0].Request.Body.Messages)
	for i := 0; i < len(turns); {
		history, i = hold(t, o, stop, turns, i, history)
	}
	require.Len(t, server.requests, len(turns), "requests")
	for i := 1; i < len(turns); i++ {
		require.Equal(t, essence(t, turns[i].Request.Body.Messages, ids), essence(t, server.requests[i].Messages, ids), "request %d", i+1)
	}
}

// hold runs the orchestrator from turn i as far as the tool loop goes by itself, and returns the
// messages to begin the next run with, and its turn.
func hold(t *testing.T, o *orchestrator.Orchestrator, stop *stopper, turns []interaction, i int, history messages.History) (messages.History, int) {
	t.Helper()
	stop.after = -1
	for steps := 0; ; steps++ {
		i++
		if i == len(turns) {
			stop.after = steps
			break
		}
		said := turns[i].Request.Body.Messages[len(turns[i-1].Request.Body.Messages):]
		answers := 0
		for _, m := range said[1:] {
			if m.Role != "tool" {
				break
			}
			answers++
		}
		if rest := said[1+answers:]; len(rest) > 0 || answers == 0 { // somebody else says something now
			stop.after = steps
			out := run(t, o, stop, history, turns[i-1].Request.Body.Stream)
			return append(out.Clip(), read(t, rest)...), i
		}
	}
	return run(t, o, stop, history, turns[0].Request.Body.Stream), i
}

func run(t *testing.T, o *orchestrator.Orchestrator, stop *stopper, history messages.History, stream bool) messages.History {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop.stop = cancel
	ta := orchestrator.Task{Run: "w17", Input: delegation.Input{Messages: history}}
	if !stream {
		res, err := o.Run(ctx, ta)
		tolerate(t, res.Output, err)
		return res.Output.Messages
	}
	events, err := all(t, o.Stream(ctx, ta))
	out := finished(t, events).Output
	tolerate(t, out, err)
	return out.Messages
}

// tolerate accepts a run that was stopped where the recording goes another way, and one that ends
// with the error that was recorded.
func tolerate(t *testing.T, out delegation.Output, err error) {
	t.Helper()
	if e, ok := errors.AsType[*llmclient.Error](err); ok && e.Status >= 400 && e.Status != http.StatusTeapot {
		return
	}
	if err != nil && out.Err.Code != delegation.CodeStopped && out.Err.Code != delegation.CodeTruncated {
		require.NoError(t, err)
	}
}

// stopper ends a run after a number of rounds of tools, when the recorded conversation goes on
// otherwise.
type stopper struct {
	after, rounds int
	stop          context.CancelFunc // of the run in progress
}

func (s *stopper) around(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		if e.ID.Seq == 1 {
			s.rounds = 0
		}
		if e.Kind == machine.EffectModel {
			if s.after >= 0 && s.rounds > s.after {
				s.stop()
				return nil, ctx.Err()
			}
			s.rounds++
		}
		return next(ctx, e)
	}
}

// recordedServer answers turn by turn and keeps the requests.
type recordedServer struct {
	turns    []interaction
	requests []wireRequest
}

func (s *recordedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	var req wireRequest
	if err = errors.Join(err, json.Unmarshal(data, &req)); err != nil || len(s.requests) == len(s.turns) {
		http.Error(w, fmt.Sprintf("more was asked than recorded: %v", err), http.StatusTeapot)
		return
	}
	turn := s.turns[len(s.requests)].Response
	s.requests = append(s.requests, req)
	for k, v := range turn.Headers {
		w.Header().Set(k, v)
	}
	w.WriteHeader(turn.Status)
	_, _ = io.WriteString(w, turn.Body)
}

// recordedTools returns a tool of each name that the recording offers, which answers each call as
// was recorded.
func recordedTools(t *testing.T, turns []interaction) []tools.Tool {
	t.Helper()
	results := map[string]string{} // by call id, and by call
	var list []tools.Tool
	seen := map[string]bool{}
	for _, turn := range turns {
		calls := map[string]string{}
		for _, m := range turn.Request.Body.Messages {
			for _, c := range m.ToolCalls {
				calls[c.ID] = callKey(c.Function.Name, c.Function.Arguments)
			}
			if m.Role == "tool" {
				results[m.ToolCallID] = contentText(t, m.Content)
				results[calls[m.ToolCallID]] = contentText(t, m.Content)
			}
		}
		for _, offered := range turn.Request.Body.Tools {
			f := offered.Function
			if seen[f.Name] {
				continue
			}
			seen[f.Name] = true
			list = append(list, tools.NewRaw(tools.Definition{Name: f.Name, Description: f.Description, Parameters: f.Parameters, MaxResult: -1},
				func(ctx context.Context, args string) (string, error) {
					if result, ok := results[tools.CallID(ctx)]; ok {
						return result, nil
					}
					return results[callKey(f.Name, args)], nil
				}))
		}
	}
	return list
}

// read turns recorded messages into a history.
func read(t *testing.T, wire []wireMessage) messages.History {
	t.Helper()
	var h messages.History
	for _, m := range wire {
		text := contentText(t, m.Content)
		switch m.Role {
		case "system", "developer":
			h = append(h, messages.System{Text: text})
		case "user":
			h = append(h, messages.UserText(text))
		case "tool":
			h = append(h, messages.Tool{ToolOutput: messages.ToolOutput{CallID: m.ToolCallID, Output: text, Status: messages.StatusOK}})
		case "assistant":
			var a messages.Assistant
			if text != "" {
				a.Content = append(a.Content, messages.Text{Text: text})
			}
			for _, c := range m.ToolCalls {
				a.Content = append(a.Content, messages.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
			}
			if !a.Empty() {
				h = append(h, a)
			}
		default:
			t.Fatalf("role %q", m.Role)
		}
	}
	return h
}

// essence is what must agree of messages: roles, calls with their ids and argument values, tool
// results.
func essence(t *testing.T, wire []wireMessage, ids bool) []string {
	t.Helper()
	id := func(s string) string {
		if ids {
			return s
		}
		return "id"
	}
	var lines []string
	for _, m := range wire {
		role := strings.Replace(m.Role, "developer", "system", 1)
		line := role
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf(" [%s %s]", id(c.ID), callKey(c.Function.Name, c.Function.Arguments))
		}
		if role == "tool" {
			line += fmt.Sprintf(" %s: %s", id(m.ToolCallID), contentText(t, m.Content))
		}
		lines = append(lines, line)
	}
	return lines
}

// callKey is a call's name and the values of its arguments, however they are written.
func callKey(name, arguments string) string {
	var args any
	if json.Unmarshal([]byte(arguments), &args) == nil {
		if canonical, err := json.Marshal(args); err == nil {
			arguments = string(canonical)
		}
	}
	return name + " " + arguments
}

// contentText joins the texts of a content, which may be a string, a list of parts, or null.
func contentText(t *testing.T, content json.RawMessage) string {
	t.Helper()
	var text string
	if len(content) == 0 || json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	require.NoError(t, json.Unmarshal(content, &parts))
	for _, p := range parts {
		text += p.Text
	}
	return text
}
