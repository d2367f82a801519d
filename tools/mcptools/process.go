package mcptools

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// process is a running command. Its children belong to its group, and end with it.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File // written to by this process
	stdout *os.File // read by this process
	stderr *tail
	grace  time.Duration

	exited  chan struct{} // closed when the command has ended, and its group was killed
	drained chan struct{} // closed when nothing reads its standard error any more
	heard   chan struct{} // closed when its standard output was read to its end
	hearing sync.Once
	errRead *os.File
	once    sync.Once
	closed  chan struct{} // closed when stop is done
}

// startProcess starts the command of a Config.
func startProcess(cfg *Config, r *redactor) (*process, error) {
	cmd := exec.Command(cfg.Command[0], cfg.Command[1:]...) //nolint:noctx // stop ends it, with its group
	cmd.Dir = cfg.Dir
	cmd.Env, _ = environment(cfg.Env)
	ownGroup(cmd)
	p := &process{
		cmd: cmd, stderr: &tail{redact: r, most: cfg.Limits.Stderr}, grace: cfg.CloseTimeout,
		exited: make(chan struct{}), drained: make(chan struct{}), heard: make(chan struct{}), closed: make(chan struct{}),
	}
	var ends [3]*os.File // the command's
	var err error
	defer func() {
		for _, f := range ends {
			closeFile(f)
		}
		if err != nil {
			closeFile(p.stdin)
			closeFile(p.stdout)
			closeFile(p.errRead)
		}
	}()
	if ends[0], p.stdin, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("a pipe: %w", err)
	}
	if p.stdout, ends[1], err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("a pipe: %w", err)
	}
	if p.errRead, ends[2], err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("a pipe: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ends[0], ends[1], ends[2]
	if err = cmd.Start(); err != nil {
		if _, missing := os.Stat(cfg.Dir); cfg.Dir != "" && missing != nil { // the error names the program
			err = fmt.Errorf("its Dir is not there: %w", missing)
		}
		return nil, err
	}
	go p.drain()
	go p.reap()
	return p, nil
}

func closeFile(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}

// Read implements io.Reader: it reads the standard output of the command.
func (p *process) Read(b []byte) (int, error) {
	n, err := p.stdout.Read(b)
	if err != nil {
		p.hearing.Do(func() { close(p.heard) })
	}
	return n, err
}

func (p *process) drain() {
	defer close(p.drained)
	_, _ = io.Copy(p.stderr, p.errRead)
}

// reap waits until the command ends, and kills the children it left.
func (p *process) reap() {
	defer close(p.exited)
	_ = p.cmd.Wait()
	killLeft(p.cmd)
}

// stop ends the command: it closes its input, asks it to end, and kills it, with the grace between
// these. It returns when the command and its group are gone.
func (p *process) stop() {
	p.once.Do(func() {
		defer close(p.closed)
		closeFile(p.stdin)
		for _, next := range []func(*exec.Cmd){terminateGroup, killGroup} {
			if p.ended(p.grace) {
				break
			}
			next(p.cmd)
		}
		<-p.exited
		last, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		for _, read := range []chan struct{}{p.heard, p.drained} {
			select { // what it wrote last is kept, unless somebody outside its group holds the pipe
			case <-read:
			case <-last.Done():
			}
		}
		closeFile(p.stdout)
		closeFile(p.errRead)
		<-p.drained
	})
	<-p.closed
}

func (p *process) ended(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// processWriter is the end that the transport writes. Closing it ends the process.
type processWriter struct{ p *process }

func (w processWriter) Write(b []byte) (int, error) { return w.p.stdin.Write(b) }

func (w processWriter) Close() error {
	w.p.stop()
	return nil
}

// tail keeps the last bytes that were written to it.
type tail struct {
	redact *redactor
	most   int

	mu   sync.Mutex
	held []byte // at most twice what is needed
	cut  bool
}

// Write keeps the end of p. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	need := t.most + t.redact.longest() // a secret at the beginning of the tail is seen whole
	t.held = append(t.held, p[max(0, len(p)-need):]...)
	t.cut = t.cut || len(p) > need
	if len(t.held) > 2*need {
		t.held, t.cut = append(t.held[:0], t.held[len(t.held)-need:]...), true
	}
	return len(p), nil
}

// String returns the end of what was written, without secrets.
func (t *tail) String() string {
	t.mu.Lock()
	text, cut := string(t.held), t.cut
	t.mu.Unlock()
	text = t.redact.text(text)
	if longest := t.redact.longest(); cut && longest > 1 { // it may begin within a secret
		text = text[min(len(text), longest-1):]
	}
	if len(text) > t.most {
		text, cut = text[len(text)-t.most:], true
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if cut {
		text = "[…]" + text
	}
	return text
}
