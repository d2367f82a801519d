package doctor

import (
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// maxKept limits the bytes of an answer that are examined. Lists of models are long: some say what
// each model can do.
const maxKept = 64 << 20

// exchange is what went over the wire for one HTTP request. Nothing of the request's headers is
// kept, and of the answer's headers only these.
type exchange struct {
	path        string // of the address, without its query
	status      int
	contentType string
	location    *url.URL // of a redirect; nil if there is none
	err         error    // of the connection

	began time.Time
	first time.Time // when the first bytes of the body came; zero if none did
	last  time.Time // when the last bytes came
	body  []byte
}

// recorder is an [http.RoundTripper] that records the answers. Requests are made one at a time.
type recorder struct {
	next http.RoundTripper

	mu   sync.Mutex
	list []*exchange
}

// RoundTrip implements [http.RoundTripper].
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &exchange{path: req.URL.Path, began: time.Now()}
	r.mu.Lock()
	r.list = append(r.list, x)
	r.mu.Unlock()
	res, err := r.next.RoundTrip(req)
	if err != nil {
		x.err = err
		return nil, err
	}
	x.status, x.contentType = res.StatusCode, res.Header.Get("Content-Type")
	if to, err := res.Location(); err == nil && res.StatusCode >= 300 && res.StatusCode < 400 {
		x.location = to
	}
	x.last = x.began
	res.Body = &recordedBody{ReadCloser: res.Body, x: x}
	return res, nil
}

// take returns the exchanges since the last call.
func (r *recorder) take() []*exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// recordedBody is a body that is recorded while it is read.
type recordedBody struct {
	io.ReadCloser
	x *exchange
}

// Read implements [io.Reader].
func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if x := b.x; n > 0 {
		if x.last = time.Now(); x.first.IsZero() {
			x.first = x.last
		}
		x.body = append(x.body, p[:min(n, maxKept-len(x.body))]...)
	}
	return n, err
}

// header returns how long the first bytes of the answer took.
func (x *exchange) header() time.Duration {
	if x.first.IsZero() {
		return 0
	}
	return x.first.Sub(x.began)
}
