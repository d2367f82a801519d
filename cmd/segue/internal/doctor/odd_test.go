package doctor_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/doctor"
	"github.com/segue-go/segue/cmd/segue/internal/doctor/doctortest"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
)

// oddAnswer is an answer that stands for that of a perfect server.
type oddAnswer struct {
	status int
	kind   string
	header map[string]string
	body   string
}

// odd returns a transport that answers some requests itself, those for which pick returns an
// answer.
func odd(next http.RoundTripper, pick func(r *http.Request, body string) *oddAnswer) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		var body []byte
		if r.Body != nil {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.Body = io.NopCloser(strings.NewReader(string(body)))
		}
		a := pick(r, string(body))
		if a == nil {
			return next.RoundTrip(r)
		}
		header := http.Header{"Content-Type": {a.kind}}
		for name, value := range a.header {
			header.Set(name, value)
		}
		return &http.Response{
			StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: header, Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
		}, nil
	})
}

// posted answers each question alike.
func posted(a oddAnswer) func(*http.Request, string) *oddAnswer {
	return func(r *http.Request, _ string) *oddAnswer {
		if r.Method != http.MethodPost {
			return nil
		}
		return &a
	}
}

// TestExamine_refusals says of a server that refuses each question what the refusal is about, and
// nothing that sends people to a wrong place.
func TestExamine_refusals(t *testing.T) {
	t.Parallel()
	const page = "<html><head><title>Sorry</title></head><body>nginx</body></html>"
	for name, tt := range map[string]struct {
		answer   oddAnswer
		found    string
		measured string
		advice   string
	}{
		"a proxy without its server":   {oddAnswer{502, "text/html", nil, page}, "server_error", "status 502: ", "try again later"},
		"a page of an error":           {oddAnswer{500, "text/html", nil, page}, "server_error", "status 500: ", "try again later"},
		"a proxy that waits no more":   {oddAnswer{504, "text/html", nil, page}, "server_error", "status 504: ", "try again later"},
		"a page that there is not":     {oddAnswer{404, "text/html", nil, page}, "wrong_path", "status 404, text/html", "check base_url"},
		"a path with model in it":      {oddAnswer{404, "text/plain", nil, "404 page not found"}, "wrong_path", "status 404", "base_url: http://"},
		"a firewall":                   {oddAnswer{403, "text/html", nil, page}, "key_refused", "status 403: ", "look at what the account may do"},
		"a country":                    {oddAnswer{403, "application/json", nil, `{"error":{"message":"Country not supported","code":"unsupported_country_region_territory"}}`}, "key_refused", "Country not supported", "look at what the account may do"},
		"an empty refusal":             {oddAnswer{403, "", nil, ""}, "key_refused", "status 403: Forbidden", "look at what the account may do"},
		"a wrong key by 403":           {oddAnswer{403, "application/json", nil, `{"error":{"message":"Invalid API-key provided"}}`}, "key_refused", "Invalid API-key", "put the right key into $OPENAI_API_KEY"},
		"a listed model without leave": {oddAnswer{403, "application/json", nil, `{"error":{"message":"Project does not have access to the model","code":"model_not_found"}}`}, "model_missing", "in the list, but: Project does not have access", "may the account use it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(doctortest.New(t))
			if name == "a path with model in it" {
				cfg.Client.BaseURL += "/models"
			}
			cfg.Transport = odd(cfg.Transport, posted(tt.answer))
			r := examine(t, cfg)
			found := theOne(t, r)
			require.Equal(t, tt.found, found.Name, "%+v", found)
			require.Contains(t, found.Measured, tt.measured)
			require.Contains(t, found.Advice, tt.advice)
			require.Equal(t, doctor.Broken, r.Verdict)
		})
	}
}

// TestExamine_redirects gives an address as advice only if it can be one, and says that a server
// which only redirects does not work.
func TestExamine_redirects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ to, advice string }{
		"a page for a login": {"/login", "check base_url: that is no address of an API, but perhaps the page of a login"},
		"another server":     {"http://localhost:1/other/v1/chat/completions", "base_url: http://localhost:1/other/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(doctortest.New(t))
			cfg.Transport = odd(cfg.Transport, func(r *http.Request, _ string) *oddAnswer {
				if r.Method != http.MethodPost {
					return nil
				}
				return &oddAnswer{http.StatusTemporaryRedirect, "text/html", map[string]string{"Location": tt.to}, ""}
			})
			r := examine(t, cfg)
			require.Equal(t, doctor.Broken, r.Verdict)
			found := theOne(t, r)
			require.Equal(t, "redirect_away", found.Name)
			require.Equal(t, tt.advice, found.Advice)
		})
	}
}

