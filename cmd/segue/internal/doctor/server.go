package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// heron is a question whose answer shows whether the system prompt was heeded, and that is long
// enough for a stream of several pieces.
func heron() llmclient.Request {
	return llmclient.Request{Messages: messages.History{
		messages.System{Text: "Your name is Heron."},
		messages.UserText("What is your name? Then count from one to ten, in words. Nothing else."),
	}}
}

// checkServer makes the checks server, key, model and reply: with a list of models, and one
// question.
func (x *examiner) checkServer(ctx context.Context) {
	server, key, model, reply := x.begin("server"), x.begin("key"), x.begin("model"), x.begin("reply")
	list, hop, listErr := x.list(ctx)
	if !x.unreachable(server, hop) {
		a := x.ask(ctx, x.client, heron(), false)
		if a.err != nil && a.err.Code == llmclient.CodeBadRequest && !x.lacks(list, a) {
			a = x.simpler(ctx, reply, a)
		}
		if !x.unreachable(server, a.x) {
			x.judge(ctx, server, key, model, reply, list, listErr, hop, a)
		}
	}
	if server.Measured == "" {
		server.Measured = cmp.Or(server.measuredFirst(), "answers in "+took(hop.header()))
	}
	if x.stopped {
		for _, c := range []*check{key, model, reply} {
			if len(c.Findings) == 0 && c.Measured == "" {
				c.skip("not asked")
			}
		}
	}
	for _, c := range []*check{server, key, model, reply} {
		c.end()
	}
}

// simpler asks again with what the system prompt says in the question, and without a limit of
// tokens, because servers refuse both in many words. If that helps, all further requests are made
// so.
func (x *examiner) simpler(ctx context.Context, c *check, refused answer) answer {
	unbound := x.unbound
	for _, try := range []struct{ noSystem, unbound bool }{{true, unbound}, {false, true}, {true, true}} {
		x.noSystem, x.unbound = try.noSystem, try.unbound
		a := x.ask(ctx, x.client, heron(), false)
		if a.err != nil {
			continue
		}
		if x.noSystem {
			c.find(Set, "system_refused", status(refused), "no system and no policy, which needs it: say in the task what matters")
		}
		return a
	}
	x.noSystem, x.unbound = false, unbound
	return refused
}

// measuredFirst returns what the first finding measured, if something is broken.
func (c *check) measuredFirst() string {
	if c.Verdict == Broken {
		return "cannot be used"
	}
	return ""
}

// unreachable finds out why a connection failed; it returns false if it did not.
func (x *examiner) unreachable(c *check, hop *exchange) bool {
	if hop.err == nil {
		return false
	}
	x.stopped = true
	name, measured, advice := x.connection(hop.err)
	c.find(Broken, name, measured, advice)
	return true
}

// connectionError returns the error of a connection in words.
func (x *examiner) connectionError(hop *exchange) error {
	_, measured, _ := x.connection(hop.err)
	return errors.New(measured)
}

// connection says what is wrong with a connection.
func (x *examiner) connection(err error) (kind, measured, advice string) {
	base, _ := url.Parse(x.cfg.Client.BaseURL)
	host := base.Host
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var wrongHost x509.HostnameError
	var invalid x509.CertificateInvalidError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "name_unknown", "no server has the name " + base.Hostname(), "check base_url, and the network"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused", "nothing listens at " + host, "check base_url: is the server started, and is the port right?"
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "tls", host + " speaks HTTP, and not HTTPS", "base_url: " + strings.Replace(Shown(x.cfg.Client.BaseURL), "https:", "http:", 1)
	case errors.As(err, &unknown):
		return "tls", "the certificate of " + host + " is signed by nobody who is trusted here", "add its authority to those of the system (SSL_CERT_FILE)"
	case errors.As(err, &wrongHost):
		return "tls", "the certificate of " + host + " is for another name", "base_url: with the name that the certificate has"
	case errors.As(err, &invalid):
		return "tls", "the certificate of " + host + " is not valid: " + invalid.Error(), "renew it, or set the clock of this machine"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "silent", "no answer in " + took(x.cfg.Timeout), waitLonger
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "unreachable", "the server closes the connection without an answer", "check base_url, and the network"
	default:
		return "unreachable", err.Error(), "check base_url, and the network"
	}
}

