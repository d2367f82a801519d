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

// judgeReply is about the first reply, which is not streamed.
func (x *examiner) judgeReply(c *check, a answer) {
	c.Measured = "a whole answer in " + took(a.x.last.Sub(a.x.began))
	switch text := a.text(); {
	case a.resp.Finish == llmclient.FinishContentFilter || a.resp.Finish == llmclient.FinishRefusal:
		c.find(Set, "withheld", "the answer ends with "+string(a.resp.Finish), "take another model, or another filter in the account")
	case a.onlyThoughts():
		c.find(Broken, "empty_reply", "only thoughts, up to the limit of the server", "take another model")
	case strings.TrimSpace(text) == "":
		c.find(Broken, "empty_reply", "the answer is empty", "take another model")
	case !strings.Contains(strings.ToLower(text), "heron"):
		c.find(Set, "system_ignored", "asked for its name, the model does not say what the system prompt says", "say in the task what matters: system is not heeded")
	case !x.noSystem:
		c.Measured += "; the system prompt is heeded"
	}
	if !a.counted() {
		c.find(Set, "no_usage", "the answer does not say how many tokens it took", estimates)
	}
	c.thoughts(a)
}

// estimates is what to set where a server does not say how many tokens it took.
const estimates = "limits: {model_calls: N}: segue estimates tokens and cost here"

// counted reports whether the server says how many tokens a reply took.
func (a answer) counted() bool { return a.resp.Usage.Total > a.resp.Usage.Estimated }

// checkStreaming asks for a stream of text. If streams do not work, the checks that follow ask for
// whole answers.
func (x *examiner) checkStreaming(ctx context.Context, c *check) {
	a := x.ask(ctx, x.client, heron(), true)
	if a.err != nil {
		x.brokenStream(c, a)
		return
	}
	wire := a.x
	c.Measured = fmt.Sprintf("%s in %s, the first after %s", counted(a.deltas, "piece"), took(wire.last.Sub(wire.began)), took(wire.header()))
	c.thoughts(a)
	if kind, _, _ := mime.ParseMediaType(wire.contentType); strings.HasSuffix(kind, "json") {
		c.Measured = "the answer comes as a whole, although a stream was asked for"
		return
	}
	x.streams = true
	if a.after > x.cfg.Timeout/2 {
		x.streams = false
		c.find(Set, "stays_open", "the connection stays open after the end of the answer", "limits: {idle_timeout: 10s}: segue waits that long for the end of each answer")
	}
	if !a.counted() {
		c.find(Set, "no_stream_usage", "the stream does not say how many tokens it took", estimates)
	}
	if wire.silence > x.cfg.Slow {
		c.find(Set, "slow", "silent for "+took(wire.silence), "limits: {idle_timeout: 10m} if it thinks for longer than the two minutes that segue waits")
	}
}

// brokenStream says why a stream could not be read.
func (x *examiner) brokenStream(c *check, a answer) {
	if c.passing(a) {
		return
	}
	c.Measured = "does not work"
	switch {
	case a.x.status != http.StatusOK:
		c.find(Broken, "stream_refused", status(a), "take another server: segue asks for streams")
	case a.err.Code == llmclient.CodeBadResponse:
		c.find(Broken, "stream_unread", a.err.Message, "take another server, or another version of it: segue asks for streams")
	default:
		c.find(Broken, "stream_cut", fmt.Sprintf("it breaks off after %s: %s", counted(a.deltas, "piece"), a.err.Message), "look at the server's log, and at proxies that end long answers")
	}
}

// status returns the status and the message of a failure.
func status(a answer) string { return fmt.Sprintf("status %d: %s", a.x.status, a.err.Message) }

