package openaichat

import (
	"encoding/json"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// Plain holds the fields of an answer, without their interpretation.
type Plain struct {
	OK, Choice, Delta, Message     bool
	ID, Model, Finish, Content     string
	Refusal, Reasoning, ReasoningC string
	CallIDs, CallNames, CallArgs   []string
}

// Decode reads one answer.
func Decode(data []byte) Plain {
	var d decoder
	ok := d.decode(data, noIndex)
	if !ok {
		return Plain{}
	}
	a := &d.answer
	r := &a.delta
	p := Plain{
		OK: true, Choice: a.hasChoice, Delta: a.hasDelta, Message: a.hasMessage,
		ID: string(a.id), Model: string(a.model), Finish: string(a.finish), Content: string(r.content),
		Refusal: string(r.refusal), Reasoning: string(r.reasoning), ReasoningC: string(r.reasoningContent),
	}
	for _, c := range r.calls {
		p.CallIDs = append(p.CallIDs, string(c.id))
		p.CallNames = append(p.CallNames, string(c.name))
		p.CallArgs = append(p.CallArgs, string(c.args))
	}
	return p
}

// Encode writes a request for a host.
func Encode(hostname string, cfg Config, req *llmclient.Request, stream bool) (json.RawMessage, *llmclient.Error) {
	return newDialect(cfg, hostname).encode(req, req.Model, stream)
}

// ValidJSON and AppendString are the functions of the package.
func ValidJSON(b []byte) bool                  { return wire.ValidJSON(b) }
func AppendString(dst []byte, s string) []byte { return jsonform.AppendString(dst, s) }
