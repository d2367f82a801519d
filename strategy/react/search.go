package react

import (
	"errors"

	"github.com/segue-go/segue/strategy/toolsearch"
)

// startSearch decides which of the tools the instructions describe.
func (s *react) startSearch() {
	search, err := s.plan.Start("react", s.tools, toolsearch.Options{Written: true})
	s.search, s.toolsErr = search, errors.Join(s.toolsErr, err)
}
