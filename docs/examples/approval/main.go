// Approval is a web app: a visitor gives a model a task, sees what it writes while it writes, and
// is asked before it acts.
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"net/http"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/tools"
)

const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Approval</title>
<meta name="viewport" content="width=device-width">
<style>
body { font: 1rem/1.5 sans-serif; max-width: 40rem; margin: auto; padding: 1rem }
form { display: flex; gap: .5rem }
input { flex: 1; min-width: 0 }
input, button { font: inherit; padding: .3rem .8rem }
p { white-space: pre-wrap; overflow-wrap: anywhere }
.user { font-weight: bold }
code { display: block; padding: .5rem; background: #eee }
p button { margin: .5rem .5rem 0 0 }
</style>
<form id="task"><input id="goal" aria-label="Task" required autofocus> <button id="go">Go</button></form>
<div id="talk"></div><div id="waits"></div><p id="status" role="status"></p>
<script type="module">
const byID = id => document.getElementById(id)
const put = (parent, tag, text, className = '') =>
  parent.appendChild(Object.assign(document.createElement(tag), {textContent: text, className}))
let reply // the paragraph of what the model is writing

// follow posts a task or replies, and shows the events of the run as they come.
async function follow(path, body) {
  byID('status').textContent = 'Working…'
  byID('waits').replaceChildren()
  byID('go').disabled = true
  reply = null
  try {
    const request = {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)}
    let resp = await fetch(path, request)
    for (let n = 0; resp.status === 403 && n < 50; n++) { // the run is still being stopped, if the page was reloaded
      await new Promise(resolve => setTimeout(resolve, 100))
      resp = await fetch(path, request)
    }
    if (!resp.ok) throw new Error((await resp.json()).error.message)
    const reader = resp.body.pipeThrough(new TextDecoderStream()).getReader()
    for (let rest = '', ended = false; !ended;) {
      const {value, done} = await reader.read()
      if (done) throw new Error('The connection broke off. Reload the page to go on.')
      const blocks = (rest + value).split('\n\n')
      rest = blocks.pop()
      for (const block of blocks) {
        const data = block.match(/^data: (.*)$/m)
        if (data) ended = show(JSON.parse(data[1]))
      }
    }
  } catch (err) {
    byID('status').textContent = err.message
  }
  byID('go').disabled = false
}

// show shows an event, and says whether it is the last.
function show({run, kind, text, detail}) {
  history.replaceState(null, '', '#' + run) // so that the page knows its run after a reload
  if (kind === 'text_delta') (reply ??= put(byID('talk'), 'p', '')).append(text)
  if (kind === 'retry_waiting' && detail.discard) reply?.replaceChildren()
  if (kind === 'step_taken') reply = null
  if (kind !== 'run_finished') return false
  const {status, output, waits = []} = detail
  byID('talk').replaceChildren()
  for (const {role, content} of output.messages?.messages ?? [])
    if (role === 'user' || role === 'assistant')
      for (const c of content) if (c.type === 'text') put(byID('talk'), 'p', c.text, role)
  for (const wait of waits) {
    const asked = put(byID('waits'), 'p', wait.text)
    put(asked, 'code', wait.arguments)
    for (const [word, approve] of [['Yes', true], ['No', false]])
      put(asked, 'button', word).onclick = () => follow('/replies', {run, replies: [{wait_id: wait.id, approve}]})
  }
  byID('status').textContent = {done: 'Done.', stopped: 'It was stopped.', waiting: 'It waits for you.'}[status] ?? output.error.message
  return true
}

byID('task').onsubmit = event => {
  event.preventDefault()
  byID('talk').replaceChildren()
  put(byID('talk'), 'p', byID('goal').value, 'user')
  follow('/tasks', {goal: byID('goal').value})
}
if (location.hash) follow('/replies', {run: location.hash.slice(1)})
</script>`

type mail struct{ To, Text string }

func send(_ context.Context, m mail) (string, error) {
	log.Printf("to %s: %s", m.To, m.Text)
	return "sent", nil
}

func main() {
	agent := segue.Agent{
		Model: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"}),
		Tools: []tools.Tool{tools.New(tools.Definition{Name: "send", Description: "Sends a mail.", NeedsApproval: true}, send)},
		Configure: func(c *orchestrator.Config) {
			c.Store = new(checkpoint.Memory) // one on disk would let a run wait longer than this program
		},
	}
	runs, err := agent.Orchestrator()
	if err != nil {
		log.Fatal(err)
	}
	whoKnowsIt := func(*http.Request, string) error { return nil } // a site with users has an Owner instead
	for path, start := range map[string]sse.Start{"POST /tasks": sse.Tasks(runs), "POST /replies": sse.Replies(runs)} {
		handler, err := sse.New(sse.Config{Start: start, Authorize: whoKnowsIt})
		if err != nil {
			log.Fatal(err)
		}
		http.Handle(path, handler)
	}
	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	address := flag.String("address", "localhost:8080", "where to listen")
	flag.Parse()
	log.Print("http://", *address)
	log.Fatal(http.ListenAndServe(*address, nil))
}
