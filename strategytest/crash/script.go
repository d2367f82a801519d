package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/segue-go/segue/llmclient"
)

// script is what a model has said, request by request. The Client of a case is asked once for each
// request, in the first run; whoever asks the same later hears the same.
type script struct {
	mu   sync.Mutex
	said map[string]reply // by the name of the request
}

type reply struct {
	request string
	deltas  []llmclient.Delta
	resp    *llmclient.Response
	err     error
}

// ask has the client answer a request, and keeps the answer.
func (s *script) ask(ctx context.Context, client llmclient.Client, name string, r *llmclient.Request) {
	said := reply{request: textOf(r)}
	said.resp, said.err = client.Complete(ctx, r, func(d llmclient.Delta) { said.deltas = append(said.deltas, d) })
	if said.resp == nil && said.err == nil {
		said.err = errors.New("crash: the client returned neither a response nor an error")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said == nil {
		s.said = map[string]reply{}
	}
	s.said[name] = said
}

// names returns the names of all requests.
func (s *script) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.said {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// again answers a request as it was answered before, or says why it cannot be the same.
func (s *script) again(name string, r *llmclient.Request) (said reply, problem string) {
	s.mu.Lock()
	said, known := s.said[name]
	s.mu.Unlock()
	switch text := textOf(r); {
	case !known:
		return said, fmt.Sprintf("the request %s is one to which the first run did not come; that made %q", name, s.names())
	case text != said.request:
		return said, fmt.Sprintf("the request %s is another one\n%s", name, twoLines(said.request, text))
	}
	return said, ""
}

// client answers the requests of a process from a script.
type client struct {
	*process
	model llmclient.Client // of the case; it is asked in the first run
}

type requestKey struct{}

// Complete implements llmclient.Client.
func (c client) Complete(ctx context.Context, r *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	name, _ := ctx.Value(requestKey{}).(string)
	if c.w.first {
		c.w.script.ask(ctx, c.model, name, r)
	}
	said, problem := c.w.script.again(name, r)
	other := c.w.isOther() || c.w.c.off == lawRequests
	switch {
	case c.wasFrozen():
		return nil, errors.New("crash: the model does not answer a process that was frozen")
	case other && said.resp == nil && said.err == nil:
		return nil, errors.New("crash: the model has nothing to say to what it was not asked before")
	case problem != "" && !other:
		c.w.complain(lawRequests, problem)
		return nil, fmt.Errorf("crash: %s", problem)
	}
	if onDelta != nil {
		for _, d := range said.deltas {
			onDelta(d)
		}
	}
	return said.resp, said.err
}
