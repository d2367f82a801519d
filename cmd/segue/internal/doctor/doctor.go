// Package doctor examines the server of a model: it makes a few small requests and says what works,
// and what to set. It tries tool calls in each way that fits, with a result and the answer after it,
// and recommends by what worked.
package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// The defaults of [Config].
const (
	DefaultTimeout = time.Minute
	DefaultSlow    = 30 * time.Second
)

// Config says what to examine.
type Config struct {
	Client      endpoint.Client   // the server and the model; its HTTPClient is not used
	KeyVariable string            // the environment variable of the key; "": no key is sent
	Policy      string            // the text formats for tool calls that are set, with commas between them; "": none
	Timeout     time.Duration     // of one request; 0: DefaultTimeout. All together take at most four times as long
	Slow        time.Duration     // a silence that is worth telling; 0: DefaultSlow
	Transport   http.RoundTripper // nil: a copy of http.DefaultTransport
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
	noSystem bool // the server refuses system prompts
	timeouts int  // requests that were not answered in time
	stopped  bool // what follows makes no sense
	passed   bool // a failure of the moment kept a policy from being tried

	streams bool             // streams of text work
	schema  bool             // answers by a schema work
	apart   bool             // thoughts came apart from the text
	calls   messages.History // a conversation up to two tool calls
	left    string           // the policy that reads the calls that the server left in the text; "": none
	ways    []Way            // the first is that of the server
}

// Examine examines a server. tell is called with each check when it is done; it may be nil. The
// error is one of the Config; whatever the server does is in the report. If parent ends,
// the report has only the checks that were done before.
func Examine(parent context.Context, cfg Config, tell func(Check)) (Report, error) {
	x, err := newExaminer(cfg, tell)
	if err != nil {
		return Report{}, err
	}
	defer x.close()
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
		{"forced choice", x.checkForced},
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
	if cfg.Slow == 0 {
		cfg.Slow = DefaultSlow
	}
	x := &examiner{cfg: cfg, tell: tell, ended: func() bool { return false }, found: map[string]bool{}, ways: []Way{}}
	if x.tell == nil {
		x.tell = func(Check) {}
	}
	client, err := x.connect()
	x.client = bare{client, x}
	x.report = Report{Server: Shown(cfg.Client.BaseURL), Model: cfg.Client.Model, Verdict: OK}
	return x, err
}

// connect makes the clients, with a recorder on the wire.
func (x *examiner) connect() (llmclient.Client, error) {
	next := x.cfg.Transport
	if t, ok := http.DefaultTransport.(*http.Transport); ok && next == nil {
		next = t.Clone()
	}
	x.wire = &recorder{next: next}
	settings := x.cfg.Client
	settings.HTTPClient = &http.Client{Transport: x.wire}
	settings.IdleTimeout, settings.MaxRetries = x.cfg.Timeout, -1
	client, err := settings.New()
	if err != nil {
		return nil, err
	}
	x.options = listOptions(settings, x.wire)
	return client, nil
}

// close closes the connections that nothing uses any more.
func (x *examiner) close() {
	if t, ok := x.wire.next.(*http.Transport); ok && x.cfg.Transport == nil {
		t.CloseIdleConnections()
	}
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
	hops   []*exchange   // redirects before the answer
	x      *exchange     // never nil
	deltas int           // of text
	after  time.Duration // that the client waited behind the last bytes
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
func (x *examiner) ask(ctx context.Context, client llmclient.Client, req llmclient.Request, streamed bool) answer {
	for waited := false; ; {
		a := x.askOnce(ctx, client, req, streamed)
		switch {
		case a.err == nil && !x.unbound && a.onlyThoughts():
			x.unbound = true
			continue
		case a.err == nil:
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
		return a
	}
}

func (x *examiner) askOnce(ctx context.Context, client llmclient.Client, req llmclient.Request, streamed bool) answer {
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
	resp, err := client.Complete(limited, &req, onDelta)
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
		if a.x.location != nil {
			a.hops = append(a.hops, a.x)
		}
		if a.x = hop; hop.location == nil {
			x.report.Requests++
		}
	}
	a.after = time.Since(a.x.last)
	return a
}

// bare is a client that sends no system prompt where the server refuses them.
type bare struct {
	llmclient.Client
	x *examiner
}

// Complete implements [llmclient.Client].
func (b bare) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	if b.x.noSystem {
		other := *req
		other.Messages = withoutSystem(req.Messages)
		req = &other
	}
	return b.Client.Complete(ctx, req, onDelta)
}

// TakesStop implements [llmclient.StopTaker].
func (b bare) TakesStop() bool {
	t, ok := b.Client.(llmclient.StopTaker)
	return !ok || t.TakesStop()
}

// withoutSystem returns a conversation with the system prompt in the first message of the user.
func withoutSystem(h messages.History) messages.History {
	if len(h) < 2 {
		return h
	}
	system, ok := h[0].(messages.System)
	user, asks := h[1].(messages.User)
	if !ok || !asks {
		return h
	}
	first := messages.User{Content: append([]messages.UserContent{messages.Text{Text: system.Text + "\n\n"}}, user.Content...)}
	return append(messages.History{first}, h[2:]...)
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

// passes returns the name of a failure that says nothing about the request; "" if it is another.
func (a answer) passes() string {
	switch {
	case a.err == nil:
		return ""
	case a.err.Code == llmclient.CodeTimeout && a.x.status < http.StatusInternalServerError:
		return "silent"
	case a.x.err != nil:
		return "unreachable"
	case a.x.status == http.StatusTooManyRequests:
		return "rate_limited"
	case a.x.status == http.StatusBadGateway, a.x.status == http.StatusServiceUnavailable, a.x.status == http.StatusGatewayTimeout:
		return "server_error"
	default:
		return ""
	}
}

// The advice about failures that pass.
const (
	waitLonger = "is the model being loaded? Then give it longer with --timeout"
	askSlower  = "limits: {requests_per_minute: N}, with the N of your account"
	seeLog     = "try again later, or look at the server's log"
)

// passing finds a failure that says nothing about the request. It returns false if a request did
// not fail so.
func (c *check) passing(a answer) bool {
	switch name := a.passes(); name {
	case "":
		return false
	case "silent":
		c.find(Broken, name, fmt.Sprintf("nothing more came for %s, after %s", took(c.x.cfg.Timeout), counted(a.deltas, "piece")), waitLonger)
	case "unreachable":
		c.x.unreachable(c, a.x)
	case "rate_limited":
		c.find(Broken, name, cmp.Or(a.err.Message, "too many requests"), askSlower)
	default:
		c.find(Broken, name, status(a), seeLog)
	}
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
