// Package textpolicy makes the policy of a list of names, as flags and configurations have it.
package textpolicy

import (
	"errors"
	"strings"

	"github.com/segue-go/segue/markdownpolicy"
)

// New returns the policy of a name, or of several with commas between them: the first that is
// found in a reply reads it.
func New(names string, o markdownpolicy.Options) (markdownpolicy.Policy, error) {
	var chain markdownpolicy.Chain
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return nil, errors.New("the name of a policy is empty; see segue policies")
		}
		p, err := markdownpolicy.New(name, o)
		if err != nil {
			return nil, err
		}
		chain = append(chain, p)
	}
	if len(chain) == 1 {
		return chain[0], nil
	}
	return chain, nil
}
