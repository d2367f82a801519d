package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// The loop over HTTP, written with only the standard library. It knows only the fields it needs,
// and no errors other than the status.

type wireMessage struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type wireRequest struct {
	Model    string            `json:"model"`
	Messages []wireMessage     `json:"messages"`
	Tools    []json.RawMessage `json:"tools,omitempty"`
	Stream   bool              `json:"stream,omitempty"`
}

type wireChunk struct {
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
	} `json:"choices"`
}

type wireResponse struct {
	Choices []struct {
		Message wireMessage `json:"message"`
	} `json:"choices"`
}

func (m wireMessage) line() string {
	var calls []string
	for _, c := range m.ToolCalls {
		calls = append(calls, said(c.ID, c.Function.Name, c.Function.Arguments))
	}
	text := ""
	if m.Content != nil {
		text = *m.Content
	}
	return line(m.Role, text, m.ToolCallID, calls...)
}

var addWire = json.RawMessage(`{"type":"function","function":{"name":"add","description":"Adds two numbers.","parameters":` +
	string(addDefinition.Parameters) + `}}`)

func plainHTTP(ctx context.Context, url string, add tool, goal string) (outcome, error) {
	history := []wireMessage{{Role: "user", Content: &goal}}
	for {
		reply, err := ask(ctx, url, history)
		if err != nil {
			return outcome{}, err
		}
		history = append(history, reply)
		if len(reply.ToolCalls) == 0 {
			return outcome{answer: *reply.Content, wire: history}, nil
		}
		for _, c := range reply.ToolCalls {
			text, err := add(ctx, c.Function.Arguments)
			if err != nil {
				text = "error: " + err.Error()
			}
			history = append(history, wireMessage{Role: "tool", ToolCallID: c.ID, Content: &text})
		}
	}
}

func ask(ctx context.Context, url string, history []wireMessage) (wireMessage, error) {
	resp, err := post(ctx, url, wireRequest{Model: "gpt-4o", Messages: history, Tools: []json.RawMessage{addWire}})
	if err != nil {
		return wireMessage{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return wireMessage{}, err
	}
	var reply wireResponse
	if err := json.Unmarshal(data, &reply); err != nil {
		return wireMessage{}, err
	}
	return reply.Choices[0].Message, nil
}

func post(ctx context.Context, url string, request wireRequest) (*http.Response, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer none")
	resp, err := http.DefaultClient.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("bench: status %d", resp.StatusCode)
	}
	return resp, err
}

// plainStream reads a streamed reply line by line.
func plainStream(ctx context.Context, url, goal string) (outcome, error) {
	history := []wireMessage{{Role: "user", Content: &goal}}
	resp, err := post(ctx, url, wireRequest{Model: "gpt-4o", Messages: history, Stream: true})
	if err != nil {
		return outcome{}, err
	}
	defer resp.Body.Close()
	var text strings.Builder
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var chunk wireChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return outcome{}, err
		}
		if len(chunk.Choices) > 0 {
			text.WriteString(chunk.Choices[0].Delta.Content)
		}
	}
	answer := text.String()
	return outcome{answer: answer, wire: append(history, wireMessage{Role: "assistant", Content: &answer})}, lines.Err()
}
