//go:build unix

package pgstore

import (
	"crypto/tls"
	"net"
	"syscall"
)

// alive reports whether a connection that no call uses is still open. If anything has arrived on
// it, this is the news of its end: a call that used it would fail, and its outcome would be
// unclear.
func alive(conn net.Conn) bool {
	if secret, ok := conn.(*tls.Conn); ok {
		conn = secret.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	nothing := false
	err = raw.Control(func(fd uintptr) { // not Read, which waits for another reader
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		nothing = err == syscall.EAGAIN || err == syscall.EINTR
	})
	return err == nil && nothing
}
