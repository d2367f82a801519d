// Package sqlitestore keeps the journals of runs in a SQLite file: a [checkpoint.Store] with all
// abilities, in pure Go. It is for one machine: several processes may use one file, on a disk of
// that machine and not on a network's.
//
//	store, err := sqlitestore.Open(ctx, sqlitestore.Config{Path: "runs/runs.db"})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// # Promises
//
// When Append, Post, Lease, SaveSnapshot or Delete return nil, what they did survives the end of
// the process at any instant. With [Full], the default, it also survives a crash of the system and
// a loss of power, if the disk does what it says. With [Normal] a crash of the system or a loss of
// power may lose the last calls; what is stored is whole and without gaps.
//
// Calls that come during a transaction share the next transaction, and its flush of the disk. A
// call that comes alone waits for nobody. Each call succeeds or fails by itself.
//
// The store trusts nothing that it reads. Each record, head, message and snapshot has a checksum,
// which covers its run and its place; the place of the last record of a run, its epoch and its
// lease have one, too. If a checksum does not match, or a record is missing, the error names the
// run and the record.
//
// A Read reads some records at a time, and holds no lock while its caller has a record. If the run
// is deleted meanwhile, the Read ends with an error that wraps [checkpoint.ErrNotFound].
//
// # Errors
//
// An error is a [*checkpoint.Error]. That of a failure names the file, the run and the record, and
// says what to do; it wraps one of the kinds of failure of package checkpoint or of this package.
// No failure loses what was acknowledged. After a failed Append the caller may make the very same
// Append again, as [checkpoint.Store] says.
//
// # Files
//
// Beside the file of [Config].Path there are two files of the same name with -wal and -shm behind
// it, as long as a process has the file open, or if a process died while it had the file open. The
// three files belong together: move and delete all of them or none. To copy a store that is in use,
// use "VACUUM INTO" of the program sqlite3. The store creates files for their owner alone (0600),
// and a folder too (0700); it does not change the modes of files that exist.
//
// The data of a deleted run are in no used page of the file, but may be in free pages and in the
// log. [Store.Vacuum] removes them from both. It does not reach what the disk itself still has,
// backups and exports.
//
// The texts of a [checkpoint.Header] are stored as JSON: bytes that are not UTF-8 come back as
// U+FFFD. A record, a message and a snapshot may have almost 1,000,000,000 bytes each.
package sqlitestore
