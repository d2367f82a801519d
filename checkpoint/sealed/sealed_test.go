package sealed_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
	"github.com/segue-go/segue/checkpoint/sealed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "4111-1111-1111-1111"

var run = checkpoint.Key{Namespace: "shop", Run: "r"}

// newKey returns a key with a secret of its own.
func newKey(t testing.TB, id string) sealed.Key {
	t.Helper()
	secret := make([]byte, sealed.SecretSize)
	_, _ = rand.Read(secret)
	key, err := sealed.NewKey(id, secret)
	require.NoError(t, err)
	return key
}

func seal(t testing.TB, inner checkpoint.Store, keys sealed.Keys) checkpoint.Store {
	t.Helper()
	s, err := sealed.New(inner, keys)
	require.NoError(t, err)
	return s
}

func sealedMemory(t *testing.T) checkpoint.Store {
	t.Helper()
	return seal(t, new(checkpoint.Memory), sealed.Keys{Current: newKey(t, "k")})
}

// write begins or goes on with a run.
func write(t *testing.T, s checkpoint.Store, key checkpoint.Key, from int, data ...string) {
	t.Helper()
	b := checkpoint.Batch{Key: key, Header: &checkpoint.Header{Status: checkpoint.StatusRunning}, Writer: "w", Epoch: 1}
	for i, d := range data {
		b.Records = append(b.Records, checkpoint.Record{Seq: from + i, Type: "noted", Data: []byte(d)})
	}
	require.NoError(t, s.Append(t.Context(), b))
}

// texts reads a run.
func texts(s checkpoint.Store, key checkpoint.Key, from int) (all []string, err error) {
	for r, err := range s.Read(context.Background(), key, from) {
		if err != nil {
			return all, err
		}
		all = append(all, string(r.Data))
	}
	return all, nil
}

func post(t *testing.T, s checkpoint.Store, key checkpoint.Key, id, data string) {
	t.Helper()
	in, ok := checkpoint.As[checkpoint.Inbox](s)
	require.True(t, ok)
	require.NoError(t, in.Post(t.Context(), checkpoint.Message{ID: id, Key: key, Data: []byte(data)}))
}

func posted(t *testing.T, s checkpoint.Store, key checkpoint.Key) (all []string, err error) {
	t.Helper()
	in, ok := checkpoint.As[checkpoint.Inbox](s)
	require.True(t, ok)
	messages, err := in.Posted(t.Context(), key)
	for _, m := range messages {
		all = append(all, string(m.Data))
	}
	return all, err
}

func TestConformance(t *testing.T) { checkpointtest.Test(t, sealedMemory) }

func TestModel(t *testing.T) { checkpointtest.Model(t, sealedMemory) }

// plainStore hides the abilities of a Memory.
type plainStore struct{ m *checkpoint.Memory }

func (p plainStore) Append(ctx context.Context, b checkpoint.Batch) error { return p.m.Append(ctx, b) }

func (p plainStore) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	return p.m.Read(ctx, key, from)
}

func (p plainStore) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	return p.m.Head(ctx, key)
}

// Nothing leads past the sealing to the store behind it.
func TestNew_hidesTheInnerStore(t *testing.T) {
	s := seal(t, new(checkpoint.Memory), sealed.Keys{Current: newKey(t, "k")})
	_, memory := checkpoint.As[*checkpoint.Memory](s)
	_, reader := checkpoint.As[interface {
		Posted(context.Context, ...checkpoint.Key) ([]checkpoint.Message, error)
	}](s)
	require.False(t, memory || reader)
}

// TestCanary_isNowhere looks for what was written in all that the inner store has.
func TestCanary_isNowhere(t *testing.T) {
	inner := new(checkpoint.Memory)
	s := seal(t, inner, sealed.Keys{Current: newKey(t, "k")})
	write(t, s, run, 1, `{"text":"`+canary+`"}`, canary, "")
	post(t, s, run, "m", canary)
	write(t, s, run, 4, strings.Repeat(canary, 1000))

	head, err := inner.Head(t.Context(), run)
	require.NoError(t, err)
	all := fmt.Sprintf("%+v", head)
	raw, err := texts(inner, run, 1)
	require.NoError(t, err)
	require.Len(t, raw, 4)
	in, err := posted(t, inner, run)
	require.NoError(t, err)
	require.Len(t, in, 1)
	all += strings.Join(append(raw, in...), "\n")
	require.NotContains(t, all, canary)
	require.NotContains(t, all, canary[:9])

	got, err := texts(s, run, 1)
	require.NoError(t, err)
	require.Equal(t, []string{`{"text":"` + canary + `"}`, canary, "", strings.Repeat(canary, 1000)}, got)
	in, err = posted(t, s, run)
	require.NoError(t, err)
	require.Equal(t, []string{canary}, in)
}

