package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/llmclient"
)

// Model is a model of a server.
type Model struct {
	ID      string           `json:"id"`
	Context int              `json:"context"` // in tokens; 0: the server does not say
	Price   *llmclient.Price `json:"price"`   // in dollars per million tokens; nil: not known
}

// listOptions returns the options of openai-go for the list of models, which has the same path with
// all APIs. No redirect is followed.
func listOptions(cfg endpoint.Client, wire http.RoundTripper) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.Root()), option.WithAdminAPIKey(""), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{
			Transport:     wire,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	}
	switch {
	case cfg.API == endpoint.Anthropic:
		opts = append(opts, option.WithHeader("anthropic-version", "2023-06-01"), option.WithQuery("limit", "1000"))
		if cfg.APIKey != "" && !cfg.Bearer {
			opts = append(opts, option.WithHeader("x-api-key", cfg.APIKey))
		}
		cfg.NoEnvironment = true // that is OpenAI's
	case cfg.APIKey != "":
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	if cfg.Bearer {
		opts = append(opts, option.WithHeader("authorization", "Bearer "+cfg.APIKey))
	}
	if !cfg.NoEnvironment {
		return openai.NewClient(opts...).Options
	}
	return openai.NewModelService(append([]option.RequestOption{option.WithEnvironmentProduction()}, opts...)...).Options
}

// ListError says why a list of models could not be read.
type ListError struct {
	Status int   // of HTTP; 0: there was no answer
	Err    error // the cause
}

// Error says what happened.
func (e *ListError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ListError) Unwrap() error { return e.Err }

// Models returns the models of a server, by name. The error is a [*ListError], or one of
// the Config.
func Models(ctx context.Context, cfg Config) ([]Model, error) {
	x, err := newExaminer(cfg, nil)
	if err != nil {
		return nil, err
	}
	list, hop, err := x.list(ctx)
	if err == nil {
		return list, nil
	}
	if hop.location != nil {
		err = fmt.Errorf("the server redirects; set the base URL %s", baseOf(hop.location, "models"))
	}
	if hop.err != nil {
		_, measured, _ := x.connection(hop.err)
		err = errors.New(measured)
	}
	return nil, &ListError{hop.status, err}
}

// list asks for the list of models. The exchange is never nil.
func (x *examiner) list(ctx context.Context) ([]Model, *exchange, error) {
	return x.listAt(ctx, "models")
}

// maxPages limits the pages of a list of models.
const maxPages = 20

// listAt is list at a path that starts from the base URL. It reads all pages of a list that has
// several, as Anthropic's may; the exchange is the last one.
func (x *examiner) listAt(ctx context.Context, path string) ([]Model, *exchange, error) {
	models := []Model{}
	var after string
	var last *exchange
	for range maxPages {
		page, hop, err := x.pageAt(ctx, path, after)
		if err != nil {
			return nil, hop, err
		}
		models = append(models, page...)
		next := nextPage(hop.body)
		if next == "" || next == after || len(page) == 0 {
			return sorted(models), hop, nil
		}
		last, after = hop, next
	}
	return sorted(models), last, nil
}

// nextPage returns the model behind which the next page of a list begins; "" if there is none.
func nextPage(body []byte) string {
	var page struct {
		More bool   `json:"has_more"`
		Last string `json:"last_id"`
	}
	if json.Unmarshal(body, &page) != nil || !page.More {
		return ""
	}
	return page.Last
}

func sorted(list []Model) []Model {
	slices.SortFunc(list, func(a, b Model) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// pageAt asks for the page of a list behind a model, or for the first one.
func (x *examiner) pageAt(ctx context.Context, path, after string) ([]Model, *exchange, error) {
	ctx, cancel := context.WithTimeout(ctx, x.cfg.Timeout)
	defer cancel()
	x.wire.take()
	api := openai.Client{Options: x.options}
	var body []byte
	var opts []option.RequestOption
	if after != "" {
		opts = append(opts, option.WithQuery("after_id", after))
	}
	err := api.Get(ctx, path, nil, &body, opts...)
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer in %v", x.cfg.Timeout)
	}
	hop := &exchange{}
	if list := x.wire.take(); len(list) > 0 {
		hop = list[len(list)-1]
	}
	switch {
	case hop.location != nil:
		return nil, hop, fmt.Errorf("it redirects to %s", Shown(hop.location.String()))
	case hop.status == 0:
		return nil, hop, err
	case hop.status != http.StatusOK:
		return nil, hop, fmt.Errorf("status %d: %s", hop.status, x.clean(messageOf(hop.body)))
	}
	models, ok := readModels(hop.body)
	if !ok {
		return nil, hop, fmt.Errorf("the answer is no list of models, but %s", cmp.Or(hop.contentType, "something else"))
	}
	return models, hop, nil
}

// messageOf returns the message of an error body, or the beginning of a text.
func messageOf(body []byte) string {
	var e struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
		Detail, Message string
	}
	if json.Unmarshal(body, &e) == nil {
		return cmp.Or(e.Error.Message, e.Detail, e.Message)
	}
	var bare struct{ Error string }
	if json.Unmarshal(body, &bare) == nil && bare.Error != "" {
		return bare.Error
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return "a page of HTML"
	}
	return string(body)
}

