package mcptools

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
)

// lastReply is how the address of a server answered the last request that has a body, nil if there
// was no reply. The errors of the SDK do not say it.
type lastReply struct{ atomic.Pointer[reply] }

type reply struct {
	status    int
	sse       bool   // it may be one of the transport before streamable HTTP, to which a client posts elsewhere
	mediaType string // "" if it has none
}

func (l *lastReply) note(r *http.Request, res *http.Response) {
	if r.Method != http.MethodPost {
		return
	}
	mediaType, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		mediaType = ""
	}
	sse := res.StatusCode == http.StatusMethodNotAllowed || res.StatusCode == http.StatusNotFound && strings.HasSuffix(r.URL.Path, "/sse")
	l.Store(&reply{res.StatusCode, sse, mediaType})
}

// errNoServer is the reason why something at an address is not connected with: it does not speak
// MCP.
var errNoServer = errors.New("it is no MCP server")

// undecoded is in the text of the SDK's error for a reply that is not JSON-RPC. It has no type.
const undecoded = "failed to decode response"

// why returns a plain error for a reply that no MCP server gives, and else err. The text of err is
// left out, because it is a chain of what the SDK tried; it is still the cause.
func (l *lastReply) why(err error) error {
	last := l.Load()
	if last == nil {
		return err
	}
	status, mediaType, sse := last.status, last.mediaType, last.sse
	const look = "; look at its URL"
	say := func(format string, args ...any) error {
		return &cause{text: fmt.Sprintf(format, args...), err: errors.Join(errNoServer, err)}
	}
	isMCP := mediaType == "application/json" || mediaType == "text/event-stream"
	code := fmt.Sprintf("it answered with the status %d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return say("%s; look at the keys in its Headers", code)
	case status >= http.StatusInternalServerError && !isMCP:
		return say("%s", code)
	case sse && !isMCP:
		return say("%s; it may speak the old transport SSE, which is not supported: give the URL for streamable HTTP, which often ends with /mcp", code)
	case status >= http.StatusBadRequest && !isMCP:
		return say("%s%s", code, look)
	case status < http.StatusMultipleChoices && mediaType == "":
		return say("it answered with nothing that is MCP%s", look)
	case status < http.StatusMultipleChoices && !isMCP:
		return say("it answered with %.80s, so it is no MCP server%s", mediaType, look)
	case status < http.StatusMultipleChoices && strings.Contains(err.Error(), undecoded):
		return say("it answered with JSON that is not MCP%s", look)
	default:
		return err
	}
}
