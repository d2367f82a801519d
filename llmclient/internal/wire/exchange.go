package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/llmclient"
)

// The defaults of the limits of every client.
const (
	DefaultIdleTimeout = 2 * time.Minute
	DefaultMaxRetries  = 3
	DefaultMaxResponse = 64 << 20
)

// drainTime is how long the end of a stream may take after its end mark. A connection can be used
// again only if the body was read to its end.
const drainTime = 50 * time.Millisecond

// Server is what all exchanges of one client have in common. It is read-only once the first one has
// begun.
type Server struct {
	Package     string        // of the client, named by errors
	BaseURL     string        // the address of the server
	Path        string        // what is asked, below the base URL
	Key         bool          // a key is configured
	NoKey       string        // what to do where no key was sent, such as "set APIKey"
	IdleTimeout time.Duration // the longest silence in a stream; 0 or less means none
	MaxResponse int64         // the greatest size of an answer in bytes; negative means no limit
	KeepRaw     bool          // Response.Raw is the answer
	Secrets     Secrets       // beside those in the headers and the URL of a request
}

// idleError is the cause of a context that was canceled because the server sent nothing for too
// long.
type idleError struct{ client string }

func (e *idleError) Error() string { return e.client + ": the server stopped sending" }

// Exchange is one request and its answer. Close it.
type Exchange struct {
	server *Server
	parent context.Context // the caller's context
	cancel context.CancelCauseFunc
	ctx    context.Context // derived from parent; also canceled when the server is idle
	timer  *time.Timer     // nil if the server may be idle
	res    *http.Response
	left   int64 // bytes of the answer that may still be read; negative means no limit
	kept   []byte
	events bool // kept is a list of events
}

// Exchange returns an exchange with the server.
func (s *Server) Exchange(ctx context.Context) *Exchange { return &Exchange{server: s, parent: ctx} }

// Send sends the request and waits for the header of an answer with a good status. The function
// send returns an answer with any status, if there is one, whether or not it also returns an error.
func (x *Exchange) Send(stream bool, send func(context.Context) (*http.Response, error)) *llmclient.Error {
	x.ctx, x.cancel = context.WithCancelCause(x.parent)
	x.left = x.server.MaxResponse
	if stream {
		x.startTimer(x.server.IdleTimeout)
	}
	res, err := send(x.ctx)
	x.res = res
	x.stopTimer()
	switch {
	case res != nil && res.StatusCode >= http.StatusMultipleChoices && x.ctx.Err() == nil:
		return x.statusError()
	case err != nil:
		return x.Clean(x.failed(err))
	default:
		return nil
	}
}

// Endless reports whether nothing but the end of the connection tells the end of the answer, so
// that an answer that was cut between two events looks like a whole one.
func (x *Exchange) Endless() bool {
	r := x.res
	return r.ProtoMajor == 1 && r.ContentLength < 0 && len(r.TransferEncoding) == 0 && !r.Uncompressed
}

func (x *Exchange) startTimer(d time.Duration) {
	if d > 0 {
		x.timer = time.AfterFunc(d, func() { x.cancel(&idleError{x.server.Package}) })
	}
}

// stopTimer stops the idle timer until the next read.
func (x *Exchange) stopTimer() {
	if x.timer != nil {
		x.timer.Stop()
	}
}

// Read reads from the body of the answer, within the limits of time and size.
func (x *Exchange) Read(p []byte) (int, error) {
	if x.timer != nil {
		x.timer.Reset(x.server.IdleTimeout)
		defer x.timer.Stop()
	}
	n, err := x.res.Body.Read(p)
	if x.left < 0 {
		return n, err
	}
	if int64(n) > x.left {
		return int(x.left), &tooLongError{x.server.MaxResponse}
	}
	x.left -= int64(n)
	return n, err
}

// tooLongError reports that an answer is longer than the config allows.
type tooLongError struct{ most int64 }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("the answer is longer than the %d bytes of MaxResponse", e.most)
}

// drain reads the rest of the body, if it arrives at once.
func (x *Exchange) drain(r *Reader) {
	late := time.AfterFunc(drainTime, func() { x.cancel(&idleError{x.server.Package}) })
	defer late.Stop()
	for range 16 {
		if r.lo = r.hi; r.fill() != nil {
			return
		}
	}
}

// Close ends the exchange. It can be called again, and before Send.
func (x *Exchange) Close() {
	if x.res != nil && x.res.Body != nil {
		_ = x.res.Body.Close()
	}
	if x.cancel != nil {
		x.stopTimer()
		x.cancel(nil)
	}
}

