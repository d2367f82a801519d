package orchestrator_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// saying is a model during whose first request something is said.
func saying(say func(), replies ...scripted.Reply) llmclient.Client {
	model := scripted.New(replies...)
	said := false
	return llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		if !said {
			said = true
			say()
		}
		return model.Complete(ctx, req, onDelta)
	})
}

// toldNotes lists what events tell of notes.
func toldNotes(events []machine.Event) (told []string) {
	for _, e := range events {
		if d, ok := e.Detail.(machine.Noting); ok {
			told = append(told, string(e.Kind)+" "+d.Text)
		}
	}
	return told
}

func lastUser(h messages.History) string {
	for _, m := range slices.Backward(h) {
		if u, ok := m.(messages.User); ok {
			return u.Text()
		}
	}
	return ""
}

// A note on the channel of a task is kept and told when it comes, and heard with the answer to the
// step in progress.
func TestTask_notes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, stream := range []bool{false, true} {
			notes := make(chan string)
			store := new(checkpoint.Memory)
			model := saying(func() {
				notes <- "Briefly."
				synctest.Wait()
				require.Equal(t, []string{"Briefly."}, notesOf(t, store, keyOfRun))
				close(notes)
			}, scripted.Text("long"), scripted.Text("short"))
			o := solver(t, model, stored(store))
			how := task("go")
			how.Notes = notes
			if stream {
				events := watched(t, o, how)
				require.Equal(t, []string{"noted Briefly.", "note_heard Briefly."}, toldNotes(events))
				continue
			}
			res := ran(t, o, how)
			require.Equal(t, "short", res.Output.Text())
			require.Equal(t, "Briefly.", lastUser(res.Output.Messages))
		}
	})
}

// What nobody reads before the run ends stays in the channel, and a note that cannot be one is
// refused.
func TestTask_notesStay(t *testing.T) {
	notes := make(chan string, 3)
	o := solver(t, saying(func() { notes <- ""; notes <- strings.Repeat("x", machine.MaxNote+1) }, scripted.Text("done")))
	how := task("go")
	how.Notes = notes
	events := watched(t, o, how)
	require.Empty(t, toldNotes(events))
	notes <- "late"
	require.Len(t, notes, 1)
}

// A note of another process that comes during the only request is heard with its answer.
func TestNote_duringTheLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		model := saying(func() {
			require.NoError(t, goingOn(t, store).Note(context.Background(), keyOfRun, "Briefly."))
			time.Sleep(time.Minute)
		}, scripted.Text("long"), scripted.Text("short"))
		res := ran(t, solver(t, model, stored(store)), task("go"))
		require.Equal(t, "short", res.Output.Text())
	})
}

// A note with no text, one that is too long, and one for a run that has ended are refused; and so
// is a reason of a stop that is as long.
func TestNote_refused(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Text("done")), stored(store))
	ran(t, o, task("go"))
	for text, problem := range map[string]string{"": "the note is empty", strings.Repeat("x", machine.MaxNote+1): "are allowed", strings.Repeat("\xff", machine.MaxNote/2): "are allowed", "a": "the run has ended"} {
		err := o.Note(t.Context(), keyOfRun, text)
		require.ErrorAs(t, err, new(*machine.ReplyError))
		require.ErrorContains(t, err, problem)
	}
	err := o.Stop(t.Context(), keyOfRun, strings.Repeat("\xff", machine.MaxNote/2), true)
	require.ErrorAs(t, err, new(*machine.ReplyError))
	require.ErrorContains(t, err, "the reason has")
}

// A run goes on from its journal with the notes that it was given, and with others.
func TestResume_notes(t *testing.T) {
	store := new(checkpoint.Memory)
	ctx, cancel := context.WithCancelCause(t.Context())
	notes := make(chan string, 1)
	notes <- "One."
	model := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		cancel(orchestrator.ErrInterrupted)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	how := task("go")
	how.Notes = notes
	_, err := solver(t, model, stored(store)).Run(ctx, how)
	require.ErrorIs(t, err, orchestrator.ErrInterrupted)

	more := make(chan string, 1)
	more <- "Two."
	again := resuming("r")
	again.Notes = more
	res, err := orchestrator.Collect(solver(t, scripted.New(scripted.Text("a"), scripted.Text("b")), stored(store)).Resume(t.Context(), again))
	require.NoError(t, err)
	require.Equal(t, "b", res.Output.Text())
	require.Equal(t, []string{"One.", "Two."}, notesOf(t, store, keyOfRun))
	require.Equal(t, "Two.", lastUser(res.Output.Messages))
}
