-- One row for each run: how it stands.
CREATE TABLE runs (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- never given twice
  namespace    text COLLATE "C" NOT NULL,
  run          text COLLATE "C" NOT NULL,
  last         integer NOT NULL, -- the place of its last record
  recoveries   integer NOT NULL,
  epoch        bigint NOT NULL,
  created      timestamptz NOT NULL,
  updated      timestamptz NOT NULL,
  lease_until  timestamptz, -- null: nobody has it
  due          bigint, -- nanoseconds since 1970, from the header
  state        uuid NOT NULL, -- the mark of the status
  crc          integer NOT NULL, -- CRC-32C of the key and the header
  writer       text COLLATE "C" NOT NULL, -- of the last records
  lease_writer text COLLATE "C" NOT NULL,
  marks        uuid[] NOT NULL, -- what else the run is listed by: hashes of strategy, origin, labels and kinds of waits
  header       json NOT NULL
) WITH (fillfactor = 80); -- so that a step changes no index

CREATE UNIQUE INDEX runs_by_key ON runs (namespace, run);
CREATE INDEX runs_by_time ON runs (namespace, created DESC, run);
CREATE INDEX runs_by_state ON runs (namespace, state, created DESC, run);
CREATE INDEX runs_of_all_by_time ON runs (created DESC, namespace, run);
CREATE INDEX runs_of_all_by_state ON runs (state, created DESC, namespace, run);
CREATE INDEX runs_by_due ON runs (due) WHERE due IS NOT NULL;
CREATE INDEX runs_by_mark ON runs USING gin (marks) WITH (fastupdate = off);

-- The journals. Records of a few KiB are kept in the row, as they are.
CREATE TABLE records (
  run  bigint NOT NULL,
  seq  integer NOT NULL,
  crc  integer NOT NULL, -- CRC-32C of the key, the place, the type and the data
  type text COLLATE "C" NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (run, seq)
) WITH (toast_tuple_target = 8160);

-- Messages to runs that nobody has taken.
CREATE TABLE inbox (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in the order in which they were posted
  run     bigint NOT NULL,
  at      timestamptz NOT NULL,
  crc     integer NOT NULL, -- CRC-32C of the key, the message's id and the data
  message text COLLATE "C" NOT NULL,
  data    bytea NOT NULL
);
CREATE UNIQUE INDEX inbox_by_run ON inbox (run, message);

-- What writes ends with the version of the schema. A migration drops these, so that programs of the
-- version before, which are still at work, cannot write any more.

