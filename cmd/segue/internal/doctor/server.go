package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/llmclient"
)

// checkServer makes the checks server, key, model and reply: with a list of models, and one
// question.
func (x *examiner) checkServer(ctx context.Context) {
	server, key, model, reply := x.begin("server"), x.begin("key"), x.begin("model"), x.begin("reply")
	list, hop, listErr := x.list(ctx)
	a := answer{x: hop, err: &llmclient.Error{}}
	if hop.err == nil {
		a = x.askFirst(ctx, reply)
	}
	if x.cfg.Client.APIKey != "" && endpoint.Exposed(x.cfg.Client.BaseURL) {
		server.find(Set, "unencrypted", "the key is sent without encryption", "base_url: https://… if the server has it: the key can be read on the way")
	}
	if a.err == nil {
		server.Measured = "answers in " + took(hop.header())
		key.Measured = "none is sent, and none is needed"
		if x.cfg.Client.APIKey != "" {
			key.Measured = "the key in $" + x.cfg.KeyVariable + " is accepted"
		}
		x.judgeModel(model, list, listErr)
		x.judgeReply(reply, a)
	} else {
		x.stopped = true
		x.judgeFailure(ctx, map[string]*check{"server": server, "key": key, "model": model, "reply": reply}, list, a)
	}
	for _, c := range []*check{server, key, model, reply} {
		if c.Measured == "" && len(c.Findings) == 0 {
			c.skip("not asked")
		}
		c.Measured = cmp.Or(c.Measured, "cannot be used")
		c.end()
	}
}

// askFirst asks the first question. One that is refused is asked without a system prompt; if that
// helps, so is the next.
func (x *examiner) askFirst(ctx context.Context, reply *check) answer {
	x.question = heron
	a := x.ask(ctx, llmclient.Request{Messages: heron}, false)
	if a.err == nil || a.err.Code != llmclient.CodeBadRequest {
		return a
	}
	again := x.ask(ctx, llmclient.Request{Messages: heron[1:]}, false)
	if again.err != nil {
		return a
	}
	x.question = heron[1:]
	reply.find(Set, "system_refused", status(a), "no system and no policy, which needs it: say in the task what matters")
	return again
}

// judgeFailure says why the first question was not answered.
func (x *examiner) judgeFailure(ctx context.Context, checks map[string]*check, list []Model, a answer) {
	about, name, measured, advice := "server", "", "", ""
	switch {
	case x.wrongPath(a):
		name, measured, advice = "wrong_path", fmt.Sprintf("%s: status %d, %s", a.x.path, a.x.status, cmp.Or(a.x.contentType, "nothing")), x.rightPath(ctx, list)
	case a.err.Code == llmclient.CodeNotFound && a.x.location == nil, a.err.Code == llmclient.CodeBadRequest && len(list) > 0 && !x.listed(list) && x.aboutModel(a):
		about, name, measured, advice = "model", "model_missing", fmt.Sprintf("the server has no model %q", x.cfg.Client.Model), "segue models lists what there is"
		if x.listed(list) {
			measured, advice = "the model is in the list, but: "+a.err.Message, "may the account use it, and is it loaded? segue models lists the others"
		} else if near := nearest(x.cfg.Client.Model, list); near != "" {
			advice = "model: " + near
		}
	default:
		name, measured, advice = x.failure(a)
		switch name {
		case "key_missing", "key_refused", "no_credit":
			about = "key"
		case "request_refused", "not_readable":
			about = "reply"
		}
	}
	checks[about].find(Broken, name, measured, advice)
}

// passes reports whether a failure says nothing about the request.
func (a answer) passes() bool {
	if a.err == nil {
		return false
	}
	switch a.x.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return a.x.err != nil || a.err.Code == llmclient.CodeTimeout && a.x.status < http.StatusInternalServerError
	}
}

// waitLonger is the advice for a server that is silent.
const waitLonger = "is the model being loaded? Then give it longer with --timeout"

// failure says what the failure of a request means, whatever was asked.
func (x *examiner) failure(a answer) (name, measured, advice string) {
	variable := "$" + x.cfg.KeyVariable
	switch code := a.err.Code; {
	case a.x.err != nil:
		return x.connection(a.x.err)
	case a.x.location != nil:
		advice = "check base_url: that is no address of an API, but perhaps the page of a login"
		if path := x.cfg.Client.RequestPath(); strings.HasSuffix(a.x.location.Path, path) {
			advice = "base_url: " + baseOf(a.x.location, path)
		}
		return "redirect_away", "it redirects to " + Shown(a.x.location.String()), advice
	case code == llmclient.CodeTimeout && a.x.status < http.StatusBadRequest:
		return "silent", fmt.Sprintf("nothing more came for %s, after %s", took(x.cfg.Timeout), counted(a.deltas, "piece")), waitLonger
	case code == llmclient.CodeAuth && x.cfg.Client.APIKey == "" && x.cfg.KeyVariable == "":
		return "key_missing", "the server wants a key, and none is sent", "api_key_env: with the NAME of the variable that holds it"
	case code == llmclient.CodeAuth && x.cfg.Client.APIKey == "":
		return "key_missing", "the server wants a key, and " + variable + " is not set", "export " + x.cfg.KeyVariable + "=…, or api_key_env with another variable"
	case code == llmclient.CodeAuth:
		return "key_refused", fmt.Sprintf("the server refuses the key in %s: %s", variable, status(a)), "put the right key into " + variable + ", and look at what the account may do"
	case code == llmclient.CodeQuota:
		return "no_credit", a.err.Message, "check the credit of the account"
	case code == llmclient.CodeRateLimited:
		return "rate_limited", cmp.Or(a.err.Message, "too many requests"), "limits: {requests_per_minute: N}, with the N of your account"
	case code == llmclient.CodeUnavailable, a.x.status >= http.StatusInternalServerError:
		return "server_error", status(a), "try again later, or look at the server's log"
	case code == llmclient.CodeBadResponse, code == llmclient.CodeTruncated:
		return "not_readable", a.err.Message, "is base_url the one of an API of Chat Completions, or of the one that api names?"
	default:
		return "request_refused", status(a), "take another model or server; segue models lists the models"
	}
}

