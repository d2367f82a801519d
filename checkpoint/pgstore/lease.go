package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/segue-go/segue/checkpoint"
)

const leaseRun = `SELECT outcome, now_last, now_epoch, now_created, now_updated, now_writer, now_until, now_recoveries, now_header, now_crc
	FROM lease_4($1, $2, $3, $4)`

// Lease implements [checkpoint.Leaser]. Times are those of the server's clock.
func (s *Store) Lease(ctx context.Context, key checkpoint.Key, writer string, d time.Duration) (h checkpoint.Head, err error) {
	if err := ctx.Err(); err != nil {
		return h, fault(ctx, s.place, key, err)
	}
	if err := key.Check(); err != nil {
		return h, err
	}
	err = s.do(ctx, key, func(conn *pgx.Conn) error {
		var outcome string
		var last, recoveries *int
		var epoch *int64
		var created, updated *time.Time
		var holder *string
		var crc *int32
		row := headRow{head: checkpoint.Head{Key: key}}
		err := conn.QueryRow(ctx, leaseRun, key.Namespace, key.Run, writer, micros(d)).
			Scan(&outcome, &last, &epoch, &created, &updated, &holder, &row.until, &recoveries, &row.header, &crc)
		if err != nil {
			return err
		}
		if outcome == "missing" {
			return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
		}
		if outcome == "damaged" {
			return s.damaged(key)
		}
		if outcome == "leased" {
			return &checkpoint.Error{Kind: checkpoint.ErrLeased, Key: key, Until: *row.until}
		}
		row.head.Last, row.head.Epoch, row.head.Recoveries, row.head.Lease.Writer = *last, *epoch, *recoveries, *holder
		row.head.Created, row.head.Updated, row.crc = *created, *updated, *crc
		row.stand = row.wantStand() // it was checked, and is another one now
		h, err = s.whole(&row)
		return err
	})
	return h, err
}