// TestExamine_simpler asks more simply where a question is refused in words that nobody knows.
func TestExamine_simpler(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		part, says string // of the request that is refused, and with which words
		found      []string
	}{
		"a template without a system prompt": {`"role":"system"`, `{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant"}}`, []string{"system_refused"}},
		"a field that is not permitted":      {`_tokens":`, `{"detail":[{"loc":["body","max_tokens"],"msg":"extra fields not permitted"}]}`, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(doctortest.New(t))
			cfg.Transport = odd(cfg.Transport, func(_ *http.Request, body string) *oddAnswer {
				if !strings.Contains(body, tt.part) {
					return nil
				}
				return &oddAnswer{http.StatusBadRequest, "application/json", nil, tt.says}
			})
			require.Equal(t, tt.found, names(examine(t, cfg)))
		})
	}
}

// TestExamine_wordOfTheResult takes the number of the result in words, too.
func TestExamine_wordOfTheResult(t *testing.T) {
	t.Parallel()
	cfg := config(doctortest.New(t))
	cfg.Transport = odd(cfg.Transport, func(_ *http.Request, body string) *oddAnswer {
		if !strings.Contains(body, `"role":"tool"`) {
			return nil
		}
		return whole(t, map[string]any{"role": "assistant", "content": "Seventeen degrees in Paris."})
	})
	require.Empty(t, names(examine(t, cfg)))
}

// whole returns a whole answer with a message.
func whole(t *testing.T, message map[string]any) *oddAnswer {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": "stop"}},
		"usage":   map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
	})
	require.NoError(t, err)
	return &oddAnswer{http.StatusOK, "application/json", nil, string(body)}
}

// TestExamine_proseAroundJSON does not call a text with JSON in it an answer that segue reads.
func TestExamine_proseAroundJSON(t *testing.T) {
	t.Parallel()
	cfg := config(doctortest.New(t))
	cfg.Transport = odd(cfg.Transport, func(_ *http.Request, body string) *oddAnswer {
		if !strings.Contains(body, `"response_format"`) {
			return nil
		}
		return whole(t, map[string]any{"role": "assistant", "content": "Sure! Here it is:\n{\"city\":\"Bern\",\"people\":137000}"})
	})
	require.Equal(t, []string{"schema_ignored"}, names(examine(t, cfg)))
}

// TestModels_forms reads lists in the forms of several servers.
func TestModels_forms(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body string
		want []string
	}{
		"none":                   {`{"object":"list","data":[]}`, []string{}},
		"null, as old Ollamas":   {`{"object":"list","data":null}`, []string{}},
		"names, as Ollama's own": {`{"models":[{"name":"qwen3:8b","model":"qwen3:8b"}]}`, []string{"qwen3:8b"}},
		"both, as llama.cpp":     {`{"models":[{"name":"x"}],"data":[{"id":"y"}]}`, []string{"y"}},
		"alone":                  {`[{"id":"y"}]`, []string{"y"}},
		"with a mark before":     {"\ufeff" + `{"data":[{"id":"y"}]}`, []string{"y"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(doctortest.New(t))
			cfg.Transport = odd(cfg.Transport, func(r *http.Request, _ string) *oddAnswer {
				if r.Method != http.MethodGet {
					return nil
				}
				return &oddAnswer{http.StatusOK, "application/json", nil, tt.body}
			})
			list, err := doctor.Models(t.Context(), cfg)
			require.NoError(t, err)
			ids := []string{}
			for _, m := range list {
				ids = append(ids, m.ID)
			}
			require.Equal(t, tt.want, ids)
		})
	}
}

// TestExamine_modelMissing tells a model that there is not from a wrong path, in the words of
// several servers.
func TestExamine_modelMissing(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]oddAnswer{
		"Azure":      {404, "application/json", nil, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`},
		"OpenRouter": {404, "application/json", nil, `{"error":{"message":"No endpoints found for house/models-9.","code":404}}`},
		"Mistral":    {400, "application/json", nil, `{"object":"error","message":"Invalid model: house/models-9","type":"invalid_model"}`},
		"LiteLLM":    {400, "application/json", nil, `{"error":{"message":"Invalid model name passed in model=house/models-9","code":"400"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(doctortest.New(t))
			cfg.Client.Model = "house/models-9"
			cfg.Transport = odd(cfg.Transport, posted(a))
			r := examine(t, cfg)
			require.Equal(t, []string{"model_missing"}, names(r))
			require.Equal(t, "model: house-model", theOne(t, r).Advice)
		})
	}
	cfg := config(doctortest.New(t))
	cfg.Transport = odd(cfg.Transport, posted(oddAnswer{404, "text/plain", nil, "Cannot POST /v1/chat/completions of gpt-5-mini"}))
	cfg.Client.Model = "v1"
	require.Equal(t, []string{"wrong_path"}, names(examine(t, cfg)), "the path is no word of the model")
}

