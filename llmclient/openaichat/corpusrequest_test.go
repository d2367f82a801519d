package openaichat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// unsayable are the recorded requests that an llmclient.Request cannot express, with the reason.
var unsayable = map[string]string{
	"error/openai-03#0":         "a message in the place of a part of a message, which is what was refused",
	"error/openai-03#1":         "a message in the place of a part of a message, which is what was refused",
	"error/openai-03#2":         "a message in the place of a part of a message, which is what was refused",
	"error/openai-04#1":         "a user message with sound",
	"reasoning/openrouter-02#0": "a tool that OpenRouter runs itself",
	"stream/openrouter-03#0":    "a tool that OpenRouter runs itself",
	"tool/openai-08#1":          "arguments that are no JSON, which only OpenAI's own hosts are sent",
}

func TestCorpus_RequestsAreWrittenAsRecorded(t *testing.T) {
	for dir, least := range map[string]int{corpusDirs[0]: 15, corpusDirs[1]: 250} {
		t.Run(corpusName(dir), func(t *testing.T) {
			require.GreaterOrEqual(t, compareAll(t, recordings(t, dir)), least, "too few requests were compared")
		})
	}
}

// compareAll writes every request that can be expressed, and returns how many there are.
func compareAll(t *testing.T, all []recording) (compared int) {
	s := sayJSON(t, doneBody)
	for _, rec := range all {
		for n, x := range rec.Interactions {
			id := fmt.Sprintf("%s#%d", rec.ID, n)
			var body map[string]any
			if x.Request == nil || json.Unmarshal(x.Request.Body, &body) != nil || body == nil {
				continue
			}
			if _, ok := unsayable[id]; ok {
				continue
			}
			compared++
			t.Run(id, func(t *testing.T) { compareRequest(t, s, body) })
		}
	}
	return compared
}

func compareRequest(t *testing.T, s *server, recorded map[string]any) {
	req, tokenField := requestFrom(t, recorded)
	stream := recorded["stream"] == true
	client := newClient(t, s, func(cfg *openaichat.Config) {
		cfg.Reasoning, cfg.TokenField = openaichat.ReasoningAlways, tokenField
	})
	var onDelta func(llmclient.Delta)
	if stream {
		onDelta = func(llmclient.Delta) {}
	}
	_, err := client.Complete(context.Background(), req, onDelta)
	require.NoError(t, err)
	sent, _ := s.Sent()
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(sent), &got))
	require.Equal(t, canonical(recorded), canonical(got))
}

// requestFrom converts a recorded body to a request.
func requestFrom(t *testing.T, body map[string]any) (*llmclient.Request, openaichat.TokenField) {
	req := &llmclient.Request{Model: text(body["model"]), Extras: messages.Extras{}}
	field := openaichat.TokensMax
	for name, v := range body {
		if v == nil {
			continue
		}
		switch name {
		case "model", "stream", "stream_options":
		case "messages":
			for _, m := range list(v) {
				req.Messages = append(req.Messages, messageFrom(t, object(m)))
			}
		case "tools":
			for _, d := range list(v) {
				fn := object(object(d)["function"])
				req.Tools = append(req.Tools, tools.Definition{Name: text(fn["name"]), Description: text(fn["description"]), Parameters: raw(t, fn["parameters"]), Strict: fn["strict"] == true})
			}
		case "tool_choice":
			req.ToolChoice = choiceFrom(v)
		case "stop":
			for _, s := range list(v) {
				req.Stop = append(req.Stop, text(s))
			}
		case "temperature":
			f := v.(float64)
			req.Temperature = &f
		case "max_tokens", "max_completion_tokens":
			req.MaxTokens, field = int(v.(float64)), openaichat.TokenField(name)
		case "response_format":
			schema := object(object(v)["json_schema"])
			if schema == nil {
				req.Extras[name] = raw(t, v)
				continue
			}
			req.Schema = &llmclient.Schema{Name: text(schema["name"]), Schema: raw(t, schema["schema"]), Strict: schema["strict"] == true}
		default:
			req.Extras[name] = raw(t, v)
		}
	}
	if req.Model == "" { // an Azure deployment is named in the path
		req.Model = "deployment"
	}
	return req, field
}

