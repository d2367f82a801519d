-- One row for each run: how it stands. Times are nanoseconds since 1970.
CREATE TABLE runs (
  id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
  namespace    TEXT NOT NULL,
  run          TEXT NOT NULL,
  last         INTEGER NOT NULL, -- the place of its last record
  epoch        INTEGER NOT NULL,
  created      INTEGER NOT NULL,
  updated      INTEGER NOT NULL,
  lease_until  INTEGER NOT NULL, -- 0: nobody has it
  recoveries   INTEGER NOT NULL,
  status       TEXT NOT NULL, -- these four are in the header, too
  strategy     TEXT NOT NULL,
  origin       TEXT NOT NULL,
  due          INTEGER,
  writer       TEXT NOT NULL, -- of the last records
  lease_writer TEXT NOT NULL,
  header       TEXT NOT NULL, -- JSON
  sum          INTEGER NOT NULL -- CRC-32C of the key and the header
) STRICT;
CREATE UNIQUE INDEX runs_by_key ON runs (namespace, run);
CREATE INDEX runs_by_due ON runs (due) WHERE due IS NOT NULL;

-- The journals. A place is the id of the run and the number of the record, so that a run lies in one
-- piece, and is found without an index.
CREATE TABLE records (
  place INTEGER PRIMARY KEY,
  run   INTEGER GENERATED ALWAYS AS (place >> 32) VIRTUAL,
  seq   INTEGER GENERATED ALWAYS AS (place & 4294967295) VIRTUAL,
  type  TEXT NOT NULL,
  data  BLOB NOT NULL,
  sum   INTEGER NOT NULL -- CRC-32C of the key, the number, the type and the data
) STRICT;

-- What runs are listed by, each mark of a run in the order of lists.
CREATE TABLE marks (
  namespace TEXT NOT NULL,
  class     INTEGER NOT NULL, -- 0: the run itself, 1: its status, 2: strategy, 3: origin, 4: a label, 5: a kind of wait
  name      TEXT NOT NULL, -- of a label
  value     TEXT NOT NULL,
  created   INTEGER NOT NULL,
  run       INTEGER NOT NULL,
  PRIMARY KEY (namespace, class, name, value, created DESC, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX marks_of_all ON marks (class, name, value, created DESC, run);

-- Messages to runs that nobody has taken.
CREATE TABLE inbox (
  id      INTEGER PRIMARY KEY, -- in the order in which they were posted
  run     INTEGER NOT NULL,
  message TEXT NOT NULL,
  at      INTEGER NOT NULL,
  data    BLOB NOT NULL,
  sum     INTEGER NOT NULL -- CRC-32C of the key, the message's id and the data
) STRICT;
CREATE UNIQUE INDEX inbox_by_run ON inbox (run, message);