// statusError returns the error of an answer with an error status, or of a redirect.
func (x *Exchange) statusError() *llmclient.Error {
	x.left = maxErrorBody
	body, _ := io.ReadAll(x) // what has come until the limits of time and size
	read := ReadError(body)
	err := read.AsError(x.res.StatusCode)
	switch {
	case x.res.StatusCode < http.StatusBadRequest && x.res.Header.Get("Location") != "":
		err.Message = "the server redirects" + redirectTarget(x.res) + ", and that is not followed; set the address that answers as the base URL"
	case err.Message == "":
		err.Message = http.StatusText(x.res.StatusCode)
	}
	return x.Clean(err)
}

// Clean adds details of the answer to an error, and removes secrets from it.
func (x *Exchange) Clean(err *llmclient.Error) *llmclient.Error {
	hidden := append(Secrets(nil), x.server.Secrets...)
	if x.res != nil {
		err.Status = x.res.StatusCode
		err.RequestID = requestID(x.res.Header)
		// Of a wait in the header and one in the body the longer counts: a header may be that of a
		// gateway, or of the shortest of several limits, and who asks too early is refused again.
		err.RetryAfter = max(err.RetryAfter, retryAfter(x.res.Header, time.Now()))
		if req := x.res.Request; req != nil {
			hidden.addHeader(req.Header)
			hidden.addURL(req.URL)
		}
	}
	hidden.clean(err) // before a text is cut within a secret
	if hint := x.hint(err); hint != "" {
		err.Message = strings.TrimPrefix(textcut.Short(err.Message, maxMessage)+" ("+hint+")", " ")
	}
	hidden.clean(err)
	err.Message, err.Type, err.RequestID = textcut.Short(err.Message, maxMessage), textcut.Short(err.Type, maxWord), textcut.Short(err.RequestID, maxWord)
	return err
}

// requestID returns the server's id of the request.
func requestID(h http.Header) string {
	for _, name := range [...]string{"X-Request-Id", "Apim-Request-Id", "Request-Id", "X-Amzn-Requestid"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// broken converts an error of reading the answer.
func (x *Exchange) broken(err error) *llmclient.Error {
	failed := x.failed(err)
	if failed.Code == llmclient.CodeBadRequest {
		failed.Code = llmclient.CodeUnavailable
	}
	if failed.Code == llmclient.CodeUnavailable {
		failed.Message = "the connection broke while the answer came: " + failed.Message
	}
	return failed
}

// failed converts an error of sending or reading.
func (x *Exchange) failed(err error) *llmclient.Error {
	if x.parent.Err() != nil {
		return canceled(x.parent)
	}
	if idle, ok := errors.AsType[*idleError](context.Cause(x.ctx)); ok {
		return &llmclient.Error{
			Code:    llmclient.CodeTimeout,
			Message: fmt.Sprintf("the server sent nothing for %v, the idle timeout", x.server.IdleTimeout),
			NoRetry: true, // a model that thinks for so long does so again
			Err:     idle,
		}
	}
	if tooLong, ok := errors.AsType[*tooLongError](err); ok {
		return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: tooLong.Error()}
	}
	code := transportCode(err)
	if isRedirect(err) {
		return &llmclient.Error{Code: llmclient.CodeNotFound, Message: "the server redirects to an address that cannot be read; check the base URL"}
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // the URL may contain a key
	}
	return &llmclient.Error{Code: code, Message: err.Error(), Err: err}
}

// canceled returns the error of a context that is done. It wraps both the context's error and its
// cause.
func canceled(ctx context.Context) *llmclient.Error {
	code := llmclient.CodeCanceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = llmclient.CodeTimeout
	}
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	} else {
		err = cause
	}
	return &llmclient.Error{Code: code, Err: err}
}

// transportCode distinguishes a broken connection from a request that could not be made.
func transportCode(err error) llmclient.Code {
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return llmclient.CodeTimeout
	case network != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return llmclient.CodeUnavailable
	default:
		return llmclient.CodeBadRequest
	}
}

// BoundErrors is a middleware that limits the bodies of errors, which an SDK reads whole.
func BoundErrors(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if err == nil && res != nil && res.StatusCode >= http.StatusBadRequest && res.Body != nil {
		res.Body = &limitedBody{Reader: io.LimitReader(res.Body, maxErrorBody), Closer: res.Body}
	}
	return res, err
}

type limitedBody struct {
	io.Reader
	io.Closer
}
