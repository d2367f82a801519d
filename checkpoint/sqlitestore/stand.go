package sqlitestore

import (
	"database/sql/driver"
	"fmt"

	"modernc.org/sqlite"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

// The statements that change where a run stands compute its checksum with sum. Each of them checks
// the checksum that was there, so that no damage gets a sum that fits.
func init() {
	sqlite.MustRegisterDeterministicScalarFunction("segue_sum", 5, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		var text [5]string
		for i, arg := range args {
			text[i] = fmt.Sprint(arg)
		}
		return int64(tables.Sum(checkpoint.Key{Namespace: text[0], Run: text[1]}, text[2], text[3], []byte(text[4]))), nil
	})
}

const (
	standOfRun = `segue_sum(r.namespace, r.run, 'stand', r.last || ' ' || r.epoch || ' ' || r.lease_until || ' ' || r.recoveries || ' ' || r.lease_writer, '')`
	stands     = `r.stand = ` + standOfRun
	standRun   = `UPDATE runs AS r SET stand = ` + standOfRun + ` WHERE namespace = ? AND run = ?`
)

// stand writes the checksum of where a run stands.
func (w *writer) stand(key checkpoint.Key) error { return w.exec(standRun, key.Namespace, key.Run) }

// damaged is the error of a run whose row does not fit its checksum.
func (s *Store) damaged(key checkpoint.Key) error {
	return s.corrupt(key, "the checksum of where the run stands (last, epoch, lease) does not match")
}
