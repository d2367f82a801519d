package explore_test

import (
	"testing"
	"time"

	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

func TestRun_completetask(t *testing.T) {
	began := time.Now()
	r, err := explore.Run(completetask.New(completetask.Config{MaxModelCalls: 3}), explore.Options{
		States: 3000, Tools: []tools.Definition{{Name: "look", ReadOnly: true}, {Name: "pay", NeedsApproval: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	for i := range r.Violations {
		t.Error(r.Violations[i].Error())
	}
	t.Logf("%v paths/s", int(float64(r.Paths)/time.Since(began).Seconds()))
}
