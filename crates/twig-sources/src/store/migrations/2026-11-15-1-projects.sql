-- Projects, what they hold, and every version of it.

CREATE TABLE workspace (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  id BLOB NOT NULL,
  rev INTEGER NOT NULL,
  -- The seals of all projects, one XORed onto the other.
  state BLOB NOT NULL
) STRICT;

CREATE TABLE project (
  id BLOB NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created INTEGER NOT NULL,
  prompts INTEGER NOT NULL,
  resources INTEGER NOT NULL,
  -- The digests of the last versions of all that is not deleted, one XORed onto the other.
  state BLOB NOT NULL,
  -- The same of all that is deleted.
  buried BLOB NOT NULL,
  -- SHA-256 of all the above.
  seal BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE item (
  project BLOB NOT NULL REFERENCES project (id),
  kind TEXT NOT NULL CHECK (kind IN ('prompt', 'resource')),
  name TEXT NOT NULL,
  id BLOB NOT NULL UNIQUE,
  -- The number of its last version, and what that says.
  head INTEGER NOT NULL,
  deleted INTEGER NOT NULL CHECK (deleted IN (0, 1)),
  uri TEXT,
  PRIMARY KEY (project, kind, name)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX live_uri ON item (project, uri) WHERE deleted = 0 AND uri IS NOT NULL;

CREATE TABLE content (
  digest BLOB NOT NULL PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE version (
  item BLOB NOT NULL REFERENCES item (id),
  number INTEGER NOT NULL,
  operation TEXT NOT NULL CHECK (operation IN ('create', 'update', 'delete', 'restore')),
  restored_from INTEGER,
  description TEXT,
  uri TEXT,
  mime TEXT,
  -- The digest of its content: no reference, which would want an index and so a page in each write.
  content BLOB NOT NULL,
  size INTEGER NOT NULL,
  is_text INTEGER NOT NULL CHECK (is_text IN (0, 1)),
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  -- SHA-256 of all the above but the item, of which kind and name are in it.
  digest BLOB NOT NULL,
  PRIMARY KEY (item, number)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER version_is_final BEFORE UPDATE ON version
BEGIN
  SELECT RAISE(ABORT, 'a version never changes');
END;

CREATE TRIGGER content_is_final BEFORE UPDATE ON content
BEGIN
  SELECT RAISE(ABORT, 'content never changes');
END;
