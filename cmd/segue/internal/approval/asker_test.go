package approval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder/workfoldertest"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// TestAsker_late takes a line that was typed when nobody was asked, or for something else, for no
// answer.
func TestAsker_late(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := terminaltest.New(t)
		p := NewAsker(terminal.NewScreen(x, terminal.Config{}, os.Getenv), nil, x.Input)
		first, cancel := context.WithCancelCause(t.Context())
		replied := make(chan error)
		ask := func(ctx context.Context) {
			reply, err := p.Reply(ctx, machine.Wait{Kind: machine.WaitApproval, Tool: "t"})
			if err == nil && !reply.Approve {
				err = errors.New("refused")
			}
			replied <- err
		}
		go ask(first)
		go ask(first) // waits for its turn
		synctest.Wait()
		cancel(errStopped)
		require.ErrorIs(t, <-replied, errStopped)
		require.ErrorIs(t, <-replied, errStopped)

		x.Types("y\n") // for what is asked no more
		synctest.Wait()
		go ask(t.Context())
		synctest.Wait()
		require.Empty(t, replied)
		x.Types("y\n")
		require.NoError(t, <-replied)

		go ask(t.Context())
		synctest.Wait()
		go x.Types("y\ny\n") // for two
		require.NoError(t, <-replied)
		synctest.Wait()
		go ask(t.Context())
		synctest.Wait()
		require.Empty(t, replied)
		x.Types("y\n")
		require.NoError(t, <-replied)
	})
}

// TestAsker_inOrder asks in the order in which the run tells its waits, whoever asks first, and
// waits for nobody whose wait is over.
func TestAsker_inOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := terminaltest.New(t)
		p := NewAsker(terminal.NewScreen(x, terminal.Config{}, os.Getenv), nil, x.Input)
		wait := func(id string) machine.Wait {
			return machine.Wait{ID: id, Kind: machine.WaitQuestion, Text: id}
		}
		for _, id := range []string{"gone", "a", "b", "c"} {
			p.Observe(terminaltest.Event("0", 2, "", machine.WaitStarted{Wait: wait(id)}))
		}
		p.Observe(terminaltest.Event("0", 2, "", machine.WaitEnded{WaitID: "gone"}))
		var said [3]string
		var asking sync.WaitGroup
		for i, id := range []string{"c", "b", "a"} {
			asking.Go(func() {
				reply, err := p.Reply(t.Context(), wait(id))
				said[i] = fmt.Sprint(reply.Text, err)
			})
			synctest.Wait()
		}
		for _, id := range []string{"a", "b", "c"} {
			require.Contains(t, x.Await("your answer > "), "| "+id+"\n")
			x.Types("it is " + id + "\n")
			synctest.Wait()
		}
		asking.Wait()
		require.Equal(t, [3]string{"it is c<nil>", "it is b<nil>", "it is a<nil>"}, said)
		require.Empty(t, p.queue)
	})
}

// TestAsker_unknown asks about a call that may have had its effect.
func TestAsker_unknown(t *testing.T) {
	w := machine.Wait{Kind: machine.WaitUnknown, Frame: "0", Seq: 2, Tool: "deploy", Arguments: `{"to":"prod"}`, Text: "Shall it be made again?"}
	for typed, want := range map[string]machine.Reply{
		"\nmaybe\nY\n":         {Approve: true},
		"no\nI see it there\n": {Reason: "I see it there"},
		"n\n\n":                {},
	} {
		synctest.Test(t, func(t *testing.T) {
			x := terminaltest.New(t)
			p := NewAsker(terminal.NewScreen(x, terminal.Config{}, os.Getenv), nil, x.Input)
			var got machine.Reply
			var err error
			var asking sync.WaitGroup
			asking.Go(func() { got, err = p.Reply(t.Context(), w) })
			synctest.Wait()
			for line := range strings.Lines(typed) {
				x.Types(line)
				synctest.Wait()
			}
			asking.Wait()
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Contains(t, x.Shown, `[0 #2] deploy was cut off, and may have had its effect
  | Shall it be made again?
  to: "prod"
make it again: y yes, n no > `)
		})
	}
}

