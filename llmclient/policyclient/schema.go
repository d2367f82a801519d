package policyclient

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/tools"
)

// holding says how closely replies are held to a schema. A server that refuses one is asked with
// the next.
type holding uint8

const (
	heldWhole  holding = iota // to the schemas of the tools
	heldLoose                 // to the forms of replies; arguments are any object
	heldByWord                // not at all
)

// schemas reports whether the policy is one for servers that hold replies to a schema.
func (c *client) schemas() bool {
	s, ok := c.policy.(markdownpolicy.Schemer)
	return ok && s.ReplySchema(nil, false, nil) != nil
}

// held fetches a reply that the server holds to the schema of the policy, if it has one. It returns
// what the server refused before.
func (c *client) held(ctx context.Context, r *reply, next *llmclient.Request) (*llmclient.Response, []llmclient.Attempt, error) {
	own := *next
	var refused []llmclient.Attempt
	for {
		known, _ := c.refused.Load(next.Model)
		how, _ := known.(holding)
		own.Schema = c.replySchema(r.asked, how)
		resp, err := r.fetch(ctx, c.inner, &own)
		if own.Schema == nil || !refusesSchema(err) {
			return resp, refused, err
		}
		c.refused.Store(next.Model, how+1)
		refused = append(refused, attemptsOf(copied(err))...)
	}
}

// replySchema returns the schema for replies to a request, or nil.
func (c *client) replySchema(req *llmclient.Request, how holding) *llmclient.Schema {
	s, ok := c.policy.(markdownpolicy.Schemer)
	if !ok || how == heldByWord {
		return nil
	}
	defs, choice := slices.Clone(req.Tools), req.ToolChoice
	switch choice.Mode { //nolint:exhaustive // the others leave all tools
	case llmclient.ChooseNone:
		defs = nil
	case llmclient.ChooseTool:
		defs = slices.DeleteFunc(defs, func(d tools.Definition) bool { return d.Name != choice.Name })
	}
	must := choice.Mode == llmclient.ChooseRequired || choice.Mode == llmclient.ChooseTool
	strict := !slices.ContainsFunc(defs, func(d tools.Definition) bool { return !d.Strict })
	var answer json.RawMessage
	if req.Schema != nil {
		answer, strict = req.Schema.Schema, strict && req.Schema.Strict
	}
	if how == heldLoose {
		for i := range defs {
			defs[i].Parameters = json.RawMessage(`{"type":"object"}`)
		}
		answer, strict = nil, false
	}
	schema := s.ReplySchema(defs, must, answer)
	if schema == nil {
		return nil
	}
	return &llmclient.Schema{Name: "reply", Schema: schema, Strict: strict}
}

// refusesSchema reports whether a server refused a request because of its schema. There is no code
// for that: the text names it.
func refusesSchema(err error) bool {
	e, ok := errors.AsType[*llmclient.Error](err)
	if !ok || e.Code != llmclient.CodeBadRequest || len(e.Partial.Content) > 0 {
		return false
	}
	said := strings.ToLower(e.Message)
	return slices.ContainsFunc([]string{"schema", "response_format", "response format", "structured output", "grammar"}, func(name string) bool {
		return strings.Contains(said, name)
	})
}
