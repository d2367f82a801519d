// Package sse streams runs to browsers and other HTTP clients as server-sent events (WHATWG HTML,
// section "Server-sent events").
//
//	handler, err := sse.New(sse.Config{Start: sse.Tasks(o)})
//	http.Handle("/runs", handler)
//
// A client posts a task and reads the events while they happen:
//
//	POST /runs                                   HTTP/1.1 200 OK
//	Content-Type: application/json               Content-Type: text/event-stream
//
//	{"goal": "What is 19.5 + 22.5?"}             id: 0
//
//	                                             id: 1/1
//	                                             event: run_started
//	                                             data: {"run":"…","frame":"0","kind":…,…}
//
// Each event has its kind as its name, and the JSON form of [machine.Event] in one line as its
// data; docs/events.md describes them all. Its id is its position in the run: "7/2" is the second
// event of record 7, in every stream of the run. Events that no journal keeps, such as deltas, have
// the id of the event before them. A stream begins with a block that has only an id, 0 or that of
// the event after which it was asked for, so that a browser has an id to send when it reconnects.
// The last event is run_finished; a
// stream that ends without it was cut off. Lines that begin with a colon are comments, which keep
// the connection alive while nothing happens.
//
// When the client disconnects, the run is stopped now, and its journal, if any, records the stop;
// with [Config].Detached the run continues. A client that reads slowly slows the run down. A run
// that waits for a person is resumed in a new stream; for a run that has ended, that stream holds
// its last event. See [Replies].
//
// # Reconnecting
//
// If the Orchestrator has a Store, a Handler with [Config].Follow lets any number of clients follow
// an existing run, and reconnect to it:
//
//	handler, err := sse.New(sse.Config{
//		Start: sse.Tasks(o), Follow: o, Detached: true, Owner: userOf,
//	})
//	http.Handle("POST /runs", handler)
//	http.Handle("GET /runs/{run}", handler)
//
// A browser's EventSource reconnects by itself when its connection breaks, and sends the id of its
// last event in the header Last-Event-ID. The stream continues after that event, from the journal
// and then live. No event of the journal is lost or repeated, and no second run starts. The event
// step_snapshot replaces what the client has of a reply that was cut, so no text is lost. Following
// neither stops nor slows a run, even while the server is still closing the old connection. A
// client that has all events of a run that has ended gets the status 204 (No Content), which makes
// EventSource stop. Without Follow, every request with a Last-Event-ID gets it.
//
// # Whose runs are whose
//
// Every client that can post can start runs, with any messages. Use other handlers around this one
// to authenticate clients. Pages of other sites are let in by [Config].Origins. The rules here
// decide which runs an authenticated client may name:
//
//	sse.Config{
//		Start: sse.Replies(o),
//		Owner: func(r *http.Request) (string, error) { return userOf(r.Context()) },
//	}
//
// With [Config].Owner the ids of a user's runs and the names of its sessions begin with the user
// and a colon, and a client names no others. With [Config].Authorize your function decides about
// each id. With neither, a client may name no run: otherwise anybody who learns or guesses an id
// could read the conversation of the run and answer its waits. The rules are checked before
// anything of a run that a client names is read or stored. An id from a client must not hold a
// slash.
//
// Runs of several tenants in one store are kept apart by [Config].Namespace: whatever id a client
// of one tenant names, it never reaches a run of another one.
//
// An unknown run, a run that is in use, and a run that the client may not name are refused with the
// same status and body, so that clients cannot probe ids. [Config].OnError gets the reason.
//
// A body must have at most [Config].MaxBody bytes and arrive within [Config].ReadTimeout, so that a
// slow client does not hold resources for long.
//
// # A chat server
//
// The other routes of a chat server are methods of a Handler, under the same rules:
// [Handler.Sessions] (new, list, history; a turn is a task with a session), [Handler.Waits],
// [Handler.Replies], [Handler.Stops] and [Handler.Notes]. With [Handler.Guard] the rules hold for a
// route of your own. docs/web.md has a whole server, with its page.
//
// # Front ends that know turns
//
// [Flat] converts the events of a run to those of a loop of turns, for a front end that knows no
// tree of strategies.
package sse
