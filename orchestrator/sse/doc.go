// Package sse streams runs to browsers and other HTTP clients as server-sent events (WHATWG HTML,
// section "Server-sent events").
//
//	handler, err := sse.New(sse.Config{Start: sse.Tasks(o)})
//	http.Handle("/runs", handler)
//
// A client posts a task and reads what happens while it happens:
//
//	POST /runs                                   HTTP/1.1 200 OK
//	Content-Type: application/json               Content-Type: text/event-stream
//
//	{"goal": "What is 19.5 + 22.5?"}             id: 0
//
//	                                             id: 1/1
//	                                             event: run_started
//	                                             data: {"run":"…","frame":"0","depth":1,"kind":"run_started",…}
//
// Each event has its kind as its name, and the JSON form of [orchestrator.Event] in one line as its
// data; docs/events.md describes them all. Its id says where in the run it stands: "7/2" is the
// second event of record 7, in whichever stream of the run. A number alone is that of the record
// after which the event came, as of deltas, which share it. A stream begins with the id 0 alone,
// which is that of no event. The last event is run_finished; a stream that ends without it was cut
// off. Lines that begin with a colon are comments, which keep the connection alive while nothing
// happens.
//
// When the client goes away the run is stopped now, and its journal says so, if it has one; see
// [Start] for runs that go on without it. A client that reads slowly slows the run down. Nothing is
// kept of a stream, so it cannot be taken up again in the middle: a request with a Last-Event-ID,
// which is how a browser's EventSource asks again by itself once it has an id, is answered 204 (No
// Content), which has it stop asking, and starts no second run. A connection that breaks before the
// response has begun leaves the client without one, and to ask again is then another request. A run
// that waits for somebody goes on in a stream of its own, where the end of one that has ended is
// told as well; see [Replies].
//
// # Whose runs are whose
//
// Whoever can post can make runs, and say anything in their messages. Who can post, and what other
// sites may do, is for the handlers around this one. What such a handler has found out decides
// which runs a client may name:
//
//	sse.Config{
//		Start: sse.Replies(o),
//		Owner: func(r *http.Request) (string, error) { return userOf(r.Context()) },
//	}
//
// With [Config].Owner the ids of a user's runs begin with the user and a colon, and a client names
// no others. With [Config].Authorize a function of your own decides about each id. With neither, a
// client names no run: a run could be named by whoever learns or guesses the id, and to name a run
// is to read its conversation and to answer its waits. The rules are asked before anything of the
// run is read or stored. No id that a client names holds a slash.
//
// A run that is unknown, one that is taken and one that the client may not name are refused alike,
// with the same status and body: ids cannot be probed. [Config].OnError hears the reason.
//
// A body has [Config].MaxBody bytes at most and comes within [Config].ReadTimeout, so that a client
// that sends slowly or not at all holds nothing for long.
package sse
