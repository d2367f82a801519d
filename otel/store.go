package segueotel

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/segue-go/segue/checkpoint"
)

// Store returns a store that measures the Append, Read and Head of another: segue.store.duration. A
// Read is measured until it ends, what its consumer does included. The abilities are those of the
// other, found by checkpoint.As, and are not measured.
func (t *Telemetry) Store(s checkpoint.Store) checkpoint.Store { return &store{t: t, inner: s} }

type store struct {
	t     *Telemetry
	inner checkpoint.Store
}

// Unwrap returns the store that is measured.
func (s *store) Unwrap() checkpoint.Store { return s.inner }

func (s *store) Append(ctx context.Context, b checkpoint.Batch) error {
	began := time.Now()
	err := s.inner.Append(ctx, b)
	s.measure(ctx, "append", began, err)
	return err
}

func (s *store) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		began := time.Now()
		var failed error
		defer func() { s.measure(ctx, "read", began, failed) }()
		for r, err := range s.inner.Read(ctx, key, from) {
			failed = err
			if !yield(r, err) {
				return
			}
		}
	}
}

func (s *store) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	began := time.Now()
	h, err := s.inner.Head(ctx, key)
	s.measure(ctx, "head", began, err)
	return h, err
}

func (s *store) measure(ctx context.Context, operation string, began time.Time, err error) {
	labels := []attribute.KeyValue{keyStoreOp.String(operation)}
	switch {
	case err == nil:
	case errors.Is(err, checkpoint.ErrNotFound):
		labels = append(labels, keyErrorType.String("not_found"))
	case errors.Is(err, checkpoint.ErrConflict):
		labels = append(labels, keyErrorType.String("conflict"))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		labels = append(labels, keyErrorType.String("canceled"))
	default:
		labels = append(labels, keyErrorType.String("_OTHER"))
	}
	s.t.metrics.storeDuration.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(labels...))
}

// Waiting registers the metric segue.run.oldest_waiting: how long the run of the store that waits
// longest has waited, over all namespaces; 0 if none waits. Each collection asks the store some
// thirty short questions. The store must be a [checkpoint.Lister]. To end it, unregister what it
// returns.
func (t *Telemetry) Waiting(s checkpoint.Store) (metric.Registration, error) {
	lister, ok := checkpoint.As[checkpoint.Lister](s)
	if !ok {
		return nil, errors.New("segueotel: the store is no checkpoint.Lister: Waiting needs one")
	}
	gauge, err := t.meter.Float64ObservableGauge("segue.run.oldest_waiting", metric.WithUnit("s"),
		metric.WithDescription("How long the run that waits longest has waited."))
	if err != nil {
		return nil, fmt.Errorf("segueotel: %w", err)
	}
	registered, err := t.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		age, err := oldestWaiting(ctx, lister, time.Now())
		if err == nil {
			o.ObserveFloat64(gauge, age.Seconds())
		}
		return err
	}, gauge)
	if err != nil {
		return nil, fmt.Errorf("segueotel: %w", err)
	}
	return registered, nil
}

// oldestWaiting returns how long the run that waits longest has waited. A list is in the order in
// which runs were created, not in which they were last appended to: so the time is found by
// halving.
func oldestWaiting(ctx context.Context, lister checkpoint.Lister, now time.Time) (time.Duration, error) {
	const precision, longest = time.Second, 20 * 365 * 24 * time.Hour
	before := func(age time.Duration) (*checkpoint.Head, error) { // one that has waited longer
		q := checkpoint.Query{All: true, Status: []checkpoint.Status{checkpoint.StatusWaiting}, Updated: now.Add(-age), Limit: 1}
		for h, err := range checkpoint.Heads(ctx, lister, q) {
			if errors.Is(err, checkpoint.ErrCorrupt) { // a damaged head says no time
				break
			}
			return &h, err
		}
		return nil, nil //nolint:nilnil // none has
	}
	found, err := before(0)
	if err != nil || found == nil {
		return 0, err
	}
	age := now.Sub(found.Updated)
	for low, high := age, longest; high-low > precision; {
		middle := low + (high-low)/2
		older, err := before(middle)
		switch {
		case err != nil:
			return 0, err
		case older == nil:
			high = middle
		default:
			age = now.Sub(older.Updated)
			low = max(age, middle)
		}
	}
	return age, nil
}