// thoughts finds thoughts in the text of an answer, and notes those apart from it.
func (c *check) thoughts(a answer) {
	if a.resp == nil {
		return
	}
	if text := strings.TrimSpace(a.text()); strings.HasPrefix(text, "<think>") || strings.Contains(text, "</think>") {
		c.find(Set, "thoughts_in_text", "thoughts stand in the text, between <think> and </think>",
			"have the server keep them apart (vLLM: --reasoning-parser; llama.cpp: --reasoning-format), or set a policy")
	}
	c.x.apart = c.x.apart || slices.ContainsFunc(a.resp.Message.Content, func(part messages.AssistantContent) bool {
		_, ok := part.(messages.Thought)
		return ok
	})
}

// checkThoughts says where the thoughts stood in the answers so far.
func (x *examiner) checkThoughts(_ context.Context, c *check) {
	switch {
	case x.found["thoughts_in_text"]:
		c.Measured = "in the text; see above"
	case x.apart:
		c.Measured = "apart from the text"
	default:
		c.Measured = "none came"
	}
}

// pointSchema is a schema in the strict subset of OpenAI.
var pointSchema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"people":{"type":"integer"}},"required":["city","people"],"additionalProperties":false}`)

// byTool is what to set where answers by a schema do not work.
const byTool = "config: {answer: tool} in an agent that answers by a schema"

// checkSchema asks for an answer by a JSON Schema, in prose, so that only the schema makes it JSON.
func (x *examiner) checkSchema(ctx context.Context, c *check) {
	a := x.ask(ctx, x.client, llmclient.Request{
		Messages: messages.History{messages.UserText("In Bern live about 137000 people.")},
		Schema:   &llmclient.Schema{Name: "city", Schema: pointSchema, Strict: true},
	}, false)
	switch {
	case c.passing(a):
	case a.err != nil && !refuses(a.err, "responseformat", "jsonschema", "structuredoutput"):
		c.Measured = "refused"
		c.find(Set, "schema_failed", status(a), byTool)
	case a.err != nil:
		c.Measured = "refused; segue offers a tool for the answer instead"
	case fits(a.text()), fits(unfenced(a.text())):
		c.Measured = "the answer fits the schema"
		x.schema = true
	default:
		c.Measured = "the answer does not fit the schema"
		c.find(Set, "schema_ignored", "the answer is not JSON of the schema", byTool)
	}
}

// refuses reports whether a provider refuses a request because of a field, as the strategies judge
// it: the message has its name.
func refuses(err *llmclient.Error, fields ...string) bool {
	said := strings.NewReplacer("_", "", " ", "").Replace(strings.ToLower(err.Message))
	named := func(field string) bool { return strings.Contains(said, field) }
	return err.Code == llmclient.CodeBadRequest && slices.ContainsFunc(fields, named)
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

// checkForced forces a call of a tool without arguments, which the question does not need.
func (x *examiner) checkForced(ctx context.Context, c *check) {
	if !x.ways[0].Called {
		c.skip("there are no tool calls to force")
		return
	}
	const advice = "not strategy: tool-first, and react with care: they force a call"
	a := x.ask(ctx, x.client, llmclient.Request{
		Messages:   messages.History{messages.UserText("Say hello.")},
		Tools:      []tools.Definition{clock},
		ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: clock.Name},
	}, x.streams)
	switch {
	case c.passing(a):
	case a.err != nil && !refuses(a.err, "toolchoice"):
		c.Measured = "refused"
		c.find(Set, "choice_failed", status(a), advice)
	case a.err != nil:
		c.Measured = "refused; segue asks again without it"
	case len(a.resp.Message.Calls()) == 0:
		c.Measured = "ignored"
		c.find(Set, "choice_ignored", "the model answers without the call that it has to make", advice)
	case a.resp.Message.Calls()[0].Name != clock.Name:
		c.Measured = "ignored"
		c.find(Set, "choice_ignored", "the model calls "+a.resp.Message.Calls()[0].Name+", and not the tool that it has to call", advice)
	default:
		c.Measured = "heeded"
	}
}