// The same data never look the same.
func TestSeal_isRandom(t *testing.T) {
	inner := new(checkpoint.Memory)
	s := seal(t, inner, sealed.Keys{Current: newKey(t, "k")})
	seen := map[string]bool{}
	for i := range 50 {
		write(t, s, checkpoint.Key{Run: fmt.Sprint(i / 10)}, 1+i%10, canary)
	}
	for i := range 5 {
		raw, err := texts(inner, checkpoint.Key{Run: fmt.Sprint(i)}, 1)
		require.NoError(t, err)
		for _, r := range raw {
			seen[r] = true
		}
	}
	require.Len(t, seen, 50)
}

func TestPlain_isRefused(t *testing.T) {
	inner, key := new(checkpoint.Memory), newKey(t, "k")
	s := seal(t, inner, sealed.Keys{Current: key})
	write(t, s, run, 1, "a", "b")
	write(t, inner, run, 3, `{"v":2,"type":"replied"}`)
	got, err := texts(s, run, 1)
	require.Equal(t, []string{"a", "b"}, got)
	require.ErrorIs(t, err, sealed.ErrPlain)
	require.ErrorIs(t, err, sealed.ErrPlain)
	require.ErrorContains(t, err, `run "shop/r", record 3: it is not sealed`)
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)

	// A message that somebody without a key has put in is refused, and keeps back no other.
	post(t, inner, run, "forged", `{"v":1,"type":"stop"}`)
	post(t, s, run, "mine", "yes")
	in, err := posted(t, s, run)
	require.Equal(t, []string{"yes"}, in)
	require.ErrorIs(t, err, sealed.ErrPlain)
	require.ErrorContains(t, err, `message "forged"`)
}

// halfInbox is a store whose inbox cannot read some of what it holds.
type halfInbox struct{ *checkpoint.Memory }

var errHalf = errors.New("some messages are damaged")

func (s halfInbox) Posted(ctx context.Context, keys ...checkpoint.Key) ([]checkpoint.Message, error) {
	posted, err := s.Memory.Posted(ctx, keys...)
	return posted, errors.Join(err, errHalf)
}

// Messages that come with an error of the inner store are opened.
func TestPosted_innerError(t *testing.T) {
	s := seal(t, halfInbox{new(checkpoint.Memory)}, sealed.Keys{Current: newKey(t, "k")})
	write(t, s, run, 1, "a")
	post(t, s, run, "m", "yes")
	in, err := posted(t, s, run)
	require.Equal(t, []string{"yes"}, in)
	require.ErrorIs(t, err, errHalf)
}

// With ReadPlain a run that is older than the sealing goes on, sealed. What is put in behind that,
// unsealed, is refused all the same.
func TestReadPlain(t *testing.T) {
	inner, key := new(checkpoint.Memory), newKey(t, "k")
	write(t, inner, run, 1, "old", "older")
	post(t, inner, run, "m", "reply")
	s := seal(t, inner, sealed.Keys{Current: key, ReadPlain: true})
	in, err := posted(t, s, run)
	require.NoError(t, err)
	require.Equal(t, []string{"reply"}, in)
	write(t, s, run, 3, canary)
	got, err := texts(s, run, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"old", "older", canary}, got)
	raw, err := texts(inner, run, 3)
	require.NoError(t, err)
	require.NotContains(t, raw[0], canary)

	write(t, inner, run, 4, "forged")
	for from := 1; from <= 4; from++ { // who follows a run reads what is new alone
		_, err = texts(s, run, from)
		require.ErrorIs(t, err, sealed.ErrPlain)
	}
	_, err = texts(seal(t, inner, sealed.Keys{Current: key}), run, 1)
	require.ErrorContains(t, err, "record 1: it is not sealed")
}

