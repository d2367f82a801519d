package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
	"github.com/segue-go/segue/checkpoint/pgstore"
	"github.com/segue-go/segue/internal/pgtest"
	"github.com/segue-go/segue/internal/waittest"
)

// damages are done to a record by SQL.
var damages = map[string]string{
	"another byte":   `UPDATE records SET data = set_byte(data, 0, 1)`,
	"a shorter text": `UPDATE records SET data = substr(data, 2)`,
	"another type":   `UPDATE records SET type = 'stop'`,
	"another sum":    `UPDATE records SET crc = crc # 1`,
	"taken away":     `DELETE FROM records`,
	"another place":  `UPDATE records SET seq = seq + 1000`,
	"another run's":  `UPDATE records SET data = o.data, crc = o.crc FROM runs p JOIN records o ON o.run = p.id WHERE p.run = 'another' AND o.seq = records.seq AND records.run <> o.run AND`,
}

// damagesOfStand change what of a run changes with each step, as a damaged disk does.
var damagesOfStand = map[string]string{
	"fewer records":   "last = last & ~2",
	"more records":    "last = last | 8",
	"another epoch":   "epoch = epoch + 16",
	"an older epoch":  "epoch = 0",
	"another holder":  "lease_writer = 'x' || lease_writer",
	"nobody":          "lease_writer = ''",
	"a longer lease":  "lease_until = lease_until + interval '1 microsecond'",
	"no lease":        "lease_until = NULL",
	"more recoveries": "recoveries = recoveries + 1",
	"its checksum":    "stand = '00000000-0000-0000-0000-000000000000'",
}

var damagesOfSnapshot = map[string]string{
	"another number": "records = 1",
	"another run's":  "(data, crc) = (SELECT o.data, o.crc FROM snapshots o JOIN runs p ON p.id = o.run WHERE p.run = 'another')",
	"other data":     "data = 'no'",
}

