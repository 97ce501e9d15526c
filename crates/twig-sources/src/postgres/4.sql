-- Which commit all replicas serve of a library that follows a git repository.

CREATE TABLE IF NOT EXISTS twig.followed_library (
  -- SHA-256 of source, reference and folder.
  key text COLLATE "C" PRIMARY KEY,
  source text NOT NULL,
  -- The branch or tag, the commit that it named, and the digest over the files.
  reference text,
  commit text,
  tree text,
  files bigint NOT NULL DEFAULT 0,
  license text,
  signed_by text,
  -- When this was written, and which replica did.
  taken_at bigint NOT NULL DEFAULT 0,
  taken_by text,
  -- The newest commit, if it is not served, and why.
  refused_commit text,
  refused_message text,
  refused_help text,
  -- When the source last answered.
  looked_at bigint NOT NULL DEFAULT 0,
  -- How often a webhook came, and how many of these were followed.
  hints bigint NOT NULL DEFAULT 0,
  seen_hints bigint NOT NULL DEFAULT 0,
  -- Which replica asks the source, and until when.
  lease_by text,
  lease_until bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
