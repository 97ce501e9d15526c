-- The tables of Twig. Files like this one are only ever added.

CREATE TABLE twig.meta (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- How many of these files were run, and the first version of Twig's tables that may read and write.
  schema integer NOT NULL,
  min_reader integer NOT NULL,
  min_writer integer NOT NULL
);

CREATE TABLE twig.workspace (
  id uuid PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  created bigint NOT NULL
);

CREATE TABLE twig.project (
  workspace uuid NOT NULL REFERENCES twig.workspace (id),
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  created bigint NOT NULL,
  -- Counts its changes.
  rev bigint NOT NULL,
  prompts bigint NOT NULL,
  resources bigint NOT NULL,
  history bigint NOT NULL,
  changed bigint NOT NULL,
  -- The digest of its last change.
  chain bytea,
  PRIMARY KEY (workspace, id),
  UNIQUE (workspace, name)
) WITH (fillfactor = 50);

CREATE TABLE twig.item (
  workspace uuid NOT NULL,
  project uuid NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('prompt', 'resource')),
  name text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  -- The numbers of its first version that is kept and of its last one, and what that says.
  first bigint NOT NULL DEFAULT 1,
  head bigint NOT NULL,
  deleted boolean NOT NULL,
  uri text COLLATE "C",
  PRIMARY KEY (workspace, project, kind, name),
  UNIQUE (workspace, id),
  FOREIGN KEY (workspace, project) REFERENCES twig.project (workspace, id)
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX live_uri ON twig.item (workspace, project, uri) WHERE NOT deleted AND uri IS NOT NULL;

CREATE TABLE twig.content (
  workspace uuid NOT NULL REFERENCES twig.workspace (id),
  digest bytea NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (workspace, digest)
);

CREATE TABLE twig.version (
  workspace uuid NOT NULL,
  item uuid NOT NULL,
  number bigint NOT NULL,
  operation text NOT NULL CHECK (operation IN ('create', 'update', 'delete', 'restore')),
  restored_from bigint,
  description text,
  uri text,
  mime text,
  content bytea NOT NULL,
  size bigint NOT NULL,
  is_text boolean NOT NULL,
  at bigint NOT NULL,
  author text NOT NULL,
  -- SHA-256 of all the above but the item, of which kind and name are in it.
  digest bytea NOT NULL,
  PRIMARY KEY (workspace, item, number)
);

CREATE TABLE twig.change (
  -- No references: the changes of a project outlive it.
  workspace uuid NOT NULL,
  project uuid NOT NULL,
  rev bigint NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('project', 'prompt', 'resource')),
  name text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  at bigint NOT NULL,
  prompts bigint NOT NULL,
  resources bigint NOT NULL,
  history bigint NOT NULL,
  action text NOT NULL,
  detail text,
  actor text,
  client text,
  -- SHA-256 of the digest before it and of all the above.
  digest bytea,
  PRIMARY KEY (workspace, project, rev)
);

CREATE TABLE twig.label (
  workspace uuid NOT NULL,
  project uuid NOT NULL,
  item uuid NOT NULL,
  label text COLLATE "C" NOT NULL,
  -- The version that it names.
  number bigint NOT NULL,
  PRIMARY KEY (workspace, project, item, label)
);

CREATE TABLE twig.protected_label (
  workspace uuid NOT NULL,
  project uuid NOT NULL,
  label text COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace, project, label)
);

CREATE FUNCTION twig.refuse_edit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Only the deletion of its whole workspace removes a change.
  IF TG_OP = 'DELETE' AND current_setting('twig.deleted_workspace', true) = OLD.workspace::text THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'rows of twig.% never change', TG_TABLE_NAME;
END
$$;

CREATE TRIGGER version_is_final BEFORE UPDATE ON twig.version FOR EACH ROW EXECUTE FUNCTION twig.refuse_edit();
CREATE TRIGGER content_is_final BEFORE UPDATE ON twig.content FOR EACH ROW EXECUTE FUNCTION twig.refuse_edit();
CREATE TRIGGER change_is_final BEFORE UPDATE OR DELETE ON twig.change FOR EACH ROW EXECUTE FUNCTION twig.refuse_edit();
