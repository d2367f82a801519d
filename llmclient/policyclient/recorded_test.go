package policyclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// recordings are folders of conversations with tools, and how many of them are completed: those
// written for these tests, and recorded traffic, which is not part of this repository.
var recordings = map[string]int{
	"../../testdata/recorded/http/tool": 2,
	"../../../shared/corpus/http/tool":  6,
}

// recording is a recorded conversation; the README of the corpus describes the form.
type recording struct {
	Interactions []interaction `json:"interactions"`
}

type interaction struct {
	Request *struct {
		Body struct {
			Messages []wireMessage `json:"messages"`
			Tools    []struct {
				Function tools.Definition `json:"function"`
			} `json:"tools"`
		} `json:"body"`
	} `json:"request"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	} `json:"response"`
}

type wireMessage struct {
	Role      string `json:"role"`
	Content   any    `json:"content"` // a string, a list of parts, or null
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

// TestRecorded repeats recorded conversations with tools with native calls, and again with a model
// that uses a policy. Calls, results, the answer and the streamed answer are the same.
func TestRecorded(t *testing.T) {
	for dir, least := range recordings {
		t.Run(strings.ReplaceAll(strings.TrimLeft(dir, "./"), "/", "-"), func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(dir, "*.json"))
			require.NoError(t, err)
			if len(files) == 0 && strings.Contains(dir, "shared") {
				t.Skip("the corpus of recorded traffic is not at ../shared/corpus, beside the repository")
			}
			require.GreaterOrEqual(t, holdByPolicies(t, files, prove.DepthOr(least, len(files))), least)
		})
	}
}

// holdByPolicies returns how many conversations were completed. It ends after so many.
func holdByPolicies(t *testing.T, files []string, most int) (held int) {
	for _, file := range files {
		if held == most {
			break
		}
		rec := load(t, file)
		native, err := converse(t, rec, rec.client(t))
		if err != nil || len(native) < 3 {
			continue // the recorded client did not let the model continue until it answered
		}
		held++
		for name, policy := range builtins(t) {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".json")+"/"+name, func(t *testing.T) {
				model := speaker(policy, native)
				again, err := converse(t, rec, policyclient.Wrap(model, policy))
				require.NoError(t, err)
				require.Equal(t, essence(native), essence(again))
				model.AssertComplete(t)
				for _, req := range model.Requests() {
					require.Nil(t, req.Tools)
					for _, m := range req.Messages {
						require.NotEqual(t, messages.RoleTool, m.Role())
					}
				}
			})
		}
	}
	return held
}

func load(t *testing.T, file string) *recording {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	rec := &recording{}
	require.NoError(t, json.Unmarshal(data, rec))
	rec.Interactions = slices.DeleteFunc(rec.Interactions, func(i interaction) bool { return i.Request == nil })
	return rec
}

// client returns a client of the recorded server.
func (rec *recording) client(t *testing.T) llmclient.Client {
	t.Helper()
	asked := 0
	c, err := openaichat.New(openaichat.Config{Model: "recorded", BaseURL: "http://recorded.invalid", APIKey: "none", HTTPClient: &http.Client{
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			if asked == len(rec.Interactions) {
				return nil, errors.New("more was asked than recorded")
			}
			said := rec.Interactions[asked].Response
			asked++
			header := http.Header{}
			for k, v := range said.Headers {
				header.Set(k, v)
			}
			return &http.Response{StatusCode: said.Status, Header: header, Body: io.NopCloser(strings.NewReader(said.Body)), Request: r}, nil
		}),
	}})
	require.NoError(t, err)
	return c
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// speaker returns a model that says what the assistant says in a conversation, by a policy and in
// small pieces.
func speaker(policy markdownpolicy.Policy, h messages.History) *scripted.Client {
	var script []scripted.Reply
	for _, m := range h {
		if a, ok := m.(messages.Assistant); ok {
			text := policy.(markdownpolicy.Renderer).Render(a.Content)
			script = append(script, scripted.Reply{Deltas: pieces(text, 7)})
		}
	}
	return scripted.New(script...)
}

func pieces(text string, size int) []string {
	var all []string
	for len(text) > size {
		all, text = append(all, text[:size]), text[size:]
	}
	return append(all, text)
}

// converse runs the conversation with a model and an orchestrator, and returns all messages.
func converse(t *testing.T, rec *recording, model llmclient.Client) (messages.History, error) {
	t.Helper()
	if len(rec.Interactions) == 0 {
		return nil, errors.New("the requests were not recorded")
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client: model, Tools: rec.tools(), Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	})
	require.NoError(t, err)
	before := history(rec.Interactions[0].Request.Body.Messages)
	var streamed strings.Builder
	for e, err := range o.Stream(t.Context(), orchestrator.Task{Run: "r", Input: delegation.Input{Messages: before}}) {
		if e.Kind == machine.EventTextDelta {
			streamed.WriteString(e.Text)
		}
		if err != nil {
			return nil, err
		}
		if end, ok := e.Detail.(machine.RunFinished); ok {
			said := end.Output.Messages[len(before):]
			require.Equal(t, texts(said), streamed.String())
			return said, nil
		}
	}
	return nil, errors.New("the run did not end")
}

func texts(h messages.History) string {
	var all strings.Builder
	for _, m := range h {
		if a, ok := m.(messages.Assistant); ok {
			all.WriteString(a.Text())
		}
	}
	return all.String()
}

// tools returns a tool for each name that was offered. It answers each call with the recorded
// result.
func (rec *recording) tools() []tools.Tool {
	results, ids := map[string]string{}, map[string]string{}
	var list []tools.Tool
	for _, i := range rec.Interactions {
		for _, m := range i.Request.Body.Messages {
			for _, c := range m.ToolCalls {
				ids[c.ID] = essenceOf(c.Function.Name, c.Function.Arguments)
			}
			if m.Role == "tool" {
				results[ids[m.ToolCallID]] = m.text()
			}
		}
		for _, offered := range i.Request.Body.Tools {
			def := offered.Function
			if !slices.ContainsFunc(list, func(t tools.Tool) bool { return t.Definition().Name == def.Name }) {
				list = append(list, tools.NewRaw(def, func(_ context.Context, args string) (string, error) {
					return results[essenceOf(def.Name, args)], nil
				}))
			}
		}
	}
	return list
}

// history converts the recorded messages at the beginning of a conversation.
func history(wire []wireMessage) messages.History {
	var h messages.History
	for _, m := range wire {
		switch m.Role {
		case "system", "developer":
			h = append(h, messages.System{Text: m.text()})
		case "assistant":
			a := messages.AssistantText(m.text())
			for _, c := range m.ToolCalls {
				a.Content = append(a.Content, messages.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
			}
			h = append(h, a)
		case "tool":
			h = append(h, messages.Tool{ToolOutput: messages.ToolOutput{CallID: m.ToolCallID, Output: m.text()}})
		default:
			h = append(h, messages.UserText(m.text()))
		}
	}
	return h
}

func (m wireMessage) text() string {
	parts, _ := m.Content.([]any)
	text, _ := m.Content.(string)
	for _, p := range parts {
		part, _ := p.(map[string]any)
		text += fmt.Sprint(part["text"])
	}
	return text
}

// essence returns what must be the same: calls with the values of their arguments, results, and
// texts and thoughts without surrounding blanks. In some formats a text beside a call is a thought.
func essence(h messages.History) []string {
	var lines []string
	for _, m := range h {
		switch m := m.(type) {
		case messages.Assistant:
			text, thought := strings.TrimSpace(m.Text()), strings.TrimSpace(m.Thought())
			if m.Calls() == nil {
				lines = append(lines, "thinks "+thought, "answers "+text)
				continue
			}
			lines = append(lines, "says "+strings.TrimSpace(thought+" "+text))
			for _, c := range m.Calls() {
				lines = append(lines, "calls "+essenceOf(c.Name, c.Arguments))
			}
		case messages.Tool:
			lines = append(lines, fmt.Sprintf("%s: %s %s", m.ToolName, m.Status, m.Output))
		default:
			lines = append(lines, fmt.Sprintf("%T", m))
		}
	}
	return lines
}

// essenceOf returns a call's name with the values of its arguments, in whatever form they are
// written.
func essenceOf(name, arguments string) string {
	var args any
	if json.Unmarshal([]byte(arguments), &args) == nil {
		if canonical, err := json.Marshal(args); err == nil {
			arguments = string(canonical)
		}
	}
	return name + " " + arguments
}
