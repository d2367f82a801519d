-- What runs keep beside their journals: each value in parts of 64 KiB, the last of which has what is
-- left. A value without bytes has no parts. They go away with their run.
CREATE TABLE run_values (
  run  bigint NOT NULL REFERENCES runs ON DELETE CASCADE,
  size bigint NOT NULL,
  crc  integer NOT NULL, -- CRC-32C of the key, the id and the size
  id   text COLLATE "C" NOT NULL,
  PRIMARY KEY (run, id)
);
CREATE TABLE value_parts (
  run  bigint NOT NULL,
  part integer NOT NULL, -- from 0
  crc  integer NOT NULL, -- CRC-32C of the key, the id, the part and the data
  id   text COLLATE "C" NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (run, id, part),
  FOREIGN KEY (run, id) REFERENCES run_values ON DELETE CASCADE
);

-- Who may do something with snapshots may do it with values.
DO $$
DECLARE
  the_right record;
BEGIN
  FOR the_right IN
    SELECT a.privilege_type AS what, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS who
      FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = 'snapshots'::regclass AND a.grantee <> c.relowner
  LOOP
    EXECUTE format('GRANT %s ON run_values, value_parts TO %s', the_right.what, the_right.who);
  END LOOP;
END $$;

-- What writes has the number of this version from now on.
ALTER FUNCTION append_2 RENAME TO append_3;
ALTER FUNCTION lease_2 RENAME TO lease_3;
ALTER FUNCTION post_2 RENAME TO post_3;
ALTER FUNCTION delete_2 RENAME TO delete_3;
ALTER FUNCTION snapshot_2 RENAME TO snapshot_3;

-- value_3 keeps a value, unless the run has one of that id, and says whether there is such a run.
CREATE FUNCTION value_3(
  in_namespace text, in_run text, in_id text, in_size bigint, in_crc integer, in_crcs integer[], in_parts bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  the_id bigint;
BEGIN
  SELECT id INTO the_id FROM runs WHERE namespace = in_namespace AND run = in_run FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO run_values (run, size, crc, id) VALUES (the_id, in_size, in_crc, in_id) ON CONFLICT (run, id) DO NOTHING;
  IF FOUND THEN
    INSERT INTO value_parts (run, part, crc, id, data)
      SELECT the_id, n - 1, c, in_id, d FROM unnest(in_crcs, in_parts) WITH ORDINALITY AS u (c, d, n);
  END IF;
  RETURN true;
END $$;
