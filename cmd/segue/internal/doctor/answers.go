package doctor

import (
	"context"
	"encoding/json"
	"fmt"
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
	text := a.text()
	switch {
	case a.resp.Finish == llmclient.FinishContentFilter || a.resp.Finish == llmclient.FinishRefusal: // named by its form
	case a.onlyThoughts():
		c.find("empty_reply", "only thoughts, up to the limit of the server")
	case strings.TrimSpace(text) == "":
		c.find("empty_reply", "the answer is empty")
	case !strings.Contains(strings.ToLower(text), "heron"):
		c.find("system_ignored", "asked for its name, the model does not say what the system prompt says")
	case !x.noSystem:
		c.Measured += "; the system prompt is heeded"
	}
	if a.resp.Usage.Total == a.resp.Usage.Estimated {
		c.find("no_usage", "the answer does not say how many tokens it took")
	}
	c.unusual(a)
}

// unknownModel is the name of a model that no server has.
const unknownModel = "segue-doctor-no-such-model"

// checkErrors asks for a model that is not there, to see an error.
func (x *examiner) checkErrors(ctx context.Context, c *check) {
	req := llmclient.Request{Model: unknownModel, Messages: messages.History{messages.UserText("Say: ok.")}}
	a := x.ask(ctx, req, false)
	if a.err == nil {
		c.Measured = "none for a model that is not there"
		c.find("model_ignored", "a model that is not there answers")
		return
	}
	c.Measured = fmt.Sprintf("status %d for a model that is not there", a.x.status)
	switch {
	case a.err.Code == llmclient.CodeTimeout:
		c.passing(a)
	case a.x.status == http.StatusOK:
		c.find("error_in_answer", "an error in an answer with status 200")
	case a.err.Code == llmclient.CodeRateLimited:
		c.Measured = "a rate limit hides what it says"
	case a.err.Code.Temporary():
		c.find("error_status", fmt.Sprintf("status %d for a model that is not there", a.x.status))
	case !usualError(a.x.body):
		c.find("error_form", "the error is not {\"error\": {\"message\": …}}")
	}
}

// usualError reports whether a body has the form of OpenAI's errors.
func usualError(body []byte) bool {
	var e struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	return json.Unmarshal(body, &e) == nil && e.Error.Message != ""
}

// checkStreaming asks for a stream of text. If streams do not work, the checks that follow ask for
// whole answers.
func (x *examiner) checkStreaming(ctx context.Context, c *check) {
	a := x.ask(ctx, heron(), true)
	c.unusual(a)
	wire := a.x
	if a.err != nil {
		x.brokenStream(c, a)
		return
	}
	c.Measured = fmt.Sprintf("%s in %s, the first after %s", counted(a.textPieces(), "piece"), took(wire.last.Sub(wire.began)), took(wire.header()))
	if !a.stream {
		return
	}
	x.streams = !x.found["stays_open"]
	if a.textPieces() == 1 {
		c.find("one_piece", "the text comes in one piece")
	}
	if a.resp.Usage.Total == a.resp.Usage.Estimated {
		c.find("no_stream_usage", "the stream does not say how many tokens it took")
	}
	if wire.silence > x.cfg.Slow {
		c.find("slow", "silent for "+took(wire.silence))
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
		c.find("stream_refused", fmt.Sprintf("status %d: %s", a.x.status, a.err.Message), "take another server: segue asks for streams")
	case a.brokeOff():
		c.find("error_in_stream", "an error in the stream: "+a.err.Message)
	case a.err.Code == llmclient.CodeTruncated || a.err.Code == llmclient.CodeUnavailable:
		c.find("stream_cut", fmt.Sprintf("it ends after %s, %s", counted(a.textPieces(), "piece"), a.withoutEnd()))
	default:
		c.find("stream_unread", a.err.Message)
	}
}

// checkThoughts says where the thoughts stood in the answers so far.
func (x *examiner) checkThoughts(_ context.Context, c *check) {
	switch {
	case x.found["thoughts_in_text"]:
		c.Measured = "in the text; see above"
	case len(x.fields) > 0:
		c.Measured = "apart from the text, in " + strings.Join(x.fields, ", ")
	default:
		c.Measured = "none came"
	}
}

// pointSchema is a schema in the strict subset of OpenAI.
var pointSchema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"people":{"type":"integer"}},"required":["city","people"],"additionalProperties":false}`)

// checkSchema asks for an answer by a JSON Schema, in prose, so that only the schema makes it JSON.
func (x *examiner) checkSchema(ctx context.Context, c *check) {
	a := x.ask(ctx, llmclient.Request{
		Messages: messages.History{messages.UserText("In Bern live about 137000 people.")},
		Schema:   &llmclient.Schema{Name: "city", Schema: pointSchema, Strict: true},
	}, false)
	c.unusual(a)
	switch {
	case c.passing(a):
	case a.err != nil && !refuses(a.err, "responseformat", "jsonschema", "structuredoutput"):
		c.Measured = "refused"
		c.find("schema_failed", fmt.Sprintf("status %d: %s", a.x.status, a.err.Message))
	case a.err != nil:
		c.Measured = "refused"
		c.find("schema_refused", fmt.Sprintf("status %d: %s", a.x.status, a.err.Message))
	case fits(a.text()):
		c.Measured = "the answer fits the schema"
	case fits(unfenced(a.text())):
		c.Measured = "the answer fits the schema"
		c.find("schema_fenced", "the JSON stands in a fence")
	default:
		c.Measured = "the answer does not fit the schema"
		c.find("schema_ignored", "the answer is not JSON of the schema")
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
	text = strings.TrimSpace(text)
	inside, closed := strings.CutSuffix(text, "```")
	first, rest, ok := strings.Cut(inside, "\n")
	if !closed || !ok || !strings.HasPrefix(first, "```") {
		return text
	}
	return strings.TrimSpace(rest)
}