func choiceFrom(v any) llmclient.ToolChoice {
	if name := text(object(object(v)["function"])["name"]); name != "" {
		return llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: name}
	}
	if v == "any" { // Mistral's older word
		v = "required"
	}
	return llmclient.ToolChoice{Mode: llmclient.ToolChoiceMode(text(v))}
}

func messageFrom(t *testing.T, m map[string]any) messages.Message {
	switch text(m["role"]) {
	case "system", "developer":
		return messages.System{Text: textOf(m["content"])}
	case "user":
		return messages.User{Content: userFrom(t, m["content"])}
	case "tool":
		return messages.Tool{ToolOutput: messages.ToolOutput{CallID: text(m["tool_call_id"]), Output: textOf(m["content"])}}
	case "assistant":
		a := messages.Assistant{Extras: messages.Extras{}}
		if s := textOf(m["content"]); s != "" {
			a.Content = append(a.Content, messages.Text{Text: s})
		}
		for _, c := range list(m["tool_calls"]) {
			fn := object(object(c)["function"])
			a.Content = append(a.Content, call(text(object(c)["id"]), text(fn["name"]), text(fn["arguments"])))
		}
		for name, v := range m {
			if v != nil && !slices.Contains([]string{"role", "content", "tool_calls"}, name) {
				a.Extras[name] = raw(t, v)
			}
		}
		return a
	default:
		t.Fatalf("role %v", m["role"])
		return nil
	}
}

func userFrom(t *testing.T, content any) []messages.UserContent {
	parts := list(content)
	if parts == nil {
		return []messages.UserContent{messages.Text{Text: text(content)}}
	}
	var out []messages.UserContent
	for _, p := range parts {
		switch text(object(p)["type"]) {
		case "text":
			out = append(out, messages.Text{Text: text(object(p)["text"])})
		case "image_url":
			image := object(object(p)["image_url"])
			out = append(out, messages.Image{URL: text(image["url"]), Detail: text(image["detail"])})
		default:
			t.Fatalf("part %v", p)
		}
	}
	return out
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func textOf(content any) string {
	s := text(content)
	for _, p := range list(content) {
		s += text(object(p)["text"])
	}
	return s
}

func raw(t *testing.T, v any) json.RawMessage {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

// canonical removes from a body what does not change its meaning, and what the client always
// writes.
func canonical(body map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range body {
		switch {
		case name == "stream", name == "stream_options", name == "model", v == nil, name != "messages" && isEmpty(v):
		case name == "messages":
			var msgs []any
			for _, m := range list(v) {
				msgs = append(msgs, canonicalMessage(object(m)))
			}
			out[name] = msgs
		case name == "tools":
			var defs []any
			for _, d := range list(v) {
				fn := object(object(d)["function"])
				params := fn["parameters"]
				if params == nil {
					params = map[string]any{"type": "object", "properties": map[string]any{}}
				}
				defs = append(defs, []any{fn["name"], text(fn["description"]), params, fn["strict"] == true})
			}
			out[name] = defs
		case name == "tool_choice" && isEmpty(body["tools"]):
		case name == "tool_choice" && v == "any":
			out[name] = "required"
		case name == "response_format":
			schema := object(object(v)["json_schema"])
			if schema == nil {
				out[name] = v
				continue
			}
			out[name] = []any{schema["name"], schema["schema"], schema["strict"] == true}
		default:
			out[name] = v
		}
	}
	return out
}

func isEmpty(v any) bool {
	l, ok := v.([]any)
	return v == nil || ok && len(l) == 0
}

func canonicalMessage(m map[string]any) map[string]any {
	out := map[string]any{"role": m["role"]}
	for name, v := range m {
		switch {
		case v == nil, isEmpty(v), name == "role", name == "name" && m["role"] == "tool":
		case name == "content":
			if s := textOf(v); s != "" {
				out["text"] = s
			}
			for _, p := range list(v) {
				if image := object(object(p)["image_url"]); image != nil {
					out["image"] = image
				}
			}
		case name == "tool_calls":
			var calls []any
			for _, c := range list(v) {
				fn := object(object(c)["function"])
				calls = append(calls, []any{object(c)["id"], fn["name"], fn["arguments"]})
			}
			out[name] = calls
		default:
			out[name] = v
		}
	}
	if out["role"] == "developer" {
		out["role"] = "system"
	}
	return out
}
