package llmclient

// NativeCaller is a [Client] that knows of its server whether it returns tool calls as such. A
// server that does never leaves a call in the text of a reply, and whatever looks like one is text.
type NativeCaller interface {
	CallsNatively(req *Request) bool
}

// CallsNatively reports whether a client, or the one that it wraps, is a [NativeCaller] that says
// so of a request. A [Router] asks the client of the model, and a [Fallback] all of its candidates.
func CallsNatively(c Client, req *Request) bool {
	n, ok := As[NativeCaller](c)
	return ok && n.CallsNatively(req)
}

// CallsNatively implements [NativeCaller].
func (r Router) CallsNatively(req *Request) bool {
	c, ok := r[req.Model]
	if !ok {
		c = r[""]
	}
	return CallsNatively(c, req)
}

// CallsNatively implements [NativeCaller].
func (f *fallback) CallsNatively(req *Request) bool {
	for _, c := range f.candidates {
		if !CallsNatively(c.Client, c.request(req)) {
			return false
		}
	}
	return true
}

// StopTaker is a [Client] that knows whether its server takes stop sequences ([Request].Stop). All
// other clients are asked with them.
type StopTaker interface{ TakesStop() bool }