// listed is a model as servers list it. The context stands in a field of its own with each.
type listed struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`               // Ollama's own, without an id
	Length   float64 `json:"context_length"`     // OpenRouter, Together
	Window   float64 `json:"context_window"`     // Groq
	MaxLen   float64 `json:"max_model_len"`      // vLLM
	MaxLong  float64 `json:"max_context_length"` // Mistral, LM Studio
	MaxInput float64 `json:"max_input_tokens"`   // Anthropic, LiteLLM
	Limit    float64 `json:"input_token_limit"`  // Gemini
	Meta     struct {
		Trained float64 `json:"n_ctx_train"` // llama.cpp
	} `json:"meta"`
	Pricing struct { // OpenRouter: dollars per token, as texts
		Prompt     string `json:"prompt"`
		Completion string `json:"completion"`
		Read       string `json:"input_cache_read"`
		Write      string `json:"input_cache_write"`
	} `json:"pricing"`
}

// readModels reads a list: {"data": […]}, {"models": […]}, or the list alone (Together).
func readModels(body []byte) ([]Model, bool) {
	var object struct {
		Data   json.RawMessage `json:"data"`
		Models json.RawMessage `json:"models"`
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	var rows []json.RawMessage // null, which old Ollamas send, is none
	if json.Unmarshal(body, &rows) != nil {
		if json.Unmarshal(body, &object) != nil || json.Unmarshal([]byte(cmp.Or(string(object.Data), string(object.Models))), &rows) != nil {
			return nil, false
		}
	}
	var models []Model
	for _, row := range rows {
		var l listed
		_ = json.Unmarshal(row, &l) // fields of other types stay empty
		if l.ID = cmp.Or(l.ID, l.Name); l.ID != "" {
			models = append(models, l.model())
		}
	}
	return models, true
}

func (l listed) model() Model {
	m := Model{
		ID:      l.ID,
		Context: int(min(cmp.Or(l.Length, l.Window, l.MaxLen, l.MaxLong, l.MaxInput, l.Limit, l.Meta.Trained), 1e12)),
	}
	if price, ok := llmclient.KnownPrices().Of(l.ID); ok {
		m.Price = &price
		return m
	}
	input, okIn := perMillion(l.Pricing.Prompt)
	output, okOut := perMillion(l.Pricing.Completion)
	if okIn && okOut {
		cached, _ := perMillion(l.Pricing.Read)
		written, _ := perMillion(l.Pricing.Write)
		m.Price = &llmclient.Price{Input: input, CachedInput: cached, CacheWrites: written, Output: output}
	}
	return m
}

// perMillion reads dollars per token and returns dollars per million of them.
func perMillion(text string) (float64, bool) {
	var n float64
	if json.Unmarshal([]byte(text), &n) != nil || n < 0 || n > 1 {
		return 0, false
	}
	return float64(int64(n*1e12+0.5)) / 1e6, true
}

// nearest returns the model whose name, or the part of it behind the provider, is like a name; ""
// if there is none.
func nearest(name string, list []Model) string {
	ids, known := map[string]string{}, make([]string, 0, 2*len(list))
	for _, m := range list {
		last := path.Base(m.ID) // OpenRouter: openai/gpt-5
		ids[last], ids[m.ID] = m.ID, m.ID
		known = append(known, m.ID, last)
	}
	return ids[similar.Nearest(name, known)]
}

// took returns a duration as it is shown.
func took(d time.Duration) string {
	if d < time.Millisecond {
		return "under 1ms"
	}
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// counted returns a number with a noun.
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
