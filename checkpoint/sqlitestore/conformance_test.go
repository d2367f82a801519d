package sqlitestore_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
	"github.com/segue-go/segue/internal/prove"
)

func TestConformance(t *testing.T) {
	checkpointtest.Test(t, func(t *testing.T) checkpoint.Store { return fresh(t) })
}

func TestModel(t *testing.T) {
	prove.Checks(t, prove.Cases()/10) // since a disk is slow
	checkpointtest.Model(t, func(t *testing.T) checkpoint.Store { return fresh(t) })
}

// damagesOfStand change what of a run changes with each step, as a damaged disk does.
var damagesOfStand = map[string]string{
	"fewer records":   "last = last & ~2",
	"more records":    "last = last | 8",
	"another epoch":   "epoch = epoch + 16",
	"an older epoch":  "epoch = 0",
	"another holder":  "lease_writer = 'x' || lease_writer",
	"nobody":          "lease_writer = ''",
	"a longer lease":  "lease_until = lease_until | (1 << 61)",
	"no lease":        "lease_until = 0",
	"more recoveries": "recoveries = recoveries + 1",
	"its checksum":    "stand = stand + 1",
}

func TestFaults(t *testing.T) {
	checkpointtest.Faults(t, func(t *testing.T) checkpointtest.Faulty {
		path := filepath.Join(t.TempDir(), "runs.db")
		execute := func(text string, args ...any) error {
			db, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			defer db.Close()
			_, err = db.ExecContext(t.Context(), text, args...)
			return err
		}
		damage := func(text string) func(checkpoint.Key, int) error {
			return func(key checkpoint.Key, seq int) error {
				return execute(text+` WHERE place = (SELECT id << 32 | ?1 FROM runs WHERE namespace = ?2 AND run = ?3)`, seq, key.Namespace, key.Run)
			}
		}
		ofRun := func(text string) func(checkpoint.Key) error {
			return func(key checkpoint.Key) error { return execute(text, key.Run) }
		}
		stands := map[string]func(checkpoint.Key) error{}
		for name, change := range damagesOfStand {
			stands[name] = ofRun("UPDATE runs SET " + change + " WHERE run = ?1")
		}
		return checkpointtest.Faulty{
			DamageStands: stands,
			Store:        open(t, path),
			Reopen:       func() checkpoint.Store { return open(t, path) }, // the other one is not closed, as by a kill
			DamageHead:   ofRun(`UPDATE runs SET header = replace(header, '"', ' ') WHERE run = ?1`),
			DamageMessage: func(_ checkpoint.Key, id string) error {
				return execute(`UPDATE inbox SET data = x'00' WHERE message = ?1`, id)
			},
			DamageSnapshots: map[string]func(checkpoint.Key) error{
				"another number": ofRun(`UPDATE snapshots SET records = 1 WHERE run = (SELECT id FROM runs WHERE run = ?1)`),
				"another run's":  ofRun(`UPDATE snapshots SET (data, sum) = (SELECT o.data, o.sum FROM snapshots o JOIN runs p ON p.id = o.run WHERE p.run = 'another') WHERE run = (SELECT id FROM runs WHERE run = ?1)`),
				"other data":     ofRun(`UPDATE snapshots SET data = x'0073' WHERE run = (SELECT id FROM runs WHERE run = ?1)`),
			},
			DamageValue: func(key checkpoint.Key, id string) error {
				return execute(`UPDATE value_parts SET data = cast(substr(data, 2) || x'00' AS BLOB)
					WHERE part = 1 AND id = ?2 AND run = (SELECT id FROM runs WHERE run = ?1)`, key.Run, id)
			},
			Damages: map[string]func(checkpoint.Key, int) error{
				"a byte less":  damage(`UPDATE records SET data = substr(data, 2)`),
				"no data":      damage(`UPDATE records SET data = x''`),
				"another type": damage(`UPDATE records SET type = type || 'x'`),
				"gone":         damage(`DELETE FROM records`),
				"elsewhere":    damage(`UPDATE records SET place = place + 1000`),
				"another's":    damage(`UPDATE records SET data = (SELECT data FROM records o WHERE o.place = records.place + (1 << 32)), sum = (SELECT sum FROM records o WHERE o.place = records.place + (1 << 32))`),
			},
		}
	})
}