// A record that stands elsewhere than where it was sealed is refused: at another place, in another
// run, in another namespace, with another type, as a message.
func TestMoved_isRefused(t *testing.T) {
	inner := new(checkpoint.Memory)
	s := seal(t, inner, sealed.Keys{Current: newKey(t, "k")})
	write(t, s, run, 1, "one", "two")
	post(t, s, run, "m", "yes")
	post(t, s, run, "n", "no")
	raw, err := texts(inner, run, 1)
	require.NoError(t, err)
	in, err := posted(t, inner, run)
	require.NoError(t, err)

	for name, key := range map[string]checkpoint.Key{
		"another run": {Namespace: "shop", Run: "s"}, "another namespace": {Namespace: "shopr", Run: "r"}, "none": {Run: "r"},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, inner, key, 1, raw...)
			got, err := texts(s, key, 1)
			require.Empty(t, got)
			require.ErrorIs(t, err, sealed.ErrForged)
		})
	}
	swapped := checkpoint.Key{Run: "swapped"}
	write(t, s, swapped, 1, "one", "two")
	rows, err := texts(inner, swapped, 1)
	require.NoError(t, err)
	require.NoError(t, inner.Delete(t.Context(), swapped))
	write(t, inner, swapped, 1, rows[1], rows[0])
	_, err = texts(s, swapped, 1)
	require.ErrorIs(t, err, sealed.ErrForged)
	require.ErrorContains(t, err, "record 1, sealed with key \"k\"")

	other := checkpoint.Batch{Key: checkpoint.Key{Run: "type"}, Header: &checkpoint.Header{}, Writer: "w", Records: []checkpoint.Record{{Seq: 1, Type: "noted", Data: []byte("x")}}}
	require.NoError(t, s.Append(t.Context(), other))
	rows, err = texts(inner, other.Key, 1)
	require.NoError(t, err)
	require.NoError(t, inner.Delete(t.Context(), other.Key))
	other.Records = []checkpoint.Record{{Seq: 1, Type: "stopped", Data: []byte(rows[0])}}
	require.NoError(t, inner.Append(t.Context(), other))
	_, err = texts(s, other.Key, 1)
	require.ErrorIs(t, err, sealed.ErrForged)

	// A message under another id, to another run, or from a record.
	messages := checkpoint.Key{Run: "messages"}
	write(t, s, messages, 1, "one")
	for i, data := range []string{in[0], in[1], raw[0]} {
		post(t, inner, messages, fmt.Sprint(i), data)
	}
	got, err := posted(t, s, messages)
	require.Empty(t, got)
	require.ErrorIs(t, err, sealed.ErrForged)
	post(t, inner, run, "o", in[0])
	got, err = posted(t, s, run)
	require.Equal(t, []string{"yes", "no"}, got)
	require.ErrorIs(t, err, sealed.ErrForged)
}

// Every byte of an envelope counts.
func TestChanged_isRefused(t *testing.T) {
	inner := new(checkpoint.Memory)
	s := seal(t, inner, sealed.Keys{Current: newKey(t, "k")})
	write(t, s, run, 1, "secret")
	raw, err := texts(inner, run, 1)
	require.NoError(t, err)
	for i := range len(raw[0]) {
		for _, bit := range []byte{1, 0x80} {
			changed := []byte(raw[0])
			changed[i] ^= bit
			require.NoError(t, inner.Delete(t.Context(), run))
			write(t, inner, run, 1, string(changed))
			got, err := texts(s, run, 1)
			require.Empty(t, got)
			require.ErrorContains(t, err, "sealed: run ", "byte %d", i)
			misled := errors.Is(err, sealed.ErrNoKey) || errors.Is(err, sealed.ErrFormat) // as far as it can be told
			require.NotEqual(t, misled, errors.Is(err, checkpoint.ErrCorrupt), "byte %d: %v", i, err)
		}
		require.NoError(t, inner.Delete(t.Context(), run))
		write(t, inner, run, 1, raw[0][:i])
		_, err = texts(s, run, 1)
		require.Error(t, err)
	}
}

