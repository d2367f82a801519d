package openaichat_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// reading is the content of a recording, read in a simple way: with trees of encoding/json, without
// regard to speed, and without the client's code.
type reading struct {
	model         string
	text, thought string
	calls         []readCall
	finish        llmclient.FinishReason
	usage         messages.Usage
	failed        bool // an error object, or not an answer
}

type readCall struct {
	id, name, args string
}

var lineEnds = regexp.MustCompile(`\r\n|\n|\r`)

func readRecording(body string) reading {
	var r reading
	if strings.HasPrefix(strings.TrimSpace(body), "{") {
		m := tree(body)
		r.model, _ = m["model"].(string)
		r.answer(m)
	} else {
		r.events(body)
	}
	return r
}

func tree(body string) map[string]any {
	var m map[string]any
	if json.Unmarshal([]byte(body), &m) != nil {
		return nil
	}
	return m
}

func (r *reading) events(body string) {
	var chunks []map[string]any
	var data []string
	for _, line := range append(lineEnds.Split(body, -1), "") {
		if d, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimPrefix(d, " "))
		}
		if line == "" && len(data) > 0 {
			if m := tree(strings.Join(data, "\n")); m != nil {
				chunks = append(chunks, m)
			}
			data = nil
		}
	}
	merged := map[string]any{}
	message := map[string]any{}
	choice := map[string]any{"message": message}
	for _, c := range chunks {
		if r.model == "" {
			r.model, _ = c["model"].(string)
		}
		for name, v := range c {
			if v != nil && name != "choices" {
				merged[name] = v
			}
		}
		for _, ch := range list(c["choices"]) {
			merged["choices"] = []any{choice}
			if f, _ := object(ch)["finish_reason"].(string); f != "" {
				choice["finish_reason"] = f
			}
			join(message, object(object(ch)["delta"]))
		}
	}
	r.answer(merged)
}

// join adds a delta to a message.
func join(message, delta map[string]any) {
	for name, v := range delta {
		if s, ok := v.(string); ok && name == "content" {
			v = []any{map[string]any{"text": s}} // texts and lists alternate
		}
		switch v := v.(type) {
		case string:
			old, _ := message[name].(string)
			message[name] = old + v
		case []any:
			if name != "tool_calls" {
				message[name] = append(list(message[name]), v...)
				continue
			}
			for _, piece := range v {
				joinCall(message, object(piece))
			}
		}
	}
}

func joinCall(message, piece map[string]any) {
	calls := list(message["tool_calls"])
	fn := object(piece["function"])
	args, _ := fn["arguments"].(string)
	id, _ := piece["id"].(string)
	var target map[string]any
	for _, c := range calls {
		same := fmt.Sprint(object(c)["index"]) == fmt.Sprint(piece["index"])
		if id != "" && object(c)["id"] == id || id == "" && same {
			target = object(c)
		}
	}
	if target != nil {
		f := object(target["function"])
		f["arguments"] = fmt.Sprint(f["arguments"]) + args
		return
	}
	message["tool_calls"] = append(calls, map[string]any{
		"id": id, "index": piece["index"], "function": map[string]any{"name": fn["name"], "arguments": args},
	})
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func (r *reading) answer(m map[string]any) {
	choices := list(m["choices"])
	r.readUsage(m)
	r.failed = m["error"] != nil
	if len(choices) == 0 {
		r.failed = true
		return
	}
	choice := object(choices[0])
	msg := object(choice["message"])
	r.message(msg)
	finish, _ := choice["finish_reason"].(string)
	refusal, _ := msg["refusal"].(string)
	switch {
	case finish == "length" || finish == "content_filter":
		r.finish = llmclient.FinishReason(finish)
	case len(r.calls) > 0:
		r.finish = llmclient.FinishToolCalls
	case refusal != "":
		r.finish = llmclient.FinishRefusal
	default:
		r.finish = llmclient.FinishStop
	}
}

func (r *reading) message(msg map[string]any) {
	r.content(msg["content"], false)
	refusal, _ := msg["refusal"].(string)
	r.text += refusal
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if s, _ := msg[name].(string); s != "" && r.thought == "" {
			r.thought = s
		}
	}
	for _, d := range list(msg["reasoning_details"]) {
		if msg["reasoning"] == nil && msg["reasoning_content"] == nil {
			r.content(object(d)["text"], true)
			r.content(object(d)["summary"], true)
		}
	}
	for _, c := range list(msg["tool_calls"]) {
		id, _ := object(c)["id"].(string)
		r.call(id, object(object(c)["function"]))
	}
	if fn := object(msg["function_call"]); len(r.calls) == 0 && fn["name"] != "" && fn["name"] != nil {
		r.call("", fn)
	}
}

func (r *reading) call(id string, fn map[string]any) {
	name, _ := fn["name"].(string)
	args, _ := fn["arguments"].(string)
	if args == "" {
		args = "{}"
	}
	if n := len(args) / 2; args[:n] == args[n:] && strings.HasPrefix(args, "{") {
		args = args[:n] // the same call, sent twice
	}
	r.calls = append(r.calls, readCall{id, name, args})
}

func (r *reading) content(v any, thinking bool) {
	switch v := v.(type) {
	case string:
		if thinking {
			r.thought += v
		} else {
			r.text += v
		}
	case []any:
		for _, part := range v {
			r.content(object(part)["text"], thinking)
			r.content(object(part)["thinking"], true)
		}
	}
}

func (r *reading) readUsage(m map[string]any) {
	u := object(m["usage"])
	if u == nil {
		u = object(object(m["x_groq"])["usage"])
	}
	n := func(m map[string]any, name string) int64 {
		f, _ := m[name].(float64)
		return int64(f)
	}
	r.usage = messages.Usage{
		Input: n(u, "prompt_tokens"), Output: n(u, "completion_tokens"), Total: n(u, "total_tokens"),
		Cached:    n(object(u["prompt_tokens_details"]), "cached_tokens"),
		Reasoning: n(object(u["completion_tokens_details"]), "reasoning_tokens"),
	}
	r.usage.CacheWrites = max(n(u, "cache_creation_input_tokens"), n(object(u["prompt_tokens_details"]), "cache_write_tokens"))
	if r.usage.Cached == 0 {
		r.usage.Cached = n(u, "prompt_cache_hit_tokens") + n(u, "cached_tokens")
	}
	if r.usage.Total-r.usage.Input-r.usage.Output == r.usage.Reasoning {
		r.usage.Output += r.usage.Reasoning // xAI
	}
}
