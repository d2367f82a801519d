-- CRC-32C of the key and of what changes with each step of a run: last, epoch, lease_until,
-- recoveries and lease_writer.
ALTER TABLE runs ADD COLUMN stand INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET stand = segue_sum(namespace, run, 'stand', last || ' ' || epoch || ' ' || lease_until || ' ' || recoveries || ' ' || lease_writer, '');