// judge says what the list of models and the first reply show.
func (x *examiner) judge(ctx context.Context, server, key, model, reply *check, list []Model, listErr error, hop *exchange, a answer) {
	x.exposure(server)
	x.redirects(server, hop, a)
	x.judgeKey(key, a)
	switch err := a.err; {
	case err == nil, x.stopped:
	case x.timedOut(a):
		server.find(Broken, "silent", "no answer to a question in "+took(x.cfg.Timeout), waitLonger)
	case a.x.location != nil:
		x.stopped = true
	case x.wrongPath(ctx, server, list, a):
	case err.Code == llmclient.CodeNotFound, err.Code == llmclient.CodeBadRequest && x.lacks(list, a):
		x.missing(model, list, err)
	case err.Code == llmclient.CodeRateLimited:
		server.find(Broken, "rate_limited", cmp.Or(err.Message, "too many requests"), askSlower)
		x.stopped = true
	case err.Code == llmclient.CodeUnavailable, a.x.status >= http.StatusInternalServerError:
		server.find(Broken, "server_error", status(a), seeLog)
		x.stopped = true
	case err.Code == llmclient.CodeBadResponse || err.Code == llmclient.CodeTruncated:
		reply.find(Broken, "not_readable", err.Message, "is base_url the one of an API of Chat Completions, or of the one that api names?")
		x.stopped = true
	default:
		reply.find(Broken, "request_refused", status(a), refusedAdvice(err))
		x.stopped = true
	}
	if a.err == nil {
		x.judgeModel(model, list, listErr)
		x.judgeReply(reply, a)
	}
}

// refusedAdvice says what to do about a refusal in words that nobody knows.
func refusedAdvice(err *llmclient.Error) string {
	if strings.Contains(strings.ToLower(err.Message), "model") {
		return "check model: segue models lists what there is"
	}
	return "take another model or server"
}

// timedOut reports whether there was no answer in time.
func (x *examiner) timedOut(a answer) bool {
	if a.err.Code != llmclient.CodeTimeout || a.x.status >= http.StatusBadRequest {
		return false
	}
	x.stopped = true
	return true
}

// exposure finds a key that is sent over a network without encryption.
func (x *examiner) exposure(c *check) {
	if x.cfg.Client.APIKey != "" && endpoint.Exposed(x.cfg.Client.BaseURL) {
		c.find(Set, "unencrypted", "the key is sent without encryption", "base_url: https://… if the server has it: the key can be read on the way")
	}
}

// redirects finds redirects, of which only those on the same server are followed.
func (x *examiner) redirects(c *check, list *exchange, a answer) {
	for _, hop := range append(a.hops, a.x) {
		if hop.location == nil {
			continue
		}
		kind, verdict := "redirect", Set
		if a.err != nil && (a.x.location != nil || a.err.Code == llmclient.CodeNotFound || a.err.Code == llmclient.CodeBadResponse) {
			kind, verdict, x.stopped = "redirect_away", Broken, true
		}
		c.find(verdict, kind, "it redirects to "+Shown(hop.location.String()), x.insteadOf(hop.location, x.cfg.Client.RequestPath()))
		return
	}
	if list.location != nil {
		c.find(Set, "redirect", "the list of models redirects to "+Shown(list.location.String()), x.insteadOf(list.location, "models"))
	}
}

// insteadOf returns what to set where a path redirects to an address.
func (x *examiner) insteadOf(to *url.URL, path string) string {
	base := baseOf(to, path)
	switch {
	case !strings.HasSuffix(strings.TrimSuffix(to.Path, "/"), path):
		return "check base_url: that is no address of an API, but perhaps the page of a login"
	case base == Shown(x.cfg.Client.Root()):
		return "check base_url: the redirect leads back to the same address"
	default:
		return "base_url: " + base
	}
}

// baseOf returns the base URL of an address that ends in a path.
func baseOf(u *url.URL, path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(Shown(u.String()), "/"), path), "/")
}

// judgeKey says what became of the key.
func (x *examiner) judgeKey(c *check, a answer) {
	sent := x.cfg.Client.APIKey != ""
	variable := "$" + x.cfg.KeyVariable
	code := llmclient.Code("")
	if a.err != nil {
		code = a.err.Code
	}
	switch {
	case code == llmclient.CodeAuth && !sent && x.cfg.KeyVariable == "":
		c.find(Broken, "key_missing", "the server wants a key, and none is sent", "api_key_env: with the NAME of the variable that holds it")
	case code == llmclient.CodeAuth && !sent:
		c.find(Broken, "key_missing", "the server wants a key, and "+variable+" is not set", "export "+x.cfg.KeyVariable+"=…, or api_key_env with another variable")
	case code == llmclient.CodeAuth && a.x.status == http.StatusForbidden && !aboutKey(a.err.Message):
		c.find(Broken, "forbidden", status(a), "the key may be right: look at what the account may do, at the region, and at firewalls on the way; else put the right key into "+variable)
	case code == llmclient.CodeAuth:
		c.find(Broken, "key_refused", fmt.Sprintf("the server refuses the key in %s: %s", variable, a.err.Message), "put the right key into "+variable)
	case code == llmclient.CodeQuota:
		c.find(Broken, "no_credit", a.err.Message, "check the credit of the account")
	case a.err != nil:
		return
	case sent:
		c.Measured = "the key in " + variable + " is accepted"
	default:
		c.Measured = "none is sent, and none is needed"
	}
	x.stopped = x.stopped || c.Verdict == Broken
}