-- append_1 adds a batch to a run and returns nothing, or says why not: 'missing', 'fenced' with the
-- epoch of the run, or 'conflict' with the place of its last record. Leases are microseconds, or -1
-- for the end. The first batch of a run has a header.
CREATE FUNCTION append_1(
  in_namespace text, in_run text, in_writer text, in_epoch bigint, in_lease bigint, in_progress boolean,
  in_count integer, in_next boolean, in_first bigint, in_final bigint, in_crcs integer[], in_types text[], in_data bytea[],
  in_taken text[], in_header json, in_crc integer, in_state uuid, in_marks uuid[], in_due bigint
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  the_id     bigint;
  the_last   integer;
  the_epoch  bigint;
  the_writer text;
  the_time   timestamptz;
BEGIN
  LOOP
    UPDATE runs SET
      last = last + in_count,
      epoch = in_epoch,
      updated = greatest(created, clock_timestamp()),
      writer = CASE WHEN in_count > 0 THEN in_writer ELSE writer END,
      lease_writer = CASE
        WHEN in_lease > 0 THEN in_writer
        WHEN in_epoch > epoch OR in_lease < 0 AND lease_writer = in_writer THEN ''
        ELSE lease_writer END,
      lease_until = CASE
        WHEN in_lease > 0 THEN clock_timestamp() + in_lease * interval '1 microsecond'
        WHEN in_epoch > epoch OR in_lease < 0 AND lease_writer = in_writer THEN NULL
        ELSE lease_until END,
      recoveries = CASE WHEN in_progress THEN 0 ELSE recoveries END,
      header = CASE WHEN in_header IS NULL THEN header ELSE in_header END,
      crc = CASE WHEN in_header IS NULL THEN crc ELSE in_crc END,
      state = CASE WHEN in_header IS NULL THEN state ELSE in_state END,
      marks = CASE WHEN in_header IS NULL THEN marks ELSE in_marks END,
      due = CASE WHEN in_header IS NULL THEN due ELSE in_due END
    WHERE namespace = in_namespace AND run = in_run AND epoch <= in_epoch AND (in_count = 0 OR in_next AND last = in_first - 1)
    RETURNING id INTO the_id;
    EXIT WHEN FOUND;

    SELECT last, epoch, writer INTO the_last, the_epoch, the_writer FROM runs WHERE namespace = in_namespace AND run = in_run;
    IF FOUND THEN
      IF in_count > 0 AND in_writer <> '' AND in_writer = the_writer AND in_final = the_last THEN
        RETURN NULL; -- it was added by an append that was the very same
      ELSIF in_epoch < the_epoch THEN
        RETURN 'fenced ' || the_epoch;
      ELSIF in_count > 0 AND (NOT in_next OR in_first <> the_last + 1) THEN
        RETURN 'conflict ' || the_last;
      END IF;
      CONTINUE; -- what was in the way has gone
    ELSIF in_count = 0 THEN
      RETURN 'missing';
    ELSIF NOT in_next OR in_first <> 1 THEN
      RETURN 'conflict 0';
    END IF;
    the_time := clock_timestamp();
    INSERT INTO runs (
      namespace, run, last, recoveries, epoch, created, updated, lease_until, due, state, crc, writer, lease_writer, marks, header
    ) VALUES (
      in_namespace, in_run, in_count, 0, in_epoch, the_time, the_time,
      CASE WHEN in_lease > 0 THEN the_time + in_lease * interval '1 microsecond' END,
      in_due, in_state, in_crc, in_writer, CASE WHEN in_lease > 0 THEN in_writer ELSE '' END, in_marks, in_header
    ) ON CONFLICT (namespace, run) DO NOTHING RETURNING id INTO the_id;
    EXIT WHEN FOUND;
  END LOOP;

  IF in_count = 1 THEN
    INSERT INTO records (run, seq, crc, type, data) VALUES (the_id, in_first, in_crcs[1], in_types[1], in_data[1]);
  ELSIF in_count > 1 THEN
    INSERT INTO records (run, seq, crc, type, data)
      SELECT the_id, in_first - 1 + n, c, t, d FROM unnest(in_crcs, in_types, in_data) WITH ORDINALITY AS u (c, t, d, n);
  END IF;
  IF in_taken IS NOT NULL THEN
    DELETE FROM inbox WHERE run = the_id AND message = ANY (in_taken);
  END IF;
  RETURN NULL;
END $$;

-- lease_1 gives or ends a lease, and returns the head as it is then; or 'missing' or 'leased'.
CREATE FUNCTION lease_1(
  in_namespace text, in_run text, in_writer text, in_lease bigint,
  OUT outcome text, OUT now_last integer, OUT now_epoch bigint, OUT now_created timestamptz, OUT now_updated timestamptz,
  OUT now_writer text, OUT now_until timestamptz, OUT now_recoveries integer, OUT now_header json, OUT now_crc integer
) LANGUAGE plpgsql AS $$
DECLARE
  the_id   bigint;
  the_time timestamptz;
BEGIN
  SELECT id, last, epoch, created, updated, lease_writer, lease_until, recoveries, header, crc
    INTO the_id, now_last, now_epoch, now_created, now_updated, now_writer, now_until, now_recoveries, now_header, now_crc
    FROM runs WHERE namespace = in_namespace AND run = in_run FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    outcome := 'missing';
    RETURN;
  END IF;
  the_time := clock_timestamp();
  outcome := 'done';
  IF in_lease <= 0 THEN
    IF now_writer <> in_writer THEN
      RETURN;
    END IF;
    now_writer := '';
    now_until := NULL;
  ELSE
    IF now_writer <> in_writer THEN
      IF now_until > the_time THEN
        outcome := 'leased';
        RETURN;
      END IF;
      IF now_writer <> '' THEN
        now_recoveries := now_recoveries + 1;
      END IF;
      now_epoch := now_epoch + 1;
      now_writer := in_writer;
    END IF;
    now_until := the_time + in_lease * interval '1 microsecond';
  END IF;
  UPDATE runs SET epoch = now_epoch, lease_writer = now_writer, lease_until = now_until, recoveries = now_recoveries WHERE id = the_id;
END $$;

-- post_1 keeps a message, and says whether there is such a run.
CREATE FUNCTION post_1(in_namespace text, in_run text, in_message text, in_crc integer, in_data bytea) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  the_id bigint;
BEGIN
  SELECT id INTO the_id FROM runs WHERE namespace = in_namespace AND run = in_run FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO inbox (run, at, crc, message, data) VALUES (the_id, clock_timestamp(), in_crc, in_message, in_data)
    ON CONFLICT (run, message) DO NOTHING;
  RETURN true;
END $$;

-- delete_1 forgets runs. They are locked in one order, so that two who delete do not wait for each other.
CREATE FUNCTION delete_1(in_namespaces text[], in_runs text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  the_id  bigint;
  the_ids bigint[] := '{}';
BEGIN
  FOR the_id IN
    SELECT r.id FROM unnest(in_namespaces, in_runs) AS k (namespace, run)
      JOIN runs r ON r.namespace = k.namespace AND r.run = k.run
      ORDER BY r.id FOR UPDATE OF r
  LOOP
    the_ids := the_ids || the_id;
  END LOOP;
  DELETE FROM records WHERE run = ANY (the_ids);
  DELETE FROM inbox WHERE run = ANY (the_ids);
  DELETE FROM runs WHERE id = ANY (the_ids);
END $$;

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

-- What writes has the number of this version from now on.
ALTER FUNCTION append_3 RENAME TO append_4;
ALTER FUNCTION lease_3 RENAME TO lease_4;
ALTER FUNCTION post_3 RENAME TO post_4;
ALTER FUNCTION delete_3 RENAME TO delete_4;
ALTER FUNCTION snapshot_3 RENAME TO snapshot_4;
ALTER FUNCTION value_3 RENAME TO value_4;

-- stand_4 returns the checksum of what changes with each step of a run: the beginning of a SHA-256.
CREATE FUNCTION stand_4(
  in_namespace text, in_run text, in_last integer, in_epoch bigint, in_recoveries integer, in_writer text, in_until timestamptz
) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT encode(substring(sha256(convert_to(
    in_last || ' ' || in_epoch || ' ' || in_recoveries || ' ' || coalesce((extract(epoch FROM in_until) * 1000000)::bigint, 0)
      || ' ' || in_writer || ' ' || in_namespace || ' ' || in_run, 'UTF8')) FOR 16), 'hex')::uuid
$$;

ALTER TABLE runs ADD COLUMN stand uuid; -- of last, epoch, recoveries, lease_writer and lease_until
UPDATE runs SET stand = stand_4(namespace, run, last, epoch, recoveries, lease_writer, lease_until);
ALTER TABLE runs ALTER COLUMN stand SET NOT NULL;

-- older_4 refuses what a call of an older program changes that began before this migration: the call
-- runs to its end with the text that its function had.
CREATE FUNCTION older_4() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE undefined_function USING MESSAGE = 'a newer program has changed the schema';
END $$;
CREATE TRIGGER older AFTER UPDATE ON runs FOR EACH ROW
  WHEN (NEW.stand = OLD.stand AND (NEW.last, NEW.epoch, NEW.recoveries, NEW.lease_writer, NEW.lease_until)
    IS DISTINCT FROM (OLD.last, OLD.epoch, OLD.recoveries, OLD.lease_writer, OLD.lease_until))
  EXECUTE FUNCTION older_4();

-- append_4 is append_3 that checks the checksum of the run, and writes another: 'damaged' says that
-- it does not match.
CREATE OR REPLACE FUNCTION append_4(
  in_namespace text, in_run text, in_writer text, in_epoch bigint, in_lease bigint, in_progress boolean,
  in_count integer, in_next boolean, in_first bigint, in_final bigint, in_crcs integer[], in_types text[], in_data bytea[],
  in_taken text[], in_header json, in_crc integer, in_state uuid, in_marks uuid[], in_due bigint
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  the_id     bigint;
  the_last   integer;
  the_epoch  bigint;
  the_writer text;
  the_sound  boolean;
  the_time   timestamptz;
BEGIN
  LOOP
    the_time := clock_timestamp();
    UPDATE runs SET
      last = last + in_count,
      epoch = in_epoch,
      updated = greatest(created, the_time),
      writer = CASE WHEN in_count > 0 THEN in_writer ELSE writer END,
      lease_writer = CASE
        WHEN in_lease > 0 THEN in_writer
        WHEN in_epoch > epoch OR in_lease < 0 AND lease_writer = in_writer THEN ''
        ELSE lease_writer END,
      lease_until = CASE
        WHEN in_lease > 0 THEN the_time + in_lease * interval '1 microsecond'
        WHEN in_epoch > epoch OR in_lease < 0 AND lease_writer = in_writer THEN NULL
        ELSE lease_until END,
      recoveries = CASE WHEN in_progress THEN 0 ELSE recoveries END,
      stand = stand_4(namespace, run, last + in_count, in_epoch, CASE WHEN in_progress THEN 0 ELSE recoveries END,
        CASE
          WHEN in_lease > 0 THEN in_writer
          WHEN in_epoch > epoch OR in_lease < 0 AND lease_writer = in_writer THEN ''
          ELSE lease_writer END,
        CASE
          WHEN in_lease > 0 THEN the_time + in_lease * interval '1 microsecond'
          WHEN in_epoch > epoch OR in_lease < 0 AND lease_writer = in_writer THEN NULL
          ELSE lease_until END),
      header = CASE WHEN in_header IS NULL THEN header ELSE in_header END,
      crc = CASE WHEN in_header IS NULL THEN crc ELSE in_crc END,
      state = CASE WHEN in_header IS NULL THEN state ELSE in_state END,
      marks = CASE WHEN in_header IS NULL THEN marks ELSE in_marks END,
      due = CASE WHEN in_header IS NULL THEN due ELSE in_due END
    WHERE namespace = in_namespace AND run = in_run AND epoch <= in_epoch AND (in_count = 0 OR in_next AND last = in_first - 1)
      AND stand = stand_4(namespace, run, last, epoch, recoveries, lease_writer, lease_until)
    RETURNING id INTO the_id;
    EXIT WHEN FOUND;

    SELECT last, epoch, writer, stand = stand_4(namespace, run, last, epoch, recoveries, lease_writer, lease_until)
      INTO the_last, the_epoch, the_writer, the_sound FROM runs WHERE namespace = in_namespace AND run = in_run;
    IF FOUND THEN
      IF NOT the_sound THEN
        RETURN 'damaged';
      ELSIF in_count > 0 AND in_writer <> '' AND in_writer = the_writer AND in_final = the_last THEN
        RETURN NULL; -- it was added by an append that was the very same
      ELSIF in_epoch < the_epoch THEN
        RETURN 'fenced ' || the_epoch;
      ELSIF in_count > 0 AND (NOT in_next OR in_first <> the_last + 1) THEN
        RETURN 'conflict ' || the_last;
      END IF;
      CONTINUE; -- what was in the way has gone
    ELSIF in_count = 0 THEN
      RETURN 'missing';
    ELSIF NOT in_next OR in_first <> 1 THEN
      RETURN 'conflict 0';
    END IF;
    INSERT INTO runs (
      namespace, run, last, recoveries, epoch, created, updated, lease_until, due, state, crc, writer, lease_writer, marks, header, stand
    ) VALUES (
      in_namespace, in_run, in_count, 0, in_epoch, the_time, the_time,
      CASE WHEN in_lease > 0 THEN the_time + in_lease * interval '1 microsecond' END,
      in_due, in_state, in_crc, in_writer, CASE WHEN in_lease > 0 THEN in_writer ELSE '' END, in_marks, in_header,
      stand_4(in_namespace, in_run, in_count, in_epoch, 0, CASE WHEN in_lease > 0 THEN in_writer ELSE '' END,
        CASE WHEN in_lease > 0 THEN the_time + in_lease * interval '1 microsecond' END)
    ) ON CONFLICT (namespace, run) DO NOTHING RETURNING id INTO the_id;
    EXIT WHEN FOUND;
  END LOOP;

  IF in_count = 1 THEN
    INSERT INTO records (run, seq, crc, type, data) VALUES (the_id, in_first, in_crcs[1], in_types[1], in_data[1]);
  ELSIF in_count > 1 THEN
    INSERT INTO records (run, seq, crc, type, data)
      SELECT the_id, in_first - 1 + n, c, t, d FROM unnest(in_crcs, in_types, in_data) WITH ORDINALITY AS u (c, t, d, n);
  END IF;
  IF in_taken IS NOT NULL THEN
    DELETE FROM inbox WHERE run = the_id AND message = ANY (in_taken);
  END IF;
  RETURN NULL;
END $$;

-- lease_4 is lease_3 that does the same; its outcome may be 'damaged'.
CREATE OR REPLACE FUNCTION lease_4(
  in_namespace text, in_run text, in_writer text, in_lease bigint,
  OUT outcome text, OUT now_last integer, OUT now_epoch bigint, OUT now_created timestamptz, OUT now_updated timestamptz,
  OUT now_writer text, OUT now_until timestamptz, OUT now_recoveries integer, OUT now_header json, OUT now_crc integer
) LANGUAGE plpgsql AS $$
DECLARE
  the_id    bigint;
  the_stand uuid;
  the_time  timestamptz;
BEGIN
  SELECT id, last, epoch, created, updated, lease_writer, lease_until, recoveries, header, crc, stand
    INTO the_id, now_last, now_epoch, now_created, now_updated, now_writer, now_until, now_recoveries, now_header, now_crc, the_stand
    FROM runs WHERE namespace = in_namespace AND run = in_run FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    outcome := 'missing';
    RETURN;
  ELSIF the_stand <> stand_4(in_namespace, in_run, now_last, now_epoch, now_recoveries, now_writer, now_until) THEN
    outcome := 'damaged';
    RETURN;
  END IF;
  the_time := clock_timestamp();
  outcome := 'done';
  IF in_lease <= 0 THEN
    IF now_writer <> in_writer THEN
      RETURN;
    END IF;
    now_writer := '';
    now_until := NULL;
  ELSE
    IF now_writer <> in_writer THEN
      IF now_until > the_time THEN
        outcome := 'leased';
        RETURN;
      END IF;
      IF now_writer <> '' THEN
        now_recoveries := now_recoveries + 1;
      END IF;
      now_epoch := now_epoch + 1;
      now_writer := in_writer;
    END IF;
    now_until := the_time + in_lease * interval '1 microsecond';
  END IF;
  UPDATE runs SET epoch = now_epoch, lease_writer = now_writer, lease_until = now_until, recoveries = now_recoveries,
    stand = stand_4(in_namespace, in_run, now_last, now_epoch, now_recoveries, now_writer, now_until)
    WHERE id = the_id;
END $$;

-- snapshot_4 is snapshot_3 that checks the checksum: it returns -1 if that does not match.
CREATE OR REPLACE FUNCTION snapshot_4(in_namespace text, in_run text, in_records bigint, in_crc integer, in_data bytea) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  the_id    bigint;
  the_last  integer;
  the_sound boolean;
BEGIN
  SELECT id, last, stand = stand_4(namespace, run, last, epoch, recoveries, lease_writer, lease_until)
    INTO the_id, the_last, the_sound FROM runs WHERE namespace = in_namespace AND run = in_run FOR KEY SHARE;
  IF NOT the_sound THEN
    RETURN -1;
  END IF;
  IF in_records BETWEEN 1 AND the_last THEN
    INSERT INTO snapshots AS s (run, records, crc, data) VALUES (the_id, in_records, in_crc, in_data)
      ON CONFLICT (run) DO UPDATE SET records = excluded.records, crc = excluded.crc, data = excluded.data
      WHERE s.records <= excluded.records;
  END IF;
  RETURN the_last;
END $$;

CREATE TABLE segue_schema (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());

INSERT INTO segue_schema OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::segue_schema, $$
[{"version":1,"at":"2026-11-27T09:08:15.791728+00:00"}, 
 {"version":2,"at":"2026-11-27T09:08:15.806215+00:00"}, 
 {"version":3,"at":"2026-11-27T09:08:15.832552+00:00"}, 
 {"version":4,"at":"2026-11-27T09:08:15.836209+00:00"}]
$$);

INSERT INTO runs OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::runs, $$
[{"id":1,"namespace":"","run":"runs","last":1,"recoveries":0,"epoch":1,"created":"2026-11-27T09:08:15.838316+00:00","updated":"2026-11-27T09:08:15.838316+00:00","lease_until":null,"due":null,"state":"e574f208-8f49-132f-589d-e9e8b4899642","crc":-582655858,"writer":"w","lease_writer":"","marks":["f27e75ce-c9e8-3457-1837-3e8b227946fd"],"header":{"status":"running","strategy":"s"},"stand":"7c5cd69f-dbcc-e875-82f2-852014883179"}, 
 {"id":2,"namespace":"","run":"waits","last":2,"recoveries":0,"epoch":1,"created":"2026-11-27T09:08:15.846171+00:00","updated":"2026-11-27T09:08:15.85083+00:00","lease_until":"2026-11-27T10:08:15.846171+00:00","due":1927857906000000007,"state":"d9e7d784-52f1-f3a4-9908-962a37098c27","crc":-1097432665,"writer":"w","lease_writer":"w","marks":["83e0e3a7-b9eb-5a43-a2f6-869b5ec054c0","d2d4d847-b024-a3a8-281f-6127e7d87419","dfe82d09-41d3-0fce-2914-37e35555939d","f27e75ce-c9e8-3457-1837-3e8b227946fd"],"header":{"status":"waiting","strategy":"s","waits":[{"id":"1","kind":"approval"}],"due":"2031-02-03T04:05:06.000000007Z","origin":{"run":"runs","record":1},"labels":{"team":"red"}},"stand":"f013c3f5-94d5-47b2-10ad-bdf728d6e72e"}]
$$);

INSERT INTO records OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::records, $$
[{"run":1,"seq":1,"crc":1041105868,"type":"t","data":"\\x7b227265636f7264223a317d"}, 
 {"run":2,"seq":1,"crc":697853768,"type":"t","data":"\\x7b227265636f7264223a317d"}, 
 {"run":2,"seq":2,"crc":243773218,"type":"t","data":"\\x7b227265636f7264223a327d"}]
$$);

INSERT INTO inbox OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::inbox, $$
[{"id":1,"run":2,"at":"2026-11-27T09:08:15.852062+00:00","crc":-1465909241,"message":"m","data":"\\x796573"}]
$$);

SELECT setval(pg_get_serial_sequence('runs', 'id'), 1000);

SELECT setval(pg_get_serial_sequence('inbox', 'id'), 1000);
