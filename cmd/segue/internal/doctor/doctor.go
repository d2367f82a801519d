// Package doctor examines the server of a model: it makes a few small requests and says what works,
// and what to set. It has the model call a tool in each way that fits, with the result and the
// answer after it, and recommends by what worked.
package doctor

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// DefaultTimeout is the Timeout of a [Config] without one.
const DefaultTimeout = time.Minute

// Config says what to examine.
type Config struct {
	Client      endpoint.Client   // the server and the model; its HTTPClient is not used
	KeyVariable string            // the environment variable of the key; "": no key is sent
	Policy      string            // the text formats for tool calls that are set, with commas between them; "": none
	Timeout     time.Duration     // of one request; 0: DefaultTimeout. All together take at most four times as long
	Transport   http.RoundTripper // nil: a copy of http.DefaultTransport that keeps no connections
}

// maxTokens limits each reply. Thoughts count, so that it must not be small.
const maxTokens = 1500

// examiner makes the requests, one at a time.
type examiner struct {
	cfg      Config
	ended    func() bool // the caller has given up
	wire     *recorder
	client   llmclient.Client
	options  []option.RequestOption // for the list of models
	tell     func(Check)
	report   Report
	found    map[string]bool
	unbound  bool // the server refuses a limit of tokens
	timeouts int  // requests that were not answered in time
	stopped  bool // what follows makes no sense
	replied  bool // a reply came
	passed   bool // a failure of the moment kept a way from being tried
	last     answer

	question messages.History // that of the first reply
	noSchema bool             // answers by a schema do not work
	apart    bool             // thoughts came apart from the text
	inText   bool             // thoughts stood in the text
	ways     []Way            // the first is that of the server
	own      answer           // the last one of the server's own way
}

// Examine examines a server. tell is called with each check when it is done; it may be nil. The
// error is one of the Config; whatever the server does is in the report. If parent ends,
// the report has only the checks that were done before.
func Examine(parent context.Context, cfg Config, tell func(Check)) (Report, error) {
	x, err := newExaminer(cfg, tell)
	if err != nil {
		return Report{}, err
	}
	began := time.Now()
	x.ended = func() bool { return parent.Err() != nil }
	ctx, cancel := context.WithTimeout(parent, 4*x.cfg.Timeout)
	defer cancel()
	x.checkServer(ctx)
	for _, c := range []struct {
		name string
		do   func(context.Context, *check)
	}{
		{"streaming", x.checkStreaming},
		{"structured output", x.checkSchema},
		{"tool calls", x.checkTools},
		{"tool results", x.checkResults},
		{"calls as text", x.checkText},
		{"thoughts", x.checkThoughts},
	} {
		k := x.begin(c.name)
		if x.stopped || x.timeouts > 1 || ctx.Err() != nil {
			k.skip("not asked")
		} else {
			c.do(ctx, k)
		}
		k.end()
	}
	x.report.Elapsed, x.report.Ways = time.Since(began), x.ways
	if len(x.ways) > 0 {
		x.report.Choice = x.choice(ctx)
	}
	if price, ok := llmclient.KnownPrices().Of(cfg.Client.Model); ok {
		cost := price.Cost(x.report.Usage)
		x.report.Cost = &cost
	}
	return x.report, nil
}

func newExaminer(cfg Config, tell func(Check)) (*examiner, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	x := &examiner{cfg: cfg, tell: tell, ended: func() bool { return false }, found: map[string]bool{}, ways: []Way{}}
	if x.tell == nil {
		x.tell = func(Check) {}
	}
	x.report = Report{Server: Shown(cfg.Client.BaseURL), Model: cfg.Client.Model, Verdict: OK}
	next := cfg.Transport
	if t, ok := http.DefaultTransport.(*http.Transport); ok && next == nil {
		own := t.Clone()
		own.DisableKeepAlives = true // some servers close a connection just when it is used again
		next = own
	}
	x.wire = &recorder{next: next}
	settings := cfg.Client
	settings.HTTPClient = &http.Client{Transport: x.wire}
	settings.IdleTimeout, settings.MaxRetries = cfg.Timeout, -1
	x.options = listOptions(settings, x.wire)
	var err error
	x.client, err = settings.New()
	return x, err
}

// Shown returns an address without user, password and query.
func Shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// answer is what came of one request to the model.
type answer struct {
	resp   *llmclient.Response // nil if there is an error
	err    *llmclient.Error
	x      *exchange // never nil
	deltas int       // of text
}

// text returns the text of the reply.
func (a answer) text() string {
	if a.resp == nil {
		return ""
	}
	return a.resp.Message.Text()
}