// aboutKey reports whether a refusal is because of the key.
func aboutKey(message string) bool {
	said := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(message))
	return slices.ContainsFunc([]string{"apikey", "token", "credential", "authenticat", "keyis", "invalidkey"}, func(word string) bool { return strings.Contains(said, word) })
}

// versioned matches the end of the path of nearly every base URL.
var versioned = regexp.MustCompile(`/v\d+\w*(/openai)?/?$`)

// wrongPath finds a base URL whose path is wrong.
func (x *examiner) wrongPath(ctx context.Context, c *check, list []Model, a answer) bool {
	html := strings.HasPrefix(a.x.contentType, "text/html") && a.x.status < http.StatusInternalServerError
	about := strings.Contains(a.err.Type, "model") || x.aboutModel(a)
	missing := a.x.status == http.StatusNotFound || a.x.status == http.StatusMethodNotAllowed || a.x.status == http.StatusGone
	if !html && (!missing || about) {
		return false
	}
	x.stopped = true
	measured := fmt.Sprintf("%s: status %d", a.x.path, a.x.status)
	if html {
		measured += ", a page of HTML"
	}
	c.find(Broken, "wrong_path", measured, x.rightPath(ctx, list))
	return true
}

// aboutModel reports whether what the server says of a failure is about the model: it has a word
// for it, or its name. What it says of the path does not count.
func (x *examiner) aboutModel(a answer) bool {
	said := strings.ToLower(strings.ReplaceAll(messageOf(a.x.body), a.x.path, ""))
	return slices.ContainsFunc([]string{"model", "deployment", strings.ToLower(x.cfg.Client.Model)}, func(word string) bool { return strings.Contains(said, word) })
}

// lacks reports whether a request failed because of its model, and the list of models does not have
// it.
func (x *examiner) lacks(list []Model, a answer) bool {
	return len(list) > 0 && !x.listed(list) && x.aboutModel(a)
}

// listed reports whether a list has the model.
func (x *examiner) listed(list []Model) bool {
	return slices.ContainsFunc(list, func(m Model) bool { return m.ID == x.cfg.Client.Model })
}

// rightPath returns what to do about a wrong path: it looks where the server has a list of models.
func (x *examiner) rightPath(ctx context.Context, list []Model) string {
	client := x.cfg.Client
	shown := strings.TrimSuffix(Shown(client.BaseURL), "/")
	for _, path := range []string{"/" + client.RequestPath(), "/completions", "/models"} {
		if base, ok := strings.CutSuffix(shown, path); ok {
			return "base_url: " + base
		}
	}
	check := "check base_url: it is the address up to, and without, " + pathShown[client.API]
	if len(list) > 0 && client.API == endpoint.Responses {
		return "api: chat, if the server has no Responses API"
	}
	if client.API == endpoint.Anthropic {
		return check + "; or has the server another API?"
	}
	u, err := url.Parse(shown)
	if err != nil || versioned.MatchString(shown) {
		return check
	}
	up := strings.Repeat("../", strings.Count(u.Path, "/"))
	for _, path := range []string{"v1", "api/v1", up + "v1", up + "api/v1"} {
		if _, _, err := x.listAt(ctx, path+"/models"); err == nil {
			return "base_url: " + strings.TrimSuffix(u.JoinPath(path).String(), "/")
		}
	}
	return check
}

// pathShown is what a base URL is without, by API.
var pathShown = map[string]string{
	"": "/chat/completions", endpoint.Chat: "/chat/completions", endpoint.Responses: "/responses", endpoint.Anthropic: "/v1/messages",
}

// missing finds a model that the server does not have.
func (x *examiner) missing(c *check, list []Model, err *llmclient.Error) {
	x.stopped = true
	if x.listed(list) {
		c.find(Broken, "model_missing", "the model is in the list, but: "+err.Message, "may the account use it, and is it loaded? segue models lists the others")
		return
	}
	advice := "segue models lists what there is"
	if near := nearest(x.cfg.Client.Model, list); near != "" {
		advice = "model: " + near
	}
	c.find(Broken, "model_missing", fmt.Sprintf("the server has no model %q", x.cfg.Client.Model), advice)
}

// judgeModel is about a model that answers.
func (x *examiner) judgeModel(c *check, list []Model, listErr error) {
	c.Measured = "answers"
	switch {
	case listErr != nil && x.found["redirect"]:
		return
	case listErr != nil:
		c.Measured += "; there is no list of models: " + listErr.Error()
		return
	}
	for _, m := range list {
		if m.ID == x.cfg.Client.Model {
			c.Measured += fmt.Sprintf(", and is one of %d", len(list))
			if m.Context > 0 {
				c.Measured += fmt.Sprintf("; context of %d tokens", m.Context)
			}
			return
		}
	}
	c.Measured += fmt.Sprintf(", and is none of the %s in the list", counted(len(list), "model"))
}
