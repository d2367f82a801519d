package wire

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/llmclient"
)

// Limits in bytes of provider text in our errors. Texts are cut after secrets were removed: half a
// secret would not be found.
const (
	maxMessage   = 2000
	maxWord      = 200
	maxQuoted    = 64 << 10 // of a body that is not JSON, before secrets are removed
	maxErrorBody = 1 << 20  // of an answer with an error status
)

// ErrorBody is an error object of any provider, as far as it can be read. Known bodies:
// {"error":{"message","type","code"}}, {"error":"text"}, {"detail":"text"}, {"detail":[{"msg"}]},
// {"message":"text"}, a list of one of these, and plain text. Of several waits the longest counts.
type ErrorBody struct {
	Message   string
	kind      string // "type", or the word in "status"
	code      string
	inner     string        // innererror.code: Azure; details.error_code: Anthropic
	Status    int           // an HTTP status inside the body; 0 if there is none
	flagged   bool          // metadata.flagged_input: OpenRouter's moderation
	generated string        // failed_generation: Groq
	wait      time.Duration // retryDelay, a text, in the list details: Google; retry_after, in seconds: gateways
}

// ReadError reads an error body. It never fails: a body that is not JSON is the message.
func ReadError(body []byte) ErrorBody {
	var tree any
	if json.Unmarshal(body, &tree) != nil {
		return ErrorBody{Message: plainText(string(body))}
	}
	var e ErrorBody
	e.read(tree, 8)
	return e
}

// read reads the fields of a value and, up to depth levels down, of the values nested in it.
func (e *ErrorBody) read(v any, depth int) {
	if depth == 0 {
		return
	}
	switch v := v.(type) {
	case string:
		e.addMessage(v)
	case []any:
		for _, element := range v {
			e.read(element, depth-1)
		}
	case map[string]any:
		e.read(v["error"], depth-1)
		e.read(v["errors"], depth-1)
		e.read(v["detail"], depth-1)
		for _, name := range [...]string{"message", "msg"} {
			if s, ok := v[name].(string); ok {
				e.addMessage(s)
			}
		}
		e.fields(v)
	}
}

func (e *ErrorBody) fields(m map[string]any) {
	e.kind = cmp.Or(e.kind, word(m["type"]), word(m["status"]))
	e.code = cmp.Or(e.code, word(m["code"]))
	for _, name := range [...]string{"status_code", "status", "code"} {
		e.Status = cmp.Or(e.Status, httpStatus(m[name]))
	}
	if inner, ok := m["innererror"].(map[string]any); ok {
		e.inner = word(inner["code"])
	}
	switch details := m["details"].(type) {
	case map[string]any:
		e.inner = cmp.Or(e.inner, word(details["error_code"]))
	case []any:
		for _, detail := range details {
			if detail, ok := detail.(map[string]any); ok {
				e.asks(detail)
			}
		}
	}
	e.asks(m)
	if s, ok := m["failed_generation"].(string); ok {
		e.generated = s
	}
	if meta, ok := m["metadata"].(map[string]any); ok {
		_, e.flagged = meta["flagged_input"]
		if raw, ok := meta["raw"].(string); ok {
			inner := ReadError([]byte(raw))
			e.addMessage(inner.Message)
			e.wait = max(e.wait, inner.wait)
		}
	}
}

// asks reads how long a field asks to wait.
func (e *ErrorBody) asks(m map[string]any) {
	if s, ok := m["retryDelay"].(string); ok {
		e.wait = max(e.wait, waitIn("retryDelay:"+s))
	}
	if s, ok := m["retry_after"].(float64); ok {
		e.wait = max(e.wait, wait(s*float64(time.Second)))
	}
}

// addMessage adds a text to the message unless the message contains it.
func (e *ErrorBody) addMessage(text string) {
	switch text = strings.TrimSpace(text); {
	case text == "" || len(e.Message) > maxMessage || strings.Contains(e.Message, text):
	case e.Message == "":
		e.Message = text
	default:
		e.Message += "; " + text
	}
}

// word returns a text that is not a number.
func word(v any) string {
	s, _ := v.(string)
	if _, err := strconv.Atoi(s); err == nil {
		return ""
	}
	return s
}

func httpStatus(v any) int {
	n := 0
	switch v := v.(type) {
	case float64:
		n = int(v)
	case string:
		n, _ = strconv.Atoi(v)
	}
	if n < 400 || n > 599 {
		return 0
	}
	return n
}

// plainText makes one short line of a body that is not JSON. It keeps nothing of an HTML page.
func plainText(body string) string {
	body = strings.ToValidUTF8(strings.TrimSpace(body[:min(len(body), maxQuoted)]), "\ufffd")
	if strings.HasPrefix(body, "<") {
		return ""
	}
	return strings.Join(strings.Fields(body), " ")
}

// ErrorFromJSON converts an error object in an answer of status 200. A status within the object
// counts, if there is one.
func ErrorFromJSON(raw []byte) *llmclient.Error {
	e := ReadError(raw)
	return e.AsError(e.Status)
}

// AsError converts e to an *llmclient.Error; status is the provider's status, or 0 if there is
// none.
func (e *ErrorBody) AsError(status int) *llmclient.Error {
	err := &llmclient.Error{
		Code:       e.classify(status),
		Type:       cmp.Or(e.code, e.kind),
		Message:    e.Message,
		RetryAfter: max(e.wait, waitIn(textcut.Short(e.Message, maxMessage))),
	}
	if err.Code == llmclient.CodeMalformedToolCall {
		err.Generated = e.generated
	}
	return err
}
