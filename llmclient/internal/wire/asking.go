package wire

import (
	"context"
	"net/http"
	"regexp"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// Asking says how a client asks.
type Asking struct {
	Package string // of the client, named by errors
	Model   string // asked where a request names none
	Retries int    // how often a request is made again after a temporary error; 0 or less means never

	// Once makes one request to a model.
	Once func(ctx context.Context, req *llmclient.Request, model string, onDelta func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error)

	leftOut *Refused // tools that are not sent
	whole   *Refused // models that cannot stream
}

// Client returns the client. Its errors and its responses name the model that was asked.
func (a Asking) Client() llmclient.Client {
	a.leftOut, a.whole = &Refused{}, &Refused{}
	client := llmclient.Client(llmclient.ClientFunc(a.once))
	if a.Retries > 0 {
		client = llmclient.Retry(client, llmclient.RetryConfig{MaxAttempts: a.Retries + 1, AfterOutput: true})
	}
	return client
}

func (a Asking) once(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	model := req.Model
	if model == "" {
		model = a.Model
	}
	if model == "" {
		return nil, &llmclient.Error{Code: llmclient.CodeBadRequest, Message: a.Package + ": no model: set Request.Model or Config.Model"}
	}
	alive := ctx.Err() == nil
	resp, err := a.ask(ctx, req, model, onDelta)
	if err == nil {
		if resp.Usage == (messages.Usage{}) {
			resp.Usage = estimated(resp.Usage, resp.Message)
			withInput(&resp.Usage, req)
		}
		if err = astray(resp.Message.Calls()); err != nil {
			err.Partial, err.Usage, err.Attempts = resp.Message, resp.Usage, resp.Attempts
		}
	}
	if err != nil {
		gaveUp := alive && (err.Code == llmclient.CodeCanceled || err.Code == llmclient.CodeTimeout)
		if gaveUp || err.Usage.Output > 0 { // the provider has read the request
			withInput(&err.Usage, req)
		}
		if err.Model == "" {
			err.Model = model
		}
		return nil, err
	}
	if resp.Model != model {
		resp.Asked = model
	}
	return resp, nil
}

// aboutStreams is how servers refuse a stream.
var aboutStreams = regexp.MustCompile(`(?i)\bstream(s|ed|ing|_options)?\b`)

// refusesStream reports whether a server has refused a request because it asks for a stream.
func refusesStream(err *llmclient.Error) bool {
	return err != nil && err.Status >= http.StatusBadRequest && err.Status <= http.StatusNotImplemented && err.Status != http.StatusTooManyRequests &&
		len(err.Partial.Content) == 0 && aboutStreams.MatchString(err.Message)
}
