package policyclient_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/llmclienttest"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/markdownpolicy"
)

// builtins are the built-in policies by name.
func builtins(t *testing.T) map[string]markdownpolicy.Policy {
	t.Helper()
	all := map[string]markdownpolicy.Policy{}
	for _, name := range markdownpolicy.Names() {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{})
		require.NoError(t, err)
		all[name] = p
	}
	return all
}

func TestConformance(t *testing.T) {
	all := builtins(t)
	all["lines"] = lines{}
	for name, policy := range all {
		t.Run(name, func(t *testing.T) {
			llmclienttest.Run(t, llmclienttest.Config{New: func(_ *testing.T, script []llmclienttest.Turn) llmclient.Client {
				replies := make([]scripted.Reply, len(script))
				for i, turn := range script {
					replies[i] = scripted.Reply{Thought: turn.Thought, Deltas: turn.Text, Calls: turn.Calls, Finish: turn.Finish, Usage: turn.Usage}
					if turn.Err != nil {
						replies[i].Err = turn.Err
					}
					if turn.Hang {
						replies[i].Delay = time.Hour
					}
				}
				return policyclient.Wrap(scripted.New(replies...), policy)
			}})
		})
	}
}
