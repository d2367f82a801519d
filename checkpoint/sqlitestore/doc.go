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
// # What is promised
//
// When Append, Post, Lease, SaveSnapshot or Delete return nil, what they did outlives the end of
// the process at any instant, and with [Full], the default, a crash of the system and a loss of
// power too, as far as the disk does what it says. With [Normal] the last ones may be gone after
// either of these; what is there is whole and without gaps.
//
// Calls that come while a transaction is on its way share the next one, and its flush of the disk.
// One that comes alone waits for nobody. Each succeeds or fails by itself.
//
// Nothing that is read is trusted: each record, head, message and snapshot has a checksum, which
// binds it to its run and place. One that does not hold, and a record that is missing, are an error
// that names run and record.
//
// A Read takes no lock while its caller has a record: it reads some of them at a time. If the run
// is deleted meanwhile it ends with an error that wraps [checkpoint.ErrNotFound].
//
// # Errors
//
// An error of the contract is one of package checkpoint, such as a [checkpoint.ConflictError]. If a
// newer program has changed the file, the error is a [*checkpoint.SchemaError]. Any other failure is
// a [*checkpoint.StoreError], which names the file, the run and the record, and says what to do; it
// wraps one of the kinds of failure of package checkpoint or of this package. No failure loses what
// was acknowledged. After a failed Append the caller may make the very same Append again, as
// [checkpoint.Store] says.
//
// # Files
//
// Besides the file of [Config].Path there are two of the same name with -wal and -shm behind it, as
// long as somebody has it open, or if a process died over it: they belong together, and are moved
// and deleted together or not at all. To copy a store that is in use take "VACUUM INTO" of the
// program sqlite3. Files that are created are for their owner alone (0600), and so is the folder if
// it is created (0700); what is there already stays as it is.
//
// A text that was in a deleted run is in no page of the file that is in use, but may be in free
// ones and in the log. [Store.Vacuum] removes it from both. What the disk itself still holds,
// backups and what was exported are beyond its reach.
//
// Texts of a [checkpoint.Header] are kept as JSON keeps them: bytes that are not UTF-8 come back as
// U+FFFD. A record, a message, and a snapshot may have up to 1,000,000,000 bytes less some for
// itself.
package sqlitestore
