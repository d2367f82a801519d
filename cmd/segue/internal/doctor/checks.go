package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// heron is a question whose answer shows whether the system prompt was heeded, and that is long
// enough for a stream of several pieces.
var heron = messages.History{
	messages.System{Text: "Your name is Heron."},
	messages.UserText("What is your name? Then count from one to ten, in words. Nothing else."),
}

// judgeReply is about the first reply, which is not streamed.
func (x *examiner) judgeReply(c *check, a answer) {
	c.Measured = "a whole answer in " + took(a.x.last.Sub(a.x.began))
	switch text := a.text(); {
	case strings.TrimSpace(text) == "":
		c.find(Broken, "empty_reply", "the answer is empty, or thoughts alone", "take another model")
	case len(x.question) < len(heron):
	case !strings.Contains(strings.ToLower(text), "heron"):
		c.find(Set, "system_ignored", "asked for its name, the model does not say what the system prompt says", "say in the task what matters: system is not heeded")
	default:
		c.Measured += "; the system prompt is heeded"
	}
	c.counted(a)
}

// counted finds a server that does not say how many tokens a reply took.
func (c *check) counted(a answer) {
	if a.resp.Usage.Total <= a.resp.Usage.Estimated {
		c.find(Set, "no_usage", "it does not say how many tokens it took", "limits: {model_calls: N}: segue estimates tokens and cost here")
	}
}

// checkStreaming asks for a stream of text, as runs do: without streams nothing works.
func (x *examiner) checkStreaming(ctx context.Context, c *check) {
	a := x.ask(ctx, llmclient.Request{Messages: x.question}, true)
	kind, _, _ := mime.ParseMediaType(a.x.contentType)
	switch {
	case c.passing(a):
	case a.err != nil && a.x.status != http.StatusOK:
		c.find(Broken, "stream_refused", status(a), "take another server: segue asks for streams")
	case a.err != nil:
		c.find(Broken, "stream_cut", fmt.Sprintf("it cannot be read, or breaks off, after %s: %s", counted(a.deltas, "piece"), a.err.Message),
			"look at the server's log, and at proxies that end long answers")
	case strings.HasSuffix(kind, "json"):
		c.Measured = "the answer comes as a whole, although a stream was asked for"
	default:
		c.Measured = fmt.Sprintf("%s in %s, the first after %s", counted(a.deltas, "piece"), took(a.x.last.Sub(a.x.began)), took(a.x.header()))
		c.counted(a)
	}
	x.stopped = c.Verdict == Broken && !a.passes()
}

// status returns the status and the message of a failure.
func status(a answer) string { return fmt.Sprintf("status %d: %s", a.x.status, a.err.Message) }

// checkThoughts says where the thoughts stood in the answers so far.
func (x *examiner) checkThoughts(_ context.Context, c *check) {
	switch {
	case x.inText:
		c.Measured = "in the text"
		c.find(Set, "thoughts_in_text", "thoughts stand in the text, between <think> and </think>",
			"have the server keep them apart (vLLM: --reasoning-parser; llama.cpp: --reasoning-format), or set a policy")
	case x.apart:
		c.Measured = "apart from the text"
	default:
		c.Measured = "none came"
	}
}

// pointSchema is a schema in the strict subset of OpenAI.
var pointSchema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"people":{"type":"integer"}},"required":["city","people"],"additionalProperties":false}`)

// checkSchema asks for an answer by a JSON Schema, in prose, so that only the schema makes it JSON.
func (x *examiner) checkSchema(ctx context.Context, c *check) {
	const byTool = "config: {answer: tool} in an agent that answers by a schema"
	a := x.ask(ctx, llmclient.Request{
		Messages: messages.History{messages.UserText("In Bern live about 137000 people.")},
		Schema:   &llmclient.Schema{Name: "city", Schema: pointSchema, Strict: true},
	}, false)
	x.noSchema = true
	switch {
	case c.passing(a):
	case a.err != nil && !refusesSchema(a.err):
		c.Measured = "refused"
		c.find(Set, "schema_failed", status(a), byTool)
	case a.err != nil:
		c.Measured = "refused; segue offers a tool for the answer instead"
	case fits(a.text()), fits(unfenced(a.text())):
		c.Measured = "the answer fits the schema"
		x.noSchema = false
	default:
		c.Measured = "the answer does not fit the schema"
		c.find(Set, "schema_ignored", "the answer is not JSON of the schema", byTool)
	}
}

// refusesSchema reports whether a provider refuses a request because of its schema, as the
// strategies judge it: the message names the field.
func refusesSchema(err *llmclient.Error) bool {
	said := strings.NewReplacer("_", "", " ", "").Replace(strings.ToLower(err.Message))
	named := func(field string) bool { return strings.Contains(said, field) }
	return err.Code == llmclient.CodeBadRequest && slices.ContainsFunc([]string{"responseformat", "jsonschema", "structuredoutput"}, named)
}

// fits reports whether a text is JSON of pointSchema.
func fits(text string) bool {
	s, err := tools.CompileSchema(pointSchema)
	return err == nil && s.Check(strings.TrimSpace(text)) == nil
}

// unfenced removes a fenced block around a text, as the strategies do.
func unfenced(text string) string {
	inside, closed := strings.CutSuffix(strings.TrimSpace(text), "```")
	first, rest, ok := strings.Cut(inside, "\n")
	if !closed || !ok || !strings.HasPrefix(first, "```") {
		return text
	}
	return rest
}
