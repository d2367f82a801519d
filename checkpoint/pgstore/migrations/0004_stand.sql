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
