-- What servers share besides workspaces: the keys and roles of people, and the sessions of clients.

-- One row, made here: if it is missing, it was lost, and servers let nobody in.
CREATE TABLE twig.access (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Counts its changes.
  rev bigint NOT NULL DEFAULT 0,
  -- All keys, by their digests, and all roles, as in the file of a server without a database; NULL before
  -- the first.
  record text,
  -- SHA-256 of it.
  digest bytea,
  CHECK ((record IS NULL) = (digest IS NULL))
);

INSERT INTO twig.access DEFAULT VALUES;

CREATE TABLE twig.session (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Seals the ids of sessions.
  key bytea NOT NULL CHECK (octet_length(key) = 32),
  -- How many sessions clients have ended.
  ended bigint NOT NULL DEFAULT 0
);

CREATE TABLE twig.ended_session (
  -- The value of `ended` with it.
  number bigint PRIMARY KEY,
  -- SHA-256 of the session's id.
  digest bytea NOT NULL,
  -- When the id is refused without this row, in milliseconds.
  until bigint NOT NULL
);

CREATE INDEX ended_session_until ON twig.ended_session (until);
