package llmclient

import (
	"context"
	"errors"
	"slices"
)

// Candidate is one client of a [Fallback].
type Candidate struct {
	Client Client
	Model  string // replaces Request.Model; "" keeps it
}

// FallbackConfig says when [Fallback] asks its next candidate. The zero value is ready to use.
type FallbackConfig struct {
	// On lists the codes after which the next candidate is asked; "" stands for errors that are not
	// an [*Error] and have no code. Nil means all codes except four: canceled; bad_request, because
	// the request is wrong; malformed_tool_call, because the model must be told; and
	// content_filter, because a refusal should not be avoided by asking another model.
	On []Code

	// AfterOutput also asks the next candidate if the reply broke off after parts of it were passed
	// to onDelta. Discard of the Notice is then set: code that shows the parts must remove them.
	AfterOutput bool
}

// Fallback returns a Client that asks the candidates in order. It stops when one replies, fails
// with a code that is not in cfg.On, or is cut off in the middle of its output. It keeps no state
// between calls.
//
// Each candidate that failed is reported as [NoticeFallback], and listed, with its own attempts, in
// Response.Attempts or Error.Attempts, in order of time. If all fail, the error is that of the
// last. Once ctx is done, no further candidate is asked. Fallback copies errors and responses
// before it adds to them. It passes on the request unchanged, or a copy with another Model.
func Fallback(candidates []Candidate, cfg FallbackConfig) Client {
	return &fallback{candidates: slices.Clone(candidates), cfg: cfg}
}

type fallback struct {
	candidates []Candidate
	cfg        FallbackConfig
}

// Unwrap returns the first candidate's client.
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

// next reports whether to ask the next candidate after err.
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

// done returns the outcome of a call whose ctx was done when its last try failed with err. It
// returns err if err says so, or else an error that does.
func done(ctx context.Context, model string, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return gaveUp(ctx, model, "turning to another client", err)
}