// onlyThoughts reports whether a reply ends at its limit of tokens before it says anything.
func (a answer) onlyThoughts() bool {
	return a.resp.Finish == llmclient.FinishLength && strings.TrimSpace(a.text()) == "" && len(a.resp.Message.Calls()) == 0
}

// patience limits how long a rate limit is waited for.
const patience = 10 * time.Second

// ask makes a request. It repeats one that was refused for its limit of tokens, or whose thoughts
// did not fit it, and once one that came too early.
func (x *examiner) ask(ctx context.Context, req llmclient.Request, streamed bool) answer {
	for waited := false; ; {
		a := x.askOnce(ctx, req, streamed)
		switch {
		case a.err == nil && !x.unbound && a.onlyThoughts():
			x.unbound = true
			continue
		case a.err == nil:
			x.heard(a)
		case a.err.Code == llmclient.CodeBadRequest && !x.unbound && bytes.Contains(a.x.body, []byte("max_")):
			x.unbound = true
			continue
		case a.err.Code == llmclient.CodeRateLimited && !waited && a.err.RetryAfter <= patience:
			waited = true
			select {
			case <-ctx.Done():
			case <-time.After(max(a.err.RetryAfter, time.Second)):
				continue
			}
		case a.err.Code == llmclient.CodeTimeout:
			x.timeouts++
		}
		x.last = a
		return a
	}
}

// heard notes where the thoughts of a reply stand.
func (x *examiner) heard(a answer) {
	x.replied = true
	text := strings.TrimSpace(a.text())
	x.inText = x.inText || strings.HasPrefix(text, "<think>") || strings.Contains(text, "</think>")
	x.apart = x.apart || slices.ContainsFunc(a.resp.Message.Content, func(part messages.AssistantContent) bool {
		_, ok := part.(messages.Thought)
		return ok
	})
}

func (x *examiner) askOnce(ctx context.Context, req llmclient.Request, streamed bool) answer {
	if req.MaxTokens = maxTokens; x.unbound {
		req.MaxTokens = 0
	}
	a := answer{x: &exchange{}}
	patient := x.cfg.Timeout // with a whole answer
	var onDelta func(llmclient.Delta)
	if streamed {
		patient += time.Second // the idle timeout comes first
		onDelta = func(d llmclient.Delta) {
			if d.Kind == llmclient.DeltaText && d.Text != "" {
				a.deltas++
			}
		}
	}
	x.wire.take()
	limited, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	resp, err := x.client.Complete(limited, &req, onDelta)
	a.resp = resp
	if e, ok := errors.AsType[*llmclient.Error](err); ok {
		a.err = e
		if limited.Err() != nil && ctx.Err() == nil {
			e.Code = llmclient.CodeTimeout
		}
		x.report.Usage = x.report.Usage.Add(e.Usage)
	} else if resp != nil {
		x.report.Usage = x.report.Usage.Add(resp.Usage)
	}
	for _, hop := range x.wire.take() {
		if a.x = hop; hop.location == nil {
			x.report.Requests++
		}
	}
	return a
}

// clean makes one short line of a text of the server, without the key.
func (x *examiner) clean(text string) string {
	if key := x.cfg.Client.APIKey; len(key) >= 6 {
		text = strings.ReplaceAll(text, key, "[key]")
	}
	return plaintext.Head(plaintext.OneLine(text), 200)
}

// check is a check at work.
type check struct {
	Check
	x *examiner
}

func (x *examiner) begin(name string) *check {
	return &check{Check{Name: name, Verdict: OK, Findings: []Finding{}}, x}
}

// find adds a finding, unless the report has it.
func (c *check) find(v Verdict, name, measured, advice string) {
	if c.x.found[name] {
		return
	}
	c.x.found[name] = true
	c.Findings = append(c.Findings, Finding{name, v, c.x.clean(measured), c.x.clean(advice)})
	c.Verdict = worse(c.Verdict, v)
}

// passing finds a failure that says nothing about the request. It returns false if a request did
// not fail so.
func (c *check) passing(a answer) bool {
	if !a.passes() {
		return false
	}
	name, measured, advice := c.x.failure(a)
	c.find(Broken, name, measured, advice)
	if c.Measured = "no answer"; c.Verdict == OK { // the report has the finding
		c.Verdict = Skipped
	}
	return true
}

func (c *check) skip(why string) { c.Verdict, c.Measured = Skipped, why }

// end adds the check to the report.
func (c *check) end() {
	if c.x.ended() {
		return
	}
	c.Measured = c.x.clean(c.Measured)
	c.x.report.Checks = append(c.x.report.Checks, c.Check)
	c.x.report.Verdict = worse(c.x.report.Verdict, c.Verdict)
	c.x.tell(c.Check)
}
