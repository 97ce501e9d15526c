-- Digests of contents and of versions, and none above them.
--
-- What a project holds is counted in the row of its last change, so a write touches four pages: content,
-- item, version and change. Servers of an earlier Twig that have the file open find none of the
-- columns that they write, so they refuse to write until they are updated.

CREATE TABLE change (
  project BLOB NOT NULL REFERENCES project (id),
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
  PRIMARY KEY (project, rev)
) STRICT, WITHOUT ROWID;

INSERT INTO change (project, rev, kind, name, version, at, prompts, resources, history)
  SELECT id, 1, 'project', name, 0, created, prompts, resources, history FROM project;

CREATE TABLE new_version (
  -- No references: each would want an index and so a page in each write.
  item BLOB NOT NULL,
  number INTEGER NOT NULL,
  operation TEXT NOT NULL CHECK (operation IN ('create', 'update', 'delete', 'restore')),
  restored_from INTEGER,
  description TEXT,
  uri TEXT,
  mime TEXT,
  -- The digest of its content.
  content BLOB NOT NULL,
  size INTEGER NOT NULL,
  is_text INTEGER NOT NULL CHECK (is_text IN (0, 1)),
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  -- SHA-256 of all the above but the item, of which kind and name are in it.
  digest BLOB NOT NULL,
  PRIMARY KEY (item, number)
) STRICT, WITHOUT ROWID;

INSERT INTO new_version (item, number, operation, restored_from, description, uri, mime, content, size, is_text, at, author, digest)
  SELECT item, number, operation, restored_from, description, uri, mime, content, size, is_text, at, author, digest FROM version;

DROP TABLE version;
ALTER TABLE new_version RENAME TO version;

CREATE TRIGGER version_is_final BEFORE UPDATE ON version
BEGIN
  SELECT RAISE(ABORT, 'a version never changes');
END;

CREATE TABLE new_item (
  project BLOB NOT NULL REFERENCES project (id),
  kind TEXT NOT NULL CHECK (kind IN ('prompt', 'resource')),
  name TEXT NOT NULL,
  id BLOB NOT NULL,
  -- The numbers of its first version that is kept and of its last one, and what that says.
  first INTEGER NOT NULL DEFAULT 1,
  head INTEGER NOT NULL,
  deleted INTEGER NOT NULL CHECK (deleted IN (0, 1)),
  uri TEXT,
  PRIMARY KEY (project, kind, name)
) STRICT, WITHOUT ROWID;

INSERT INTO new_item (project, kind, name, id, first, head, deleted, uri)
  SELECT project, kind, name, id, first, head, deleted, uri FROM item;

DROP TABLE item;
ALTER TABLE new_item RENAME TO item;

CREATE UNIQUE INDEX live_uri ON item (project, uri) WHERE deleted = 0 AND uri IS NOT NULL;

ALTER TABLE project DROP COLUMN prompts;
ALTER TABLE project DROP COLUMN resources;
ALTER TABLE project DROP COLUMN state;
ALTER TABLE project DROP COLUMN buried;
ALTER TABLE project DROP COLUMN seal;
ALTER TABLE project DROP COLUMN history;

DROP TABLE changes;
DROP TABLE workspace;