func TestFaults(t *testing.T) {
	checkpointtest.Faults(t, func(t *testing.T) checkpointtest.Faulty {
		c := fresh(t)
		c.Configure = func(p *pgxpool.Config) { p.ConnConfig.RuntimeParams["application_name"] = c.Schema }
		s := open(t, c)
		f := checkpointtest.Faulty{
			Store: s,
			Reopen: func() checkpoint.Store {
				require.NoError(t, s.Close())
				s = open(t, c)
				return s
			},
			Interrupt: func() {
				raw(t, c, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1", c.Schema)
			},
			Damages: map[string]func(checkpoint.Key, int) error{}, DamageStands: map[string]func(checkpoint.Key) error{},
			DamageMessage: func(_ checkpoint.Key, id string) error {
				return execute(c, `UPDATE inbox SET data = 'no' WHERE message = $1`, id)
			},
			DamageSnapshots: map[string]func(checkpoint.Key) error{},
			DamageValue: func(key checkpoint.Key, id string) error {
				return execute(c, `UPDATE value_parts SET data = set_byte(data, 7, 1) WHERE part = 1 AND id = $2 AND run = (SELECT id FROM runs WHERE run = $1)`, key.Run, id)
			},
			DamageHead: func(key checkpoint.Key) error {
				return execute(c, `UPDATE runs SET header = '{"status":"done"}' WHERE namespace = $1 AND run = $2`, key.Namespace, key.Run)
			},
		}
		for name, change := range damagesOfStand {
			f.DamageStands[name] = func(key checkpoint.Key) error {
				raw(t, c, "ALTER TABLE runs DISABLE TRIGGER older")
				return execute(c, "UPDATE runs SET "+change+" WHERE run = $1", key.Run)
			}
		}
		for name, change := range damagesOfSnapshot {
			f.DamageSnapshots[name] = func(key checkpoint.Key) error {
				return execute(c, "UPDATE snapshots SET "+change+" WHERE run = (SELECT id FROM runs WHERE run = $1)", key.Run)
			}
		}
		for name, text := range damages {
			f.Damages[name] = func(key checkpoint.Key, seq int) error {
				where := " WHERE"
				if name == "another run's" {
					where = ""
				}
				return execute(c, text+where+" records.run = (SELECT id FROM runs WHERE runs.run = $1) AND records.seq = $2", key.Run, seq)
			}
		}
		return f
	})
}

// A connection that was cut while nobody used it is found out before something is asked on it.
func TestAlive(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	other, err := listener.Accept()
	require.NoError(t, err)
	require.True(t, pgstore.Alive(conn))
	_, err = other.Write([]byte("E"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !pgstore.Alive(conn) }, time.Minute, time.Millisecond)
	var b [1]byte
	_, err = conn.Read(b[:])
	require.NoError(t, err)
	require.True(t, pgstore.Alive(conn))
	read := make(chan error)
	go func() { // as pgx does at times, until the next answer
		var b [1]byte
		_, err := conn.Read(b[:])
		read <- err
	}()
	for range 1000 { // by then it reads
		require.True(t, pgstore.Alive(conn))
	}
	_, err = other.Write([]byte("E"))
	require.NoError(t, err)
	require.NoError(t, waittest.Receive(t, read))
	require.NoError(t, other.Close())
	require.Eventually(t, func() bool { return !pgstore.Alive(conn) }, time.Minute, time.Millisecond)
	require.NoError(t, conn.Close())
	require.False(t, pgstore.Alive(conn))
}

// A connection that somebody reads from is looked at without waiting for that: pgx goes on reading
// on a goroutine of its own after a write that took long, until the next answer comes.
func TestAlive_whileSomebodyReads(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	other, err := listener.Accept()
	require.NoError(t, err)
	read := make(chan error)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()
	said := make(chan bool)
	go func() {
		alive := true
		for range 1000 { // by then it reads
			alive = alive && pgstore.Alive(conn)
		}
		said <- alive
	}()
	select {
	case alive := <-said:
		require.True(t, alive)
	case <-time.After(time.Minute):
		t.Error("it waits for what the other is to say")
		defer func() { <-said }()
	}
	require.NoError(t, other.Close())
	require.Error(t, waittest.Receive(t, read))
	require.NoError(t, conn.Close())
}

// loader appends to a run for as long as it may, and tries again what fails.
type loader struct {
	s      *pgstore.Store
	run    string
	stored atomic.Int32
	failed int
	over   *atomic.Bool
}

func (l *loader) work(ctx context.Context) error {
	for !l.over.Load() {
		b := next(l.run, int(l.stored.Load())+1, content(l.run, int(l.stored.Load())+1))
		if l.stored.Load() == 0 {
			b.Header = &checkpoint.Header{Status: checkpoint.StatusRunning}
		}
		for {
			err := l.s.Append(ctx, b)
			if err == nil {
				break
			}
			if !errors.Is(err, pgstore.ErrLost) && !errors.Is(err, pgstore.ErrUnreachable) {
				return err
			}
			l.failed++
			time.Sleep(time.Millisecond)
		}
		l.stored.Add(1)
	}
	return nil
}

// load appends to several runs while something is done to the server, three times. Everything that
// was acknowledged is there, once.
func load(t *testing.T, server *pgtest.Server, disturb func()) {
	t.Helper()
	s := open(t, config(server.URL(), "segue"))
	var over atomic.Bool
	loaders := make([]loader, 8)
	errs := make([]error, len(loaders))
	var all sync.WaitGroup
	for i := range loaders {
		loaders[i].s, loaders[i].run, loaders[i].over = s, fmt.Sprint("run-", i), &over
		all.Go(func() { errs[i] = loaders[i].work(t.Context()) })
	}
	goOn := func() { // until each has stored some more
		for i := range loaders {
			most := loaders[i].stored.Load() + 20
			require.Eventually(t, func() bool { return loaders[i].stored.Load() >= most }, time.Minute, time.Millisecond)
		}
	}
	for range 3 {
		goOn()
		disturb()
		require.NoError(t, server.Start())
	}
	goOn()
	over.Store(true)
	waittest.All(t, &all)
	require.NoError(t, errors.Join(errs...))
	failed, stored := 0, 0
	for i := range loaders {
		l := &loaders[i]
		data, err := journal(t.Context(), s, l.run)
		require.NoError(t, err)
		require.Len(t, data, int(l.stored.Load()))
		for i, text := range data {
			require.Equal(t, content(l.run, i+1), text)
		}
		failed, stored = failed+l.failed, stored+int(l.stored.Load())
	}
	t.Logf("%d records, %d appends that failed", stored, failed)
	require.Positive(t, failed)
}

func TestServer_isKilledUnderLoad(t *testing.T) {
	server := pgtest.Start(t)
	load(t, server, func() { require.NoError(t, server.Kill()) })
}

// A server that was restarted while nobody called is no error.
func TestServer_restartsMeanwhile(t *testing.T) {
	server := pgtest.Start(t)
	s := open(t, config(server.URL(), "segue"))
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	server.Stop()
	require.NoError(t, server.Start())
	require.NoError(t, s.Append(t.Context(), next("r", 2, "2")))
	server.Stop()
	err := s.Append(t.Context(), next("r", 3, "3"))
	require.ErrorIs(t, err, pgstore.ErrUnreachable)
	require.ErrorContains(t, err, `database "postgres", schema "segue": run "r": the server cannot be reached`)
}
