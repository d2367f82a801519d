-- What runs keep beside their journals: each value in parts of 64 KiB, the last of which has what is
-- left. A value without bytes has no parts.
CREATE TABLE run_values (
  run  INTEGER NOT NULL,
  id   TEXT NOT NULL,
  size INTEGER NOT NULL,
  sum  INTEGER NOT NULL, -- CRC-32C of the key, the id and the size
  PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE value_parts (
  run  INTEGER NOT NULL,
  id   TEXT NOT NULL,
  part INTEGER NOT NULL, -- from 0
  data BLOB NOT NULL,
  sum  INTEGER NOT NULL -- CRC-32C of the key, the id, the part and the data
) STRICT;
CREATE UNIQUE INDEX value_parts_by_place ON value_parts (run, id, part);
