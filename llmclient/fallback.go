package llmclient

import (
	"context"
	"errors"
	"slices"
)

// Candidate is one client of a [Fallback].
type Candidate struct {
	Client Client
	Model  string // asked for in place of Request.Model; "" leaves that
}

// FallbackConfig says when [Fallback] turns to its next candidate. The zero value is good for use.
type FallbackConfig struct {
	// On lists the codes after which the next candidate is asked; "" stands for errors that are no
	// [*Error] and have no code of their own. nil means all codes but those where the answer of
	// another would be no help or would hide what the caller must see: canceled, bad_request (the
	// request is at fault), malformed_tool_call (the model must be told), content_filter (a refusal
	// is not to be shopped around).
	On []Code

	// AfterOutput also turns to the next candidate when the reply broke off after parts of it were
	// handed to onDelta. The Notice then has Discard set: whoever shows the parts must drop them.
	AfterOutput bool
}

// Fallback returns a Client that asks the candidates in order until one replies, fails with a code
// that is not in cfg.On, or was cut off in the middle of its output. Nothing is remembered from
// call to call.
//
// Each candidate that failed is told as [NoticeFallback], and listed in Response.Attempts or
// Error.Attempts together with what it lists itself, in order of time; when all have failed, the
// error is the last one's. Once ctx is done, no further candidate is asked. Errors and responses
// are copied where something is added, never changed. The request is handed on as it is, or as a
// copy with another Model.
func Fallback(candidates []Candidate, cfg FallbackConfig) Client {
	return &fallback{candidates: slices.Clone(candidates), cfg: cfg}
}

type fallback struct {
	candidates []Candidate
	cfg        FallbackConfig
}

// Unwrap returns the client that is asked first.
func (f *fallback) Unwrap() Client {
	if len(f.candidates) == 0 {
		return nil
	}
	return f.candidates[0].Client
}

// Complete asks one candidate after another.
func (f *fallback) Complete(ctx context.Context, req *Request, onDelta func(Delta)) (*Response, error) {
	var attempts []Attempt
	for i, c := range f.candidates {
		output, asked := false, c.request(req)
		resp, err := ask(ctx, c.Client, asked, noteOutput(onDelta, &output))
		if err == nil {
			return responseAfter(attempts, resp), nil
		}
		if i+1 == len(f.candidates) || !f.next(err, output) {
			return nil, errorAfter(attempts, err)
		}
		if ctx.Err() != nil {
			return nil, errorAfter(attempts, done(ctx, asked.Model, err))
		}
		attempts = failed(attempts, asked.Model, err)
		Notify(ctx, Notice{Kind: NoticeFallback, Model: asked.Model, Attempt: i + 1, Err: err, Discard: output})
	}
	return nil, &Error{Code: CodeNotFound, Model: req.Model, Message: "a fallback without candidates"}
}

func (c Candidate) request(req *Request) *Request {
	if c.Model == "" {
		return req
	}
	own := *req
	own.Model = c.Model
	return &own
}

// next reports whether the next candidate is to be asked after err.
func (f *fallback) next(err error, output bool) bool {
	if output && !f.cfg.AfterOutput {
		return false
	}
	code := classify(err)
	if f.cfg.On != nil {
		return slices.Contains(f.cfg.On, code)
	}
	switch code {
	case CodeCanceled, CodeBadRequest, CodeMalformedToolCall, CodeContentFilter:
		return false
	default:
		return true
	}
}

// done returns the outcome of a call whose ctx was done when its last try had failed with err: err,
// if that says so, or else an error that does.
func done(ctx context.Context, model string, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return gaveUp(ctx, model, "turning to another client", err)
}
