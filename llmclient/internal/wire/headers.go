package wire

import "net/http"

// requestID returns the server's id of the request.
func requestID(h http.Header) string {
	for _, name := range [...]string{"X-Request-Id", "Apim-Request-Id", "Request-Id", "X-Amzn-Requestid"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}
