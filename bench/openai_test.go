package bench_test

import (
	"context"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// The loop over HTTP, written with openai-go as its manual shows. The HTTP rows are compared with
// it.

func newOpenAI(url string) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
}

func openaiParams(goal string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "gpt-4o",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(goal)},
	}
}

var addOpenAI = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
	Name:        "add",
	Description: openai.String("Adds two numbers."),
	Parameters: openai.FunctionParameters{
		"type":                 "object",
		"properties":           map[string]any{"a": map[string]any{"type": "integer"}, "b": map[string]any{"type": "integer"}},
		"required":             []string{"a", "b"},
		"additionalProperties": false,
	},
})}

func openaiByHand(ctx context.Context, client *openai.Client, add tool, goal string) (outcome, error) {
	params := openaiParams(goal)
	params.Tools = addOpenAI
	for {
		completion, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return outcome{}, err
		}
		reply := completion.Choices[0].Message
		params.Messages = append(params.Messages, reply.ToParam())
		if len(reply.ToolCalls) == 0 {
			return outcome{answer: reply.Content, openai: params.Messages}, nil
		}
		for _, c := range reply.ToolCalls {
			text, err := add(ctx, c.Function.Arguments)
			if err != nil {
				text = "error: " + err.Error()
			}
			params.Messages = append(params.Messages, openai.ToolMessage(text, c.ID))
		}
	}
}

func openaiStream(ctx context.Context, client *openai.Client, goal string) (outcome, error) {
	params := openaiParams(goal)
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	var acc openai.ChatCompletionAccumulator
	var text strings.Builder
	for stream.Next() {
		chunk := stream.Current()
		acc.AddChunk(chunk)
		if len(chunk.Choices) > 0 {
			text.WriteString(chunk.Choices[0].Delta.Content)
		}
	}
	if err := stream.Err(); err != nil {
		return outcome{}, err
	}
	return outcome{answer: text.String(), openai: append(params.Messages, acc.Choices[0].Message.ToParam())}, nil
}