// TestExamine_longThoughts does not call a model broken that thinks for longer than the limit that
// doctor sets.
func TestExamine_longThoughts(t *testing.T) {
	t.Parallel()
	cfg := config(doctortest.New(t))
	cfg.Transport = odd(cfg.Transport, func(_ *http.Request, body string) *oddAnswer {
		if !strings.Contains(body, `_tokens":`) {
			return nil
		}
		return &oddAnswer{
			http.StatusOK, "application/json", nil,
			`{"choices":[{"index":0,"message":{"role":"assistant","content":"","reasoning_content":"Hm."},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":1500,"total_tokens":1501}}`,
		}
	})
	require.Empty(t, names(examine(t, cfg)))
}

// TestModels_pages reads all pages of Anthropic's list, and ends where a server never does.
func TestModels_pages(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ pages, want int }{"three": {3, 3}, "without end": {1000, 20}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			cfg := config(doctortest.New(t))
			cfg.Client.API = endpoint.Anthropic
			cfg.Transport = odd(cfg.Transport, func(r *http.Request, _ string) *oddAnswer {
				after := ""
				if asked > 0 {
					after = fmt.Sprintf("m%03d", asked-1)
				}
				if r.URL.Query().Get("after_id") != after {
					return &oddAnswer{http.StatusBadRequest, "application/json", nil, "{}"}
				}
				id := fmt.Sprintf("m%03d", asked)
				asked++
				return &oddAnswer{http.StatusOK, "application/json", nil, fmt.Sprintf(`{"data":[{"id":%q}],"has_more":%t,"last_id":%q}`, id, asked < tt.pages, id)}
			})
			list, err := doctor.Models(t.Context(), cfg)
			require.NoError(t, err)
			require.Len(t, list, tt.want)
			require.Equal(t, tt.want, asked)
		})
	}
}

// TestModels_many reads a list that is longer than what is kept of other answers.
func TestModels_many(t *testing.T) {
	t.Parallel()
	rows := make([]any, 5000)
	for i := range rows {
		rows[i] = map[string]any{"id": fmt.Sprintf("model-%04d", i), "description": strings.Repeat("x", 1000)}
	}
	rows[4999] = map[string]any{"id": doctortest.Model}
	body, err := json.Marshal(map[string]any{"data": rows})
	require.NoError(t, err)
	cfg := config(doctortest.New(t))
	cfg.Transport = odd(cfg.Transport, func(r *http.Request, _ string) *oddAnswer {
		if r.Method != http.MethodGet {
			return nil
		}
		return &oddAnswer{http.StatusOK, "application/json", nil, string(body)}
	})
	list, err := doctor.Models(t.Context(), cfg)
	require.NoError(t, err)
	require.Len(t, list, 5000)
	r := examine(t, cfg)
	require.Empty(t, names(r))
	require.Equal(t, "answers, and is one of 5000", measured(r, "model"))
}

// TestExamine_closes says in words that a server closes its connections.
func TestExamine_closes(t *testing.T) {
	t.Parallel()
	cfg := config(doctortest.New(t))
	next := cfg.Transport
	cfg.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost {
			return nil, io.EOF
		}
		return next.RoundTrip(r)
	})
	require.Equal(t, "the server closes the connection without an answer", theOne(t, examine(t, cfg)).Measured)
}

// TestExamine_closesIdle finds nothing about a server that closes a connection just when it is used
// again, as llama.cpp does after a stream.
func TestExamine_closesIdle(t *testing.T) {
	t.Parallel()
	s := doctortest.New(t)
	var seen sync.Map
	closing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := seen.LoadOrStore(r.RemoteAddr, true); again {
			panic(http.ErrAbortHandler)
		}
		s.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(closing.Close)
	cfg := config(s)
	cfg.Transport, cfg.Client.BaseURL = nil, closing.URL+doctortest.Path
	require.Empty(t, names(examine(t, cfg)))
	best, err := doctor.Choose(t.Context(), cfg)
	require.NoError(t, err)
	require.True(t, best.Answered)
}
