// Package textpolicy makes a policy from a list of names in a flag or a configuration.
package textpolicy

import (
	"errors"
	"fmt"
	"strings"

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
