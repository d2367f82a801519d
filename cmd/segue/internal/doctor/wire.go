package doctor

import (
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// The most bytes of an answer that are examined. Lists of models are long: some say what each model
// can do.
const (
	maxKept = 1 << 20
	maxList = 64 << 20
)

// exchange is what went over the wire for one HTTP request. Nothing of the request's headers is
// kept, and of the answer's headers only these.
type exchange struct {
	path        string // of the address, without its query
	status      int
	contentType string
	location    *url.URL // of a redirect; nil if there is none
	err         error    // of the connection

	began   time.Time
	first   time.Time     // when the first bytes of the body came; zero if none did
	last    time.Time     // when the last bytes came
	silence time.Duration // the longest wait for bytes, the first ones included
	body    []byte
	room    int // for more of the body
}

// recorder is an [http.RoundTripper] that records the answers. Requests are made one at a time.
type recorder struct {
	next http.RoundTripper

	mu   sync.Mutex
	list []*exchange
}

// RoundTrip implements [http.RoundTripper].
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &exchange{path: req.URL.Path, began: time.Now(), room: maxKept}
	if req.Method == http.MethodGet {
		x.room = maxList
	}
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
	now := time.Now()
	x := b.x
	if n > 0 {
		if x.first.IsZero() {
			x.first = now
		}
		x.silence, x.last = max(x.silence, now.Sub(x.last)), now
		kept := min(n, x.room)
		x.body = append(x.body, p[:kept]...)
		x.room -= kept
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
