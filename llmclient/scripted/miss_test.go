package scripted_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

// miss returns the text about a request that is not in the cassette.
func miss(t *testing.T, replayer *scripted.Replayer, req *llmclient.Request) string {
	t.Helper()
	left := replayer.Remaining()
	_, err := replayer.Complete(t.Context(), req, nil)
	e := coded(t, err, llmclient.CodeBadRequest)
	require.Equal(t, "replay_miss", e.Type)
	require.Equal(t, left, replayer.Remaining())
	return e.Err.Error()
}

// A miss shows how the request differs from the most similar recorded one.
func TestReplay_MissShowsTheDifference(t *testing.T) {
	recorded := []*llmclient.Request{user("other", "b", "c"), user("a", "b", "c"), user("a", "x", "y", "z")}
	replayer := record(t, []scripted.Reply{{Times: -1}}, recorded...)
	wanted := user("a", "b", "d")
	wanted.Model = "m"
	m := miss(t, replayer, wanted)
	require.Regexp(t, "^scripted: this request \\(key [0-9a-f]{12}\\) is not in the cassette; from the nearest, recording 2, it differs by:\n", m)
	require.Contains(t, m, `:
  …
        "content": [
          {
-           "text": "c",
+           "text": "d",
            "type": "text"
          }
  …
        "role": "user"
      }
-   ]
+   ],
+   "model": "m"
  }
`)
}

func TestReplay_NearestByLengthAndFields(t *testing.T) {
	longer, shorter, same := user("x", "y", "z", "w"), user("x"), user("p", "q", "r")
	same.Model = "m"
	replayer := record(t, []scripted.Reply{{Times: -1}}, longer, shorter, same)
	require.Contains(t, miss(t, replayer, user("x", "other")), "recording 2, ", "equally many messages in common: the nearer length")
	withModel := user("1", "2", "3")
	withModel.Model = "m"
	require.Contains(t, miss(t, replayer, withModel), "recording 3, ", "nothing in common but the model")
}

func TestReplay_MissOfAnEmptyCassette(t *testing.T) {
	replayer, err := scripted.Replay(strings.NewReader("\n"))
	require.NoError(t, err)
	m := miss(t, replayer, user("x"))
	require.Regexp(t, "^scripted: this request \\(key [0-9a-f]{12}\\) is not in the cassette, which is empty$", m)
}

// The difference is limited in size, and shows long texts where they differ.
func TestReplay_MissIsBounded(t *testing.T) {
	long := func(at string) *llmclient.Request {
		return user(strings.Repeat("ä", 5000) + at + strings.Repeat("ö", 5000))
	}
	m := miss(t, record(t, []scripted.Reply{{}}, long("one")), long("two"))
	require.Contains(t, m, "äone")
	require.Contains(t, m, "ätwo")
	require.Less(t, len(m), 1500)
	require.True(t, strings.Contains(m, "…ä") && strings.Contains(m, "ö…"), m)

	many := func(prefix string) *llmclient.Request {
		req := &llmclient.Request{Messages: messages.History{messages.System{Text: "same"}}}
		for i := range 1000 {
			req.Messages = append(req.Messages, messages.UserText(fmt.Sprint(prefix, i)))
		}
		return req
	}
	m = miss(t, record(t, []scripted.Reply{{}}, many("a")), many("b"))
	require.Less(t, len(m), 10_000)
	require.Contains(t, m, "more changes are left out")
}