func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		line    string
		options []string
		want    string
		problem string
	}{
		{"x", nil, "x", ""},
		{"1", nil, "1", ""},
		{"", nil, "", "An answer is needed."},
		{"", []string{"a"}, "", "An answer is needed."},
		{"2", []string{"a", "b"}, "b", ""},
		{"3", []string{"a", "b"}, "", "There is no option 3."},
		{"0", []string{"a", "b"}, "", "There is no option 0."},
		{"-1", []string{"a", "b"}, "", "There is no option -1."},
		{"a", []string{"a", "b"}, "a", ""},
		{"c", []string{"a", "b"}, "c", ""},
		{"1", []string{"2", "1"}, "1", ""},
		{"16", []string{"8", " 16 "}, "16", ""},
	} {
		answer, problem := Choose(tt.line, tt.options)
		require.Equal(t, tt.want, answer, "%+v", tt)
		require.Equal(t, tt.problem, problem, "%+v", tt)
	}
}

// TestUnlessAllowed spares questions, and no refusals.
func TestUnlessAllowed(t *testing.T) {
	p := NewAsker(nil, nil, nil)
	call := machine.ApprovalRequest{}
	call.Call.Name = "t"
	require.Equal(t, machine.VerdictAsk, p.UnlessAllowed(machine.AskAlways)(call))
	p.allow(workfolder.Grant{Tool: "t"})
	require.Equal(t, machine.VerdictAllow, p.UnlessAllowed(machine.AskAlways)(call))
	require.Equal(t, machine.VerdictRefuse, p.UnlessAllowed(machine.AllowNever)(call))
	call.Call.Name = "u"
	require.Equal(t, machine.VerdictAsk, p.UnlessAllowed(machine.AskAlways)(call))
}

// TestWorkFolder_protect asks about protected files whatever the policy allows, and keeps what it
// refuses.
func TestWorkFolder_protect(t *testing.T) {
	f := opened(t, workfoldertest.Protected(t))
	const allow, ask, refuse = machine.VerdictAllow, machine.VerdictAsk, machine.VerdictRefuse
	p := NewAsker(nil, f, nil)
	p.allow(workfolder.Grant{Tool: workfolder.WriteFile, Folder: "."})
	p.allow(workfolder.Grant{Tool: workfolder.ReadFile, Folder: "."})
	for word, want := range map[string]struct{ write, code, secret, read, search machine.Verdict }{
		approve.Always:    {allow, ask, ask, allow, allow},
		approve.Untrusted: {allow, ask, ask, allow, allow},
		approve.Ask:       {ask, ask, ask, allow, allow},
		approve.Never:     {refuse, refuse, refuse, allow, allow},
	} {
		for name, policy := range map[string]machine.ApprovalPolicy{
			"alone": f.Protect(approve.Policies{Default: word}.Judge), "with somebody who allows": f.Protect(p.UnlessAllowed(approve.Policies{Default: word}.Judge)),
		} {
			judge := func(tool, path string) machine.Verdict {
				r := machine.ApprovalRequest{Definition: tools.Definition{Name: tool, ReadOnly: tool != workfolder.WriteFile}}
				r.Call.Name, r.Call.Arguments = tool, workfoldertest.Arguments(path)
				return policy(r)
			}
			write := want.write
			if name != "alone" && write == ask {
				write = allow
			}
			require.Equal(t, write, judge(workfolder.WriteFile, "a"), word+name)
			require.Equal(t, want.code, judge(workfolder.WriteFile, "d/config"), word+name)
			require.Equal(t, want.code, judge(workfolder.WriteFile, ".env"), word+name)
			require.Equal(t, want.secret, judge(workfolder.ReadFile, "notes.txt"), word+name)
			require.Equal(t, want.secret, judge(workfolder.SearchFiles, ".aws"), word+name)
			require.Equal(t, want.read, judge(workfolder.ReadFile, ".git/HEAD"), word+name)
			require.Equal(t, want.search, judge(workfolder.SearchFiles, "."), word+name)
			require.Equal(t, allow, judge(workfolder.ListFiles, ".aws"), word+name)
		}
	}
}

var errStopped = errors.New("stopped")

func opened(t *testing.T, dir string) *workfolder.Folder {
	t.Helper()
	f, err := workfolder.Open(dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func texts(notes []terminal.Line) string {
	var lines []string
	for _, n := range notes {
		lines = append(lines, n.Text)
	}
	return strings.Join(lines, "\n")
}