// connection says what is wrong with a connection.
func (x *examiner) connection(err error) (name, measured, advice string) {
	base, _ := url.Parse(x.cfg.Client.BaseURL)
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "name_unknown", "no server has the name " + base.Hostname(), "check base_url, and the network"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused", "nothing listens at " + base.Host, "check base_url: is the server started, and is the port right?"
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "tls", base.Host + " speaks HTTP, and not HTTPS", "base_url: " + strings.Replace(Shown(x.cfg.Client.BaseURL), "https:", "http:", 1)
	case errors.As(err, &certificate):
		return "tls", "the certificate of " + base.Host + " is not accepted: " + certificate.Err.Error(), "base_url: with the name of the certificate; or add its authority to those of the system (SSL_CERT_FILE)"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "silent", "no answer in " + took(x.cfg.Timeout), waitLonger
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "unreachable", "the server closes the connection without an answer", "check base_url, and the network"
	default:
		return "unreachable", err.Error(), "check base_url, and the network"
	}
}

// wrongPath reports whether the path of the base URL is wrong: there is a page, or nothing that is
// about a model.
func (x *examiner) wrongPath(a answer) bool {
	switch a.x.status {
	case http.StatusForbidden, http.StatusUnauthorized:
		return false
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return !strings.Contains(a.err.Type, "model") && !x.aboutModel(a)
	default:
		return strings.HasPrefix(a.x.contentType, "text/html") && a.x.status < http.StatusInternalServerError && a.x.location == nil
	}
}

// aboutModel reports whether what the server says of a failure is about the model: it has a word
// for it, or its name. What it says of the path does not count.
func (x *examiner) aboutModel(a answer) bool {
	said := strings.ToLower(strings.ReplaceAll(messageOf(a.x.body), a.x.path, ""))
	return slices.ContainsFunc([]string{"model", "deployment", strings.ToLower(x.cfg.Client.Model)}, func(word string) bool { return strings.Contains(said, word) })
}

// listed reports whether a list has the model.
func (x *examiner) listed(list []Model) bool {
	return slices.ContainsFunc(list, func(m Model) bool { return m.ID == x.cfg.Client.Model })
}

// rightPath returns what to do about a wrong path: it looks where the server has a list of models.
func (x *examiner) rightPath(ctx context.Context, list []Model) string {
	client := x.cfg.Client
	u, err := url.Parse(strings.TrimSuffix(Shown(client.BaseURL), "/"))
	if err != nil {
		return "check base_url"
	}
	if base, ok := strings.CutSuffix(u.String(), "/"+client.RequestPath()); ok {
		return "base_url: " + base
	}
	if len(list) > 0 && client.API == endpoint.Responses {
		return "api: chat, if the server has no Responses API"
	}
	up := strings.Repeat("../", strings.Count(u.Path, "/"))
	for _, path := range []string{"v1", "api/v1", up + "v1", up + "api/v1"} {
		base := strings.TrimSuffix(u.JoinPath(path).String(), "/")
		if _, _, err := x.listAt(ctx, path+"/models"); err == nil && base != u.String() && client.API != endpoint.Anthropic {
			return "base_url: " + base
		}
	}
	return "check base_url: it is the address up to, and without, /" + client.RequestPath() + "; or has the server another API?"
}

// baseOf returns the base URL of an address that ends in a path.
func baseOf(u *url.URL, path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(Shown(u.String()), "/"), path), "/")
}

// judgeModel is about a model that answers.
func (x *examiner) judgeModel(c *check, list []Model, listErr error) {
	at := slices.IndexFunc(list, func(m Model) bool { return m.ID == x.cfg.Client.Model })
	switch {
	case listErr != nil:
		c.Measured = "answers; there is no list of models: " + listErr.Error()
	case at < 0:
		c.Measured = fmt.Sprintf("answers, and is none of the %s in the list", counted(len(list), "model"))
	default:
		c.Measured = fmt.Sprintf("answers, and is one of %d", len(list))
		if list[at].Context > 0 {
			c.Measured += fmt.Sprintf("; context of %d tokens", list[at].Context)
		}
	}
}
