package mcptools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/tools"
)

// callState is what a call keeps while people answer the questions of a stateless server. It stands
// in the journal of the run.
type callState struct {
	Version      int                        `json:"v"` // stateVersion
	Server       string                     `json:"server"`
	Tool         string                     `json:"tool"`                    // the server's name of it
	RequestState string                     `json:"request_state,omitempty"` // the server's own
	Open         []openRequest              `json:"open"`                    // as they were asked, in their order
	Given        map[string]json.RawMessage `json:"given,omitempty"`         // answers that fit, as they are sent, by the ids of their requests
	Asked        int                        `json:"asked"`                   // questions so far
	Rounds       int                        `json:"rounds"`                  // times that the server has asked
}

// openRequest is a question of a server that has no answer yet.
type openRequest struct {
	ID     string          `json:"id"` // the server's
	Form   json.RawMessage `json:"form"`
	Missed int             `json:"missed,omitempty"` // answers that did not fit
}

const (
	stateVersion  = 1
	mostRounds    = 20 // times that a server may ask in one call
	mostMissed    = 3  // answers that do not fit
	mostQuestions = 16 // of one round
)

// ask takes over what a server asks, and returns the questions.
func (c *callState) ask(t *tool, res *mcp.CallToolResult) ([]tools.Question, error) {
	c.Version, c.Server, c.Tool, c.RequestState = stateVersion, t.set.cfg.Name, t.name, res.RequestState
	c.Rounds++
	c.Open, c.Given = nil, nil
	switch {
	case c.Rounds > mostRounds:
		return nil, t.set.failure("call "+t.name, fmt.Errorf("it has asked questions %d times in this call", mostRounds))
	case len(res.InputRequests) > mostQuestions:
		return nil, t.set.failure("call "+t.name, fmt.Errorf("it asks %d questions at once, more than %d", len(res.InputRequests), mostQuestions))
	}
	for _, id := range slices.Sorted(maps.Keys(res.InputRequests)) {
		params, ok := res.InputRequests[id].(*mcp.ElicitParams)
		if !ok {
			return nil, t.set.failure("call "+t.name, errors.New("it asks for something other than an answer of a person, such as the use of a model, which is not offered"))
		}
		f, err := newForm(params, t.set.cfg.Limits)
		if err != nil {
			return nil, t.set.failure("call "+t.name, err)
		}
		c.Open = append(c.Open, openRequest{ID: id, Form: asJSON(f)})
	}
	return c.questions(t, nil)
}

// questions returns the questions of the open requests. The problems say why earlier answers did
// not fit, by the ids of the requests.
func (c *callState) questions(t *tool, problems map[string]string) (all []tools.Question, err error) {
	for _, o := range c.Open {
		f, err := decodeForm(o.Form)
		if err != nil {
			return nil, t.set.failure("call "+t.name, err)
		}
		c.Asked++
		all = append(all, f.question(t.set.cfg.Name, t.def.Name, c.Asked, problems[o.ID]))
	}
	return all, nil
}

var errState = errors.New("the state of the suspended call is not one of this tool: call the tool again")

// resume reads the state of a suspended call, and the answers to its questions. It returns the
// questions that must be asked again.
func (c *callState) resume(t *tool, r tools.Resumption) (again []tools.Question, err error) {
	err = json.Unmarshal(r.State, c)
	if err != nil || c.Version != stateVersion || c.Server != t.set.cfg.Name || c.Tool != t.name || len(c.Open) != len(r.Answers) {
		return nil, t.set.failure("call "+t.name, errState)
	}
	if c.Given == nil {
		c.Given = map[string]json.RawMessage{}
	}
	problems := map[string]string{}
	var open []openRequest
	for i, o := range c.Open {
		f, err := decodeForm(o.Form)
		if err != nil {
			return nil, t.set.failure("call "+t.name, errState)
		}
		answer, problem := f.answer(r.Answers[i])
		if problem == "" {
			c.Given[o.ID] = asJSON(answer)
			continue
		}
		if o.Missed++; o.Missed >= mostMissed {
			return nil, t.set.failure("call "+t.name, fmt.Errorf("no answer to its question fits after %d attempts: %s", o.Missed, problem))
		}
		problems[o.ID] = problem
		open = append(open, o)
	}
	if c.Open = open; open == nil {
		return nil, nil
	}
	return c.questions(t, problems)
}

// responses returns the answers for the server.
func (c *callState) responses() mcp.InputResponseMap {
	all := mcp.InputResponseMap{}
	for id, data := range c.Given {
		r := new(mcp.ElicitResult)
		if json.Unmarshal(data, r) == nil { // it was marshalled here
			all[id] = r
		}
	}
	return all
}

// encoded returns the state as JSON.
func (c *callState) encoded() json.RawMessage { return asJSON(c) }
