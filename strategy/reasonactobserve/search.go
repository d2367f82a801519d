package reasonactobserve

import (
	"errors"
	"fmt"

	"github.com/segue-go/segue/strategy/internal/search"
)

// planSearch checks the Config's Search.
func (s *settings) planSearch() (err error) {
	s.Plan, err = search.Compile(s.Search, pkg, s.Tools)
	if name := s.Plan.Name(); isControl(name) {
		return errors.Join(err, fmt.Errorf("reasonactobserve: Search: the Name %q is that of a control tool", name))
	}
	return err
}
