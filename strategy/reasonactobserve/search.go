package reasonactobserve

import (
	"errors"
	"fmt"

	"github.com/segue-go/segue/strategy/toolsearch"
)

// planSearch checks the Config's Search.
func (s *settings) planSearch() (err error) {
	s.plan, err = s.Search.Compile(pkg, s.Tools)
	if name := s.plan.Name(); isControl(name) {
		return errors.Join(err, fmt.Errorf("reasonactobserve: Search: the Name %q is that of a control tool", name))
	}
	return err
}

// startSearch decides which of the tools the act turn offers at first.
func (s *reasonActObserve) startSearch() {
	search, err := s.plan.Start(pkg, s.tools, toolsearch.Options{})
	s.search, s.toolsErr = search, errors.Join(s.toolsErr, err)
}
