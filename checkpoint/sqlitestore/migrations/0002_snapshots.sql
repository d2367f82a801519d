-- The last snapshot of each run that has one.
CREATE TABLE snapshots (
  run     INTEGER PRIMARY KEY,
  records INTEGER NOT NULL, -- how many it stands for
  data    BLOB NOT NULL,
  sum     INTEGER NOT NULL -- CRC-32C of the key, the number of records and the data
) STRICT;
