package checkpointtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
	"github.com/segue-go/segue/internal/prove"
)

// question is what a process asks the server of a store, and answer what the server says.
type question struct {
	Batch *batch // nil: how the run stands
	Key   key
	From  int
}

type answer struct {
	Error   string // "", or the name of an error
	Head    checkpoint.Head
	Records []record
}

var namedErrors = map[string]error{"conflict": checkpoint.ErrConflict, "not found": checkpoint.ErrNotFound}

// serve lets processes share a store: the place of the store is the URL of the server.
func serve(t *testing.T, s *store) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q question
		var a answer
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			return // the process was killed
		}
		ctx := context.WithoutCancel(r.Context())
		var err error
		switch {
		case q.Batch != nil:
			err = s.Append(ctx, *q.Batch)
		case q.From > 0:
			for r, failed := range s.Read(ctx, q.Key, q.From) {
				if err = failed; err == nil {
					a.Records = append(a.Records, r)
				}
			}
		default:
			a.Head, err = s.Head(ctx, q.Key)
		}
		for name, kind := range namedErrors {
			if errors.Is(err, kind) {
				a.Error = name
			}
		}
		if err := json.NewEncoder(w).Encode(a); err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// shared is a store that a server keeps for all processes.
type shared struct {
	url    string
	client http.Client
}

// openShared opens the store of a server. Two places are of broken stores: one acknowledges records
// before it sends them, one keeps them in its own process.
func openShared(place string) (checkpoint.Store, error) {
	url, flaw, _ := strings.Cut(place, "#")
	s := &shared{url: url, client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	switch flaw {
	case "early":
		return &early{shared: s, batches: make(chan batch, 1000)}, nil
	case "own":
		return new(memory), nil
	default:
		return s, nil
	}
}

func (s *shared) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

func (s *shared) ask(ctx context.Context, q question) (a answer, err error) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(q); err != nil {
		return a, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, &body)
	if err != nil {
		return a, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return a, err
	}
	return a, namedErrors[a.Error]
}

func (s *shared) Append(ctx context.Context, b batch) error {
	_, err := s.ask(ctx, question{Batch: &b})
	return err
}

func (s *shared) Head(ctx context.Context, key key) (checkpoint.Head, error) {
	a, err := s.ask(ctx, question{Key: key})
	return a.Head, err
}

func (s *shared) Read(ctx context.Context, key key, from int) records {
	return func(yield func(record, error) bool) {
		a, err := s.ask(ctx, question{Key: key, From: from})
		for _, r := range a.Records {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(record{}, err)
		}
	}
}

// early acknowledges a batch before it sends it.
type early struct {
	*shared
	batches chan batch
	sending atomic.Bool
}

func (s *early) Append(_ context.Context, b batch) error {
	s.batches <- b
	if s.sending.CompareAndSwap(false, true) {
		go func() {
			for b := range s.batches {
				_ = s.shared.Append(context.Background(), b)
			}
		}()
	}
	return nil
}

// A store whose processes share a place passes the checks.
func TestProcesses(t *testing.T) {
	checkpointtest.Processes(t, openShared, func() string { return serve(t, new(store)) })
}

// winsForAll acknowledges a batch although another writer's record has its place.
func winsForAll(ctx context.Context, m *memory, b batch) error {
	if err := m.Append(ctx, b); !errors.Is(err, checkpoint.ErrConflict) {
		return err
	}
	return nil
}

// refusesStored refuses some batches that it has stored.
func refusesStored(ctx context.Context, m *memory, b batch) error {
	err := m.Append(ctx, b)
	if err == nil && b.Key.Run == "contested" && b.Records[0].Seq%7 == 0 {
		return &checkpoint.Error{Kind: checkpoint.ErrConflict, Key: b.Key}
	}
	return err
}

// cutsData stores only the beginning of some records.
func cutsData(b *batch, _ checkpoint.Head) {
	if b.Key.Run == "run-0" {
		b.Records[0].Data = b.Records[0].Data[:2]
	}
}

// A store that loses acknowledged records, or lets two processes win one place, is found out.
func TestProcesses_brokenStores(t *testing.T) {
	checkpointtest.PlayRole(openShared)
	for name, broken := range map[string]struct {
		place string
		flaws flaws
		want  []string
	}{
		"early":          {"#early", flaws{}, []string{"contending", "killed"}},
		"own":            {"#own", flaws{}, []string{"contending", "killed"}},
		"cuts":           {"", changes(cutsData), []string{"killed"}},
		"wins for all":   {"", flaws{append: winsForAll}, []string{"contending"}},
		"refuses stored": {"", flaws{append: refusesStored}, []string{"contending"}},
	} {
		t.Run(name, func(t *testing.T) {
			checks := broken.want
			if prove.DepthOr(0, 1) > 0 {
				checks = nil // all: the others find nothing
			}
			found := checkpointtest.FoundByProcesses(t.Context(), "TestProcesses_brokenStores", checks, openShared,
				func() string { return serve(t, &store{flaws: broken.flaws}) + broken.place })
			require.Equal(t, broken.want, slices.Sorted(maps.Keys(found)), fmt.Sprint(found))
			for name, err := range found {
				t.Log(name, "says:", err)
			}
		})
	}
}
