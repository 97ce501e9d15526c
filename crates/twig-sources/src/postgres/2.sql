-- Rows are shown only to a transaction that has named their workspace, also to the owner of the tables.

DO $$
DECLARE
  part text;
BEGIN
  FOREACH part IN ARRAY ARRAY['project', 'item', 'content', 'version', 'change', 'label', 'protected_label'] LOOP
    EXECUTE format('ALTER TABLE twig.%I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE twig.%I FORCE ROW LEVEL SECURITY', part);
    EXECUTE format(
      'CREATE POLICY own_workspace ON twig.%I '
      'USING (workspace = NULLIF(current_setting(''twig.workspace'', true), '''')::uuid)', part);
  END LOOP;
END
$$;

-- Deletes a workspace with everything in it, for roles that may not delete changes.
CREATE FUNCTION twig.delete_workspace(gone uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM set_config('twig.workspace', gone::text, true);
  PERFORM set_config('twig.deleted_workspace', gone::text, true);
  DELETE FROM twig.label WHERE workspace = gone;
  DELETE FROM twig.protected_label WHERE workspace = gone;
  DELETE FROM twig.version WHERE workspace = gone;
  DELETE FROM twig.content WHERE workspace = gone;
  DELETE FROM twig.item WHERE workspace = gone;
  DELETE FROM twig.project WHERE workspace = gone;
  DELETE FROM twig.change WHERE workspace = gone;
  DELETE FROM twig.workspace WHERE id = gone;
END
$$;

REVOKE EXECUTE ON FUNCTION twig.delete_workspace(uuid) FROM PUBLIC;
