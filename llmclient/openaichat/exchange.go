package openaichat

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

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/segue-go/segue/llmclient"
)

// drainTime is how long the end of a stream may take after [DONE]. A connection can be used again
// only if the body was read to its end.
const drainTime = 50 * time.Millisecond

// errIdle is the cause of a context that was canceled because the server sent nothing for too long.
var errIdle = errors.New("openaichat: the server stopped sending")

// exchange is one request and its answer.
type exchange struct {
	client *Client
	parent context.Context // the caller's context
	cancel context.CancelCauseFunc
	ctx    context.Context // derived from parent; also canceled when the server is idle
	timer  *time.Timer     // nil if the server may be idle
	res    *http.Response
	left   int64 // bytes of the answer that may still be read; negative means no limit
}

// post sends the request and waits for the header of an answer with a good status.
func (x *exchange) post(body []byte, stream bool) *llmclient.Error {
	x.ctx, x.cancel = context.WithCancelCause(x.parent)
	x.left = x.client.cfg.MaxResponse
	opts := make([]option.RequestOption, 0, 2)
	opts = append(opts, option.WithRequestBody("application/json", body))
	if stream {
		opts = append(opts, option.WithHeader("Accept", "text/event-stream"))
		x.startTimer(x.client.cfg.IdleTimeout)
	}
	api := openai.Client{Options: x.client.options}
	err := api.Post(x.ctx, "chat/completions", nil, &x.res, opts...)
	x.stopTimer()
	switch {
	case x.res != nil && x.res.StatusCode >= http.StatusMultipleChoices && x.ctx.Err() == nil:
		return x.statusError()
	case err != nil:
		return x.clean(x.failed(err))
	default:
		return nil
	}
}

// endless reports whether nothing but the end of the connection tells the end of the answer, so
// that an answer that was cut between two events looks like a whole one.
func (x *exchange) endless() bool {
	r := x.res
	return r.ProtoMajor == 1 && r.ContentLength < 0 && len(r.TransferEncoding) == 0 && !r.Uncompressed
}

func (x *exchange) startTimer(d time.Duration) {
	if d > 0 {
		x.timer = time.AfterFunc(d, func() { x.cancel(errIdle) })
	}
}

// stopTimer stops the idle timer until the next read.
func (x *exchange) stopTimer() {
	if x.timer != nil {
		x.timer.Stop()
	}
}

// Read reads from the body of the answer, within the limits of time and size.
func (x *exchange) Read(p []byte) (int, error) {
	if x.timer != nil {
		x.timer.Reset(x.client.cfg.IdleTimeout)
		defer x.timer.Stop()
	}
	n, err := x.res.Body.Read(p)
	if x.left < 0 {
		return n, err
	}
	if int64(n) > x.left {
		return int(x.left), &tooLongError{x.client.cfg.MaxResponse}
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
func (x *exchange) drain(r *reading) {
	late := time.AfterFunc(drainTime, func() { x.cancel(errIdle) })
	defer late.Stop()
	for range 16 {
		if r.lo = r.hi; r.fill() != nil {
			return
		}
	}
}

func (x *exchange) close() {
	if x.res != nil && x.res.Body != nil {
		_ = x.res.Body.Close()
	}
	if x.cancel != nil {
		x.stopTimer()
		x.cancel(nil)
	}
}

// statusError returns the error of an answer with an error status, or of a redirect.
func (x *exchange) statusError() *llmclient.Error {
	body, _ := io.ReadAll(io.LimitReader(x.res.Body, maxErrorBody))
	wire := readError(body)
	err := wire.error(x.res.StatusCode)
	switch {
	case x.res.StatusCode < http.StatusBadRequest && x.res.Header.Get("Location") != "":
		err.Message = "the server redirects" + redirectTarget(x.res) + ", and that is not followed; set the address that answers as the base URL"
	case err.Message == "":
		err.Message = http.StatusText(x.res.StatusCode)
	}
	return x.clean(err)
}

// clean adds details of the answer to an error, and removes secrets from it.
func (x *exchange) clean(err *llmclient.Error) *llmclient.Error {
	hidden := append(secrets(nil), x.client.secrets...)
	if x.res != nil {
		err.Status = x.res.StatusCode
		err.RequestID = requestID(x.res.Header)
		err.RetryAfter = retryAfter(x.res.Header, time.Now())
		if req := x.res.Request; req != nil {
			hidden.addHeader(req.Header)
			hidden.addURL(req.URL)
		}
	}
	if hint := x.hint(err); hint != "" {
		err.Message = strings.TrimPrefix(clip(err.Message, maxMessage)+" ("+hint+")", " ")
	}
	hidden.clean(err)
	err.Message, err.Type, err.RequestID = clip(err.Message, maxMessage), clip(err.Type, maxWord), clip(err.RequestID, maxWord)
	return err
}

// broken converts an error of reading the answer.
func (x *exchange) broken(err error) *llmclient.Error {
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
func (x *exchange) failed(err error) *llmclient.Error {
	if x.parent.Err() != nil {
		return canceled(x.parent)
	}
	if errors.Is(context.Cause(x.ctx), errIdle) {
		return &llmclient.Error{
			Code:    llmclient.CodeTimeout,
			Message: fmt.Sprintf("the server sent nothing for %v, the idle timeout", x.client.cfg.IdleTimeout),
			NoRetry: true, // a model that thinks for so long does so again
			Err:     errIdle,
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
