package doctortest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// message is a reply before it is written.
type message struct {
	text    string
	thought string
	calls   []call
}

type call struct{ name, arguments string }

// object is a JSON object.
type object = map[string]any

var usage = object{"prompt_tokens": 50, "completion_tokens": 20, "total_tokens": 70}

// finish returns the finish reason.
func (s *Server) finish(m message) any {
	if len(m.calls) == 0 {
		return "stop"
	}
	return "tool_calls"
}

// send writes a reply, whole or as a stream.
func (s *Server) send(w http.ResponseWriter, req request, m message) {
	if req.path != "" {
		s.sendOther(w, req, m)
		return
	}
	if req.Stream && !s.has("no_stream") {
		s.stream(w, m)
		return
	}
	reply := object{"role": "assistant", "content": m.text}
	if m.thought != "" {
		reply["reasoning_content"] = m.thought
	}
	if len(m.calls) > 0 {
		var list []object
		for i := range m.calls {
			list = append(list, s.callAt(m, i))
		}
		reply["content"], reply["tool_calls"] = nil, list
	}
	choices := []object{{"index": 0, "message": reply, "finish_reason": s.finish(m)}}
	answer := object{"id": "r1", "object": "chat.completion", "model": Model, "choices": choices}
	if !s.has("no_usage") {
		answer["usage"] = usage
	}
	s.json(w, http.StatusOK, answer)
}

// callAt returns a call of a reply, with all arguments.
func (s *Server) callAt(m message, i int) object {
	s.calls++
	c := m.calls[i]
	return object{
		"index": i, "id": fmt.Sprintf("call_%c%d", 'a'+i, s.calls), "type": "function",
		"function": object{"name": c.name, "arguments": c.arguments},
	}
}

// streamer writes events.
type streamer struct {
	*Server
	w http.ResponseWriter
}

// stream writes a reply as a stream.
func (s *Server) stream(w http.ResponseWriter, m message) {
	w.Header().Set("Content-Type", "text/event-stream")
	x := &streamer{Server: s, w: w}
	x.delta(object{"role": "assistant", "content": nil}, nil)
	if m.thought != "" {
		x.delta(object{"reasoning_content": m.thought}, nil)
	}
	for word := range strings.SplitAfterSeq(m.text, " ") {
		if word != "" {
			x.delta(object{"content": word}, nil)
		}
	}
	for i := range m.calls {
		x.delta(object{"tool_calls": []object{s.callAt(m, i)}}, nil)
	}
	if s.has("stream_cut") {
		return
	}
	x.end(m)
}

// end writes the end of the stream.
func (x *streamer) end(m message) {
	x.delta(object{}, x.finish(m))
	if !x.has("no_stream_usage") {
		x.event(object{"id": "r1", "choices": []any{}, "usage": usage})
	}
	x.write("data: [DONE]\n\n")
}

// delta writes a piece of the reply.
func (x *streamer) delta(delta object, finish any) {
	choices := []object{{"index": 0, "delta": delta, "finish_reason": finish}}
	x.event(object{"id": "r1", "object": "chat.completion.chunk", "model": Model, "choices": choices})
}

func (x *streamer) event(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		x.t.Errorf("writing: %v", err)
	}
	x.write("data: " + string(data) + "\n\n")
}

func (x *streamer) write(text string) {
	_, _ = x.w.Write([]byte(text)) // an error means that the client has gone
	if f, ok := x.w.(http.Flusher); ok {
		f.Flush()
	}
}
