-- The last snapshot of each run that has one. It goes away with its run.
CREATE TABLE snapshots (
  run     bigint PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
  records integer NOT NULL, -- how many it stands for
  crc     integer NOT NULL, -- CRC-32C of the key, the number of records and the data
  data    bytea NOT NULL
);

-- Who may do something with the inbox may do it with snapshots.
DO $$
DECLARE
  the_right record;
BEGIN
  FOR the_right IN
    SELECT a.privilege_type AS what, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS who
      FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = 'inbox'::regclass AND a.grantee <> c.relowner
  LOOP
    EXECUTE format('GRANT %s ON snapshots TO %s', the_right.what, the_right.who);
  END LOOP;
END $$;

-- What writes has the number of this version from now on.
ALTER FUNCTION append_1 RENAME TO append_2;
ALTER FUNCTION lease_1 RENAME TO lease_2;
ALTER FUNCTION post_1 RENAME TO post_2;
ALTER FUNCTION delete_1 RENAME TO delete_2;

-- snapshot_2 keeps a snapshot, unless it is of no record, of more records than the run has, or of
-- fewer than the one that is kept. It returns the place of the last record of the run; null if there
-- is no such run.
CREATE FUNCTION snapshot_2(in_namespace text, in_run text, in_records bigint, in_crc integer, in_data bytea) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  the_id   bigint;
  the_last integer;
BEGIN
  SELECT id, last INTO the_id, the_last FROM runs WHERE namespace = in_namespace AND run = in_run FOR KEY SHARE;
  IF in_records BETWEEN 1 AND the_last THEN
    INSERT INTO snapshots AS s (run, records, crc, data) VALUES (the_id, in_records, in_crc, in_data)
      ON CONFLICT (run) DO UPDATE SET records = excluded.records, crc = excluded.crc, data = excluded.data
      WHERE s.records <= excluded.records;
  END IF;
  RETURN the_last;
END $$;
