-- What each write touched, in order.

CREATE TABLE changes (
  rev INTEGER PRIMARY KEY,
  project BLOB NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('project', 'prompt', 'resource')),
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT;
