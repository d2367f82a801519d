package strategytest_test

import (
	"testing"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

func TestExplore_builtin(t *testing.T) {
	for name, f := range builtin.All() {
		t.Run(name, func(t *testing.T) {
			strategytest.Explore(t, func() strategy.Strategy { return f() }, explore.Options{
				States: 500, Children: builtin.Names(),
				Tools: []tools.Definition{{Name: "look", ReadOnly: true}, {Name: "pay", NeedsApproval: true}},
			})
		})
	}
}
