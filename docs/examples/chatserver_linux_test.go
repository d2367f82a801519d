package examples

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A user sees an answer as it is written, reloads the page in its midst, and loses nothing; is
// asked by a server that is killed then, and answers the next one; and cancels an answer. Another
// user sees none of it.
func TestChatserver_inChromium(t *testing.T) {
	t.Parallel()
	half := make(chan struct{})
	p := newProvider(t,
		reply{half: half, text: "Once upon a time. " + hostile},
		reply{tool: "buy", arguments: `{"Item":"a book"}`},
		reply{text: "You have it."},
		reply{half: make(chan struct{}), text: "There is no end."})
	b, dir, address := newBrowser(t), t.TempDir(), freeAddress(t)
	_, kill := p.serve(t, dir, "chatserver", address)
	b.open("http://" + address)
	b.write("#user", "ann")
	b.click("#enter")
	send := func(goal string) {
		t.Helper()
		b.write("#goal", goal)
		b.click("#go")
	}

	send("Tell me a story.")
	text := "Once upon a time. " + hostile
	for range 2 {
		b.reads("#talk p", "Tell me a story.", text[:len(text)/2])
		b.reads("#status", "Working…")
		b.reload()
	}
	b.reads("#talk p", "Tell me a story.", text[:len(text)/2])
	close(half)
	b.reads("#status", "Done.")
	b.reads("#talk p", "Tell me a story.", text)

	send("Buy it.")
	b.reads("#waits code", `{"Item":"a book"}`)
	kill()
	p.serve(t, dir, "chatserver", address)
	b.reload()
	b.reads("#status", "It waits for you.")
	b.reads("#waits code", `{"Item":"a book"}`)
	b.click("#waits button:nth-of-type(1)")
	b.reads("#talk p", "Tell me a story.", text, "Buy it.", "You have it.")
	b.reads("#waits code")

	b.reads("#status", "Done.")
	send("Another story.")
	b.reads("#talk p", "Tell me a story.", text, "Buy it.", "You have it.", "Another story.", "There is")
	b.click("#cancel")
	b.reads("#status", "It was stopped.")
	b.reads("#talk p", "Tell me a story.", text, "Buy it.", "You have it.", "Another story.", "There is")
	b.one("#list button")
	b.isWhole("Chat")

	b.script(`document.cookie = 'user=bob'; location.reload()`, nil)
	b.reads("#status", "there is no such run or session for you")
	b.reads("#talk p")
	b.click("#new")
	b.reads("#status", "")
	b.reads("#list button")
	require.Len(t, p.asked, 4, "to reload the page asks the model nothing")
}
