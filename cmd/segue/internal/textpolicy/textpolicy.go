// Package textpolicy makes a policy from a list of names in a flag or a configuration.
package textpolicy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/markdownpolicy"
)

// New returns the policy for a name, or for several names separated by commas: the format that
// appears first in a reply is used.
func New(names string, o markdownpolicy.Options) (markdownpolicy.Policy, error) {
	var chain markdownpolicy.Chain
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return nil, errors.New("the name of a policy is empty; see segue policies")
		}
		p, err := markdownpolicy.New(name, o)
		if err != nil {
			return nil, fmt.Errorf("%w%s", err, similar.Hint(name, markdownpolicy.Names()))
		}
		chain = append(chain, p)
	}
	if len(chain) == 1 {
		return chain[0], nil
	}
	return chain, nil
}

// For returns the policy for a model with an API, which reads thoughts, too. The Responses API
// takes no stop sequences, without which a model goes on with results of its own.
func For(api, names string) (markdownpolicy.Think, error) {
	p, err := New(names, markdownpolicy.Options{})
	if err != nil {
		return markdownpolicy.Think{}, err
	}
	if s, ok := p.(markdownpolicy.Stopper); ok && api == endpoint.Responses && len(s.Stop()) > 0 {
		return markdownpolicy.Think{}, fmt.Errorf("the format %s needs stop sequences, and api: %s has none: choose another format, or api: %s", names, api, endpoint.Chat)
	}
	think := markdownpolicy.Think{Policy: p}
	if s, ok := p.(markdownpolicy.Schemer); ok && s.ReplySchema(nil, false, nil) != nil { // a reply begins with no thought
		think.Start = markdownpolicy.ThoughtsTagged
	}
	return think, nil
}

// NameFor returns the name of the format that a model was trained on; "" if there is none, or it is
// not known.
func NameFor(model string) string {
	p, _ := markdownpolicy.ForModel(model)
	if think, ok := p.(markdownpolicy.Think); ok {
		p = think.Policy
	}
	if named, ok := p.(markdownpolicy.Namer); ok {
		return named.Name()
	}
	return ""
}
