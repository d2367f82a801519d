// Package pgstore keeps the journals of runs in a PostgreSQL database: a [checkpoint.Store] with
// all abilities, for servers. Any number of processes and machines may use one database.
//
//	store, err := pgstore.Open(ctx, pgstore.Config{URL: os.Getenv("DATABASE_URL")})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// PostgreSQL 14 or newer is needed, and a database whose encoding is UTF8. Open makes a schema of
// its own in it, and brings it up to date; a user that may only read and write the tables will do
// where that has been done; whoever has rights on the inbox gets them on new tables.
//
// # What is promised
//
// When Append, Post, Lease, SaveSnapshot or Delete return nil, what they did is committed, and with
// [Full], the default, flushed: it outlives the end of the process at any instant, and a crash of
// the server, as far as its disk does what it says and its setting fsync is on. Each is one
// statement, in one transaction, in one round trip. With [Normal] the last ones may be gone after a
// crash of the server; what is there is whole and without gaps.
//
// Times are those of the server's clock, so the clocks of machines need not agree: a lease ends for
// all at once.
//
// Nothing that is read is trusted: each record, head, message and snapshot has a checksum, which
// binds it to its run and place. One that does not hold, and a record that is missing, are an error
// that names run and record.
//
// A Read holds no connection while its caller has a record: it reads some of them at a time. If the
// run is deleted meanwhile it ends with an error that wraps [checkpoint.ErrNotFound].
//
// # Connections
//
// A connection that was cut while nobody used it is replaced, so a restart of the server between
// two calls is no error. One that is cut amid a call is: it wraps [ErrLost], and all may have been
// done or nothing, as when ctx ends amid it. The very same call may be made again: an Append that
// was carried out is told from a conflict by its writer, a message by its ID, a lease by who has
// it.
//
// Each connection has settings of its own (search_path, synchronous_commit, and others), so a
// pooler in between has to give a client one connection of the server for as long as it is there:
// PgBouncer with pool_mode=session, not transaction.
//
// # Errors
//
// An error of the contract is one of package checkpoint, such as a [checkpoint.ConflictError]. If a
// newer program has changed the schema, the error is a [*checkpoint.SchemaError]. Any other failure
// is a [*checkpoint.StoreError], which names the server, the database, the schema, the run and the
// record, and says what to do; it wraps one of the kinds of failure of package checkpoint or of this
// package. No failure loses what was acknowledged. No error holds a password, or any part of a
// connection string that cannot be read.
//
// # Tables
//
// runs has a row for each run, records one for each record, inbox one for each message, snapshots
// one for each run that has one; schema version and its times stand in segue_schema. What writes
// are functions, which end with the version: append_2 and so on. A newer program drops or renames
// them, so that an older one that is still at work is refused by a [*checkpoint.SchemaError].
//
// A step changes its row of runs in place, beside no index, and autovacuum makes room for the next;
// a transaction that stays open for hours, anywhere on the server, keeps it from doing so.
//
// What was in a deleted run stays in free pages until they are written over. [Store.Vacuum] removes
// it from the tables. The server's log of what was written (WAL), its archive, standbys and backups
// are beyond its reach.
//
// Texts of a [checkpoint.Header] are kept as JSON keeps them: bytes that are not UTF-8 come back as
// U+FFFD. The records of one batch, a message, and a snapshot may have 512 MiB.
package pgstore
