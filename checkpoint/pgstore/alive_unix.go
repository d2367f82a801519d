//go:build unix

package pgstore

import (
	"crypto/tls"
	"net"
	"syscall"
)

// alive reports whether a connection on which nothing is awaited is there still. What has come
// nevertheless is the news of its end: whoever asked on it would not know what became of it.
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
	err = raw.Control(func(fd uintptr) { // not Read, which waits for whoever reads
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		nothing = err == syscall.EAGAIN || err == syscall.EINTR
	})
	return err == nil && nothing
}
