package wire

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
)

// Parameters returns the schema of a tool's arguments as it is sent. A schema of type object has
// properties, perhaps none: OpenAI refuses a tool without them.
func Parameters(schema []byte) []byte {
	if len(schema) == 0 {
		return []byte(`{"type":"object","properties":{}}`)
	}
	said := jsonform.Member(schema, "properties")
	if said != nil && string(said) != "null" || string(jsonform.Member(schema, "type")) != `"object"` || !ValidJSON(schema) {
		return schema
	}
	return WithMembers(schema, map[string][]byte{"properties": []byte("{}")})
}

// ask makes a request, as a stream if somebody watches the reply. It asks again at once, as a
// whole, if the server cannot stream this model, and asks it for no other stream. It asks again
// without a tool whose schema the server refuses, as long as the server names one. A tool that was
// left out so is not sent again to that model with that schema, except where the choice of tools
// needs it. The refused requests are listed among the attempts.
func (a Asking) ask(ctx context.Context, req *llmclient.Request, model string, onDelta func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
	var left [][]byte
	watch, cannot := onDelta, false
	if !a.whole.Has(model, nil) {
		watch = llmclient.Watch(ctx, onDelta)
	}
	for i := len(req.Tools) - 1; i >= 0 && a.leftOut.Any(); i-- {
		if a.leftOut.Has(model, sealOfTool(req, i)) && dispensable(req, i) {
			req = withoutTool(req, i)
		}
	}
	resp, err := Repeat(model, func(listed int) (*llmclient.Response, *llmclient.Error, bool) {
		resp, err := a.Once(ctx, req, model, watch)
		i := refusedTool(req, err)
		switch {
		case i >= 0 && dispensable(req, i):
			err.Message += fmt.Sprintf(" (the tool %q is left out)", req.Tools[i].Name)
			llmclient.Notify(ctx, llmclient.Notice{Kind: llmclient.NoticeToolLeftOut, Model: model, Attempt: listed + len(err.Attempts) + 1, Err: err})
			left, req = append(left, sealOfTool(req, i)), withoutTool(req, i)
			return nil, err, true
		case onDelta == nil && watch != nil && refusesStream(err):
			watch, cannot = nil, true
			return nil, err, true
		default:
			return resp, err, false
		}
	})
	if err != nil {
		return nil, err
	}
	if cannot {
		a.whole.Add(model, nil)
	}
	for _, seal := range left {
		a.leftOut.Add(model, seal)
	}
	return resp, nil
}

// Repeat makes requests as long as ask says that its error calls for another one. The refused
// requests are listed among the attempts; ask is told how many there are so far.
func Repeat(model string, ask func(listed int) (resp *llmclient.Response, err *llmclient.Error, again bool)) (*llmclient.Response, *llmclient.Error) {
	var attempts []llmclient.Attempt
	for {
		resp, err, again := ask(len(attempts))
		switch {
		case again:
			attempts = append(append(attempts, err.Attempts...), llmclient.Attempt{Model: model, Usage: err.Usage, Code: err.Code, Error: err.Error()})
		case err != nil:
			err.Attempts = append(attempts, err.Attempts...)
			return nil, err
		default:
			resp.Attempts = append(attempts, resp.Attempts...)
			return resp, nil
		}
	}
}

// dispensable reports whether a request makes sense without a tool.
func dispensable(req *llmclient.Request, i int) bool {
	choice := req.ToolChoice
	return (choice.Mode != llmclient.ChooseTool || choice.Name != req.Tools[i].Name) && (choice.Mode != llmclient.ChooseRequired || len(req.Tools) > 1)
}

func withoutTool(req *llmclient.Request, i int) *llmclient.Request {
	without := *req
	without.Tools = slices.Delete(slices.Clone(req.Tools), i, i+1)
	return &without
}

// sealOfTool returns what a server has refused of a tool.
func sealOfTool(req *llmclient.Request, i int) []byte {
	t := &req.Tools[i]
	return fmt.Appendf(nil, "%s %t %s", t.Name, t.Strict, t.Parameters)
}

// refusedSchema is how servers name the tool whose schema they refuse: by its name (OpenAI,
// DeepSeek, Groq; Vertex AI), or by its place (Gemini; Anthropic, OpenAI, vLLM, Bedrock).
var refusedSchema = regexp.MustCompile("(?i)schema for (?:function|tool) ['\"`]?([\\w-]+)|`([\\w-]+)` functionDeclaration|" +
	`function_declarations\W{1,4}(\d+)\W{1,4}parameters|` +
	`tools\W{1,4}(\d+)\W{1,4}(?:(?:custom|function|toolspec)\W{1,4})?(?:parameters|input_?schema)`)

// refusedTool returns the index of the tool whose schema a server has refused, or -1.
func refusedTool(req *llmclient.Request, err *llmclient.Error) int {
	if err == nil || err.Code != llmclient.CodeBadRequest || len(err.Partial.Content) > 0 || req.ToolFormat == llmclient.ToolsText {
		return -1
	}
	for _, m := range refusedSchema.FindAllStringSubmatch(err.Message, -1) {
		for i := range req.Tools {
			if name := req.Tools[i].Name; name == m[1]+m[2] || strconv.Itoa(i) == m[3]+m[4] {
				return i
			}
		}
	}
	return -1
}