// What was sealed with an old key is read as long as the key is there, and what is appended has the
// new one. Copied through the store, a run needs the new one alone.
func TestKeys_change(t *testing.T) {
	inner, first, second := new(checkpoint.Memory), newKey(t, "2025"), newKey(t, "2026")
	write(t, seal(t, inner, sealed.Keys{Current: first}), run, 1, "a")
	s := seal(t, inner, sealed.Keys{Current: second, Old: []sealed.Key{first}})
	write(t, s, run, 2, "b")
	got, err := texts(s, run, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, got)

	_, err = texts(seal(t, inner, sealed.Keys{Current: second}), run, 1)
	require.ErrorIs(t, err, sealed.ErrNoKey)
	require.NotErrorIs(t, err, checkpoint.ErrCorrupt, "another process may have the key")
	require.ErrorContains(t, err, `record 1, sealed with key "2025"`)

	post(t, seal(t, inner, sealed.Keys{Current: first}), run, "a", "reply")
	post(t, inner, run, "b", "forged")
	_, err = posted(t, s, run)
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	_, err = posted(t, seal(t, inner, sealed.Keys{Current: second}), run)
	require.ErrorIs(t, err, sealed.ErrNoKey)
	require.NotErrorIs(t, err, checkpoint.ErrCorrupt, "the first may be read later")
	_, err = texts(seal(t, inner, sealed.Keys{Current: newKey(t, "2025")}), run, 1)
	require.ErrorIs(t, err, sealed.ErrForged)

	fork := checkpoint.Key{Namespace: "shop", Run: "fork"}
	write(t, s, fork, 1, got...)
	copied, err := texts(seal(t, inner, sealed.Keys{Current: second}), fork, 1)
	require.NoError(t, err)
	require.Equal(t, got, copied)
}

// No secret stands in what is printed, logged or encoded.
func TestKey_hidesItsSecret(t *testing.T) {
	secret := []byte("0123456789abcdef0123456789abcdef")
	key, err := sealed.NewKey("k", secret)
	require.NoError(t, err)
	keys := sealed.Keys{Current: key, Old: []sealed.Key{key}}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("", slog.Any("keys", keys), slog.Any("key", key))
	slog.New(slog.NewTextHandler(&log, nil)).Info("", slog.Any("keys", keys))
	text, err := json.Marshal(keys)
	require.NoError(t, err)
	all := fmt.Sprintf("%v %+v %#v %v %x %s", keys, keys, keys, &keys, key, key) + log.String() + string(text)
	for _, form := range []string{string(secret), "30313233", "48 49 50", "0x30", "MDEyMz"} {
		require.NotContains(t, all, form)
	}
	require.Equal(t, "key k", fmt.Sprint(key))
	clear(secret)
	again, err := sealed.NewKey("k", []byte("0123456789abcdef0123456789abcdef"))
	require.NoError(t, err)
	inner := new(checkpoint.Memory)
	write(t, seal(t, inner, sealed.Keys{Current: key}), run, 1, "a")
	_, err = texts(seal(t, inner, sealed.Keys{Current: again}), run, 1)
	require.NoError(t, err, "the secret was copied")
}

func TestNew_refuses(t *testing.T) {
	key := newKey(t, "k")
	for want, refused := range map[string]func() error{
		"the store is nil":        func() error { _, err := sealed.New(nil, sealed.Keys{Current: key}); return err },
		"Keys.Current is missing": func() error { _, err := sealed.New(new(checkpoint.Memory), sealed.Keys{}); return err },
		"number 0 is the zero Key": func() error {
			_, err := sealed.New(new(checkpoint.Memory), sealed.Keys{Current: key, Old: []sealed.Key{{}}})
			return err
		},
		`two keys have the id "k"`: func() error {
			_, err := sealed.New(new(checkpoint.Memory), sealed.Keys{Current: key, Old: []sealed.Key{newKey(t, "k")}})
			return err
		},
		"has 16 bytes: want 32": func() error { _, err := sealed.NewKey("k", make([]byte, 16)); return err },
		"has 0 bytes: want 1":   func() error { _, err := sealed.NewKey("", make([]byte, 32)); return err },
		"has 65 bytes":          func() error { _, err := sealed.NewKey(strings.Repeat("k", 65), make([]byte, 32)); return err },
		"want ASCII":            func() error { _, err := sealed.NewKey("a b", make([]byte, 32)); return err },
	} {
		require.ErrorContains(t, refused(), want)
	}
}
