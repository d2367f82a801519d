package explore

import (
	"github.com/segue-go/segue/strategy"
)

// lowered returns a factory whose strategies have at most n left of each cap; the factory itself if
// n is 0.
func lowered(factory func() strategy.Strategy, n int) func() strategy.Strategy {
	if n <= 0 || factory == nil {
		return factory
	}
	return func() strategy.Strategy {
		st := factory()
		t, ok := st.(strategy.Tabler)
		if !ok {
			return st
		}
		p := t.FSM().Position()
		for name, left := range p.Left {
			if left == strategy.Unbounded || left > n {
				p.Left[name] = n
			}
		}
		if p.Left != nil {
			_ = t.FSM().SetPosition(p) // a machine that cannot be used says so in the run
		}
		return st
	}
}
