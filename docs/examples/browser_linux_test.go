package examples

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostile is text that takes the page over where it is taken for HTML.
const hostile = `</code><img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`

// isWhole holds that the page is ours, and fits into its window.
func (b *browser) isWhole(title string) {
	b.t.Helper()
	var page struct {
		Title        string
		Width, Wide  int
		Foreign      int
		Scaled, Text float64
	}
	b.script(`return {
		title: document.title, width: innerWidth, wide: document.documentElement.scrollWidth,
		foreign: document.querySelectorAll('img, body script:not([type=module])').length,
		scaled: visualViewport.scale, text: parseFloat(getComputedStyle(document.body).fontSize)}`, &page)
	require.Equal(b.t, title, page.Title)
	require.Zero(b.t, page.Foreign, "elements that the page does not make")
	require.Equal(b.t, 400, page.Width, "a page that does not fit its window is shrunk")
	require.LessOrEqual(b.t, page.Wide, page.Width, "the page is wider than its window")
	require.GreaterOrEqual(b.t, page.Text*page.Scaled, 16.0, "the letters are small")
}

// A visitor sees the answer as it is written, is asked about two calls, reloads the page, allows
// one and refuses the other. What the model writes is text, whatever it looks like.
func TestApproval_inChromium(t *testing.T) {
	t.Parallel()
	half := make(chan struct{})
	text := "I write to both. " + strings.Repeat("x", 100) + hostile
	arguments := []string{`{"To":"bob","Text":"` + strings.ReplaceAll(hostile, `"`, `\"`) + `"}`, `{"To":"eve","Text":"hi"}`}
	p := newProvider(t,
		reply{half: half, text: text, tool: "send", arguments: arguments[0], second: arguments[1]},
		reply{text: "Bob has it, Eve does not. " + hostile})
	b := newBrowser(t)
	site, log := approvalSite(t, p)
	b.open(site)
	goal := "Write to Bob and Eve. " + hostile
	b.write("#goal", goal)
	b.click("#go")

	b.reads("#talk p", goal, text[:len(text)/2])
	b.reads("#status", "Working…")
	b.reads("#waits p")
	b.isWhole("Approval")
	close(half)

	waiting := func(arguments ...string) {
		t.Helper()
		b.reads("#waits code", arguments...)
		b.reads("#talk p", goal, text)
		b.reads("#status", "It waits for you.")
		b.isWhole("Approval")
	}
	waiting(arguments...)
	b.reload()
	waiting(arguments...)
	require.NotContains(t, log.String(), "to ")

	b.click("#waits p:first-child button:nth-of-type(1)")
	waiting(arguments[1])
	b.reload()
	waiting(arguments[1])
	b.click("#waits p:first-child button:nth-of-type(2)")

	for range 2 {
		b.reads("#status", "Done.")
		b.reads("#talk p", goal, text, "Bob has it, Eve does not. "+hostile)
		b.reads("#waits p")
		b.isWhole("Approval")
		b.reload()
	}
	require.Contains(t, log.String(), "to bob: "+hostile)
	require.NotContains(t, log.String(), "to eve")
	require.Len(t, p.asked, 2, "to reload the page asks the model nothing")
	require.Contains(t, p.asked[1].Messages[2].Content, "sent")
	require.NotContains(t, p.asked[1].Messages[3].Content, "sent")
}

// Who reloads the page while the model writes stops it, and sees what there was.
func TestApproval_reloadedWhileItWrites(t *testing.T) {
	t.Parallel()
	p := newProvider(t, reply{half: make(chan struct{}), text: "Once upon a time."})
	b := newBrowser(t)
	site, _ := approvalSite(t, p)
	b.open(site)
	b.write("#goal", "Tell me a story.")
	b.click("#go")
	b.reads("#talk p", "Tell me a story.", "Once upo")
	b.reload()
	b.reads("#talk p", "Tell me a story.", "Once upo")
	b.reads("#status", "It was stopped.")
}
