-- Who made each change, in a chain; and labels of versions.
--
-- The chain of a project starts with its first change after this migration: earlier ones have no digest.
-- Servers of an earlier Twig that have the file open do not write the new columns, so they refuse to write
-- until they are updated.

CREATE TABLE new_change (
  -- No reference: the changes of a project outlive it.
  project BLOB NOT NULL,
  -- Counts the changes of the project.
  rev INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('project', 'prompt', 'resource')),
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  at INTEGER NOT NULL,
  -- What the project holds after the change, and the bytes that its versions take.
  prompts INTEGER NOT NULL,
  resources INTEGER NOT NULL,
  history INTEGER NOT NULL,
  -- What was done, and a label or a name that it was done with.
  action TEXT NOT NULL,
  detail TEXT,
  -- The person, if the server knows one, and the client, if it was one.
  actor TEXT,
  client TEXT,
  -- SHA-256 of the digest before it and of all the above.
  digest BLOB,
  PRIMARY KEY (project, rev)
) STRICT, WITHOUT ROWID;

INSERT INTO new_change (project, rev, kind, name, version, at, prompts, resources, history, action)
  SELECT project, rev, kind, name, version, at, prompts, resources, history, 'unknown' FROM change;

DROP TABLE change;
ALTER TABLE new_change RENAME TO change;

CREATE TRIGGER change_is_final BEFORE UPDATE ON change
BEGIN
  SELECT RAISE(ABORT, 'a change never changes');
END;

CREATE TRIGGER change_is_kept BEFORE DELETE ON change WHEN OLD.digest IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'a change is never removed');
END;

CREATE TABLE label (
  project BLOB NOT NULL,
  item BLOB NOT NULL,
  label TEXT NOT NULL,
  -- The version that it names.
  number INTEGER NOT NULL,
  PRIMARY KEY (project, item, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE protected_label (
  project BLOB NOT NULL,
  label TEXT NOT NULL,
  PRIMARY KEY (project, label)
) STRICT, WITHOUT ROWID;
