package sse_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/orchestrator/sse"
)

// pipes is a network within the process: a net.Listener whose connections are net.Pipes. Its
// deadlines go by the time of a bubble.
type pipes struct {
	waiting chan net.Conn // those that were dialled and not accepted
	closed  chan struct{}
	close   sync.Once
}

// servePiped is serve in a bubble of synctest: client and server are joined by pipes.
func servePiped(t *testing.T, cfg sse.Config, edit func(*httptest.Server)) *httptest.Server {
	t.Helper()
	p := &pipes{waiting: make(chan net.Conn), closed: make(chan struct{})}
	server, _ := serve(t, cfg, edit, func(s *httptest.Server) {
		require.NoError(t, s.Listener.Close())
		s.Listener = p
	})
	server.Client().Transport.(*http.Transport).DialContext = p.dial
	return server
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	mine, theirs := net.Pipe()
	select {
	case p.waiting <- theirs:
		return mine, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
