// Package pgstore keeps the journals of runs in a PostgreSQL database: a [checkpoint.Store] with
// all abilities, for servers. Any number of processes and machines may use one database.
//
//	store, err := pgstore.Open(ctx, pgstore.Config{URL: os.Getenv("DATABASE_URL")})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// The server must be PostgreSQL 14 or newer, and the encoding of the database UTF8. Open creates a
// schema of its own in the database, and brings it up to date. Once this is done, a user that may
// read and write the tables can use the store; a migration gives whoever has rights on the inbox
// the same rights on the tables that it adds.
//
// # Promises
//
// When Append, Post, Lease, SaveSnapshot or Delete return nil, what they did is committed, and with
// [Full], the default, flushed. It survives the end of the process at any instant, and a crash of
// the server, if the disk does what it says and the server's setting fsync is on. Each call is one
// statement, in one transaction, in one round trip. With [Normal] a crash of the server may lose
// the last calls; what is stored is whole and without gaps.
//
// Appends that come while others of the Store are running go together next: they share a statement
// and its flush. If the server refuses one of them, or another process keeps its run locked for
// more than a tenth of a second, this one goes alone, and holds up none of the others.
//
// All times are times of the server's clock. So the clocks of the machines need not agree, and a
// lease ends for all at once.
//
// The store trusts nothing that it reads. Each record, head, message and snapshot has a checksum,
// which covers its run and its place; the place of the last record of a run, its epoch and its
// lease have one, too. If a checksum does not match, or a record is missing, the error names the
// run and the record.
//
// A Read reads some records at a time, and holds no connection while its caller has a record. If
// the run is deleted meanwhile, the Read ends with an error that wraps [checkpoint.ErrNotFound].
//
// # Connections
//
// A connection that was cut while no call used it is replaced: a restart of the server between two
// calls is not an error. If a connection is cut during a call, the error wraps [ErrLost], and the
// server has done all or nothing, as when ctx ends during the call. The caller may make the very
// same call again: the store recognizes an Append that was carried out by its writer, a message by
// its ID, and a lease by its holder.
//
// Each connection has settings of its own (search_path, synchronous_commit, and others). So a
// pooler between the store and the server must give a client the same connection of the server for
// as long as the client is connected: PgBouncer with pool_mode=session, not transaction.
//
// # Errors
//
// An error is a [*checkpoint.Error]. That of a failure names the server, the database, the schema,
// the run and the record, and says what to do; it wraps one of the kinds of failure of package
// checkpoint or of this package. No failure loses what was acknowledged. No error holds a password,
// or any part of a connection string that cannot be read.
//
// # Tables
//
// The table runs has a row for each run, records a row for each record, inbox a row for each
// message, and snapshots a row for each run that has a snapshot; segue_schema has the versions of
// the schema, with their times. Functions write the tables. Their names end with the version of the
// schema, such as append_4. A newer program drops or renames them, so that an older program that is
// still running is refused with [checkpoint.ErrNewer].
//
// A step changes its row of runs in place, and no index; autovacuum frees the room of the old row
// for the next step. A transaction that stays open for hours, anywhere on the server, prevents
// this.
//
// The data of a deleted run stay in free pages until they are overwritten. [Store.Vacuum] removes
// them from the tables. It does not reach the server's log (WAL), the archive of the log, standbys
// and backups.
//
// The texts of a [checkpoint.Header] are stored as JSON: bytes that are not UTF-8 come back as
// U+FFFD. The records of one batch, a message, and a snapshot may have 512 MiB each.
package pgstore
