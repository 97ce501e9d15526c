-- How much the versions of a project take, and which ones are kept.
--
-- Both columns are only added, so that a server of an earlier Twig that has the file open goes on
-- writing rows that are right. It does not count what it writes; `twig workspace compact` counts again.

ALTER TABLE project ADD COLUMN history INTEGER NOT NULL DEFAULT 0;
ALTER TABLE item ADD COLUMN first INTEGER NOT NULL DEFAULT 1;

-- Labels and rows of every version, and each content once.
UPDATE project SET history =
  (SELECT coalesce(sum(512 + coalesce(length(CAST(version.description AS BLOB)), 0)
      + coalesce(length(CAST(version.uri AS BLOB)), 0)
      + coalesce(length(CAST(version.mime AS BLOB)), 0)), 0)
   FROM item JOIN version ON version.item = item.id WHERE item.project = project.id)
  + (SELECT coalesce(sum(size), 0) FROM
      (SELECT DISTINCT version.content, version.size
       FROM item JOIN version ON version.item = item.id WHERE item.project = project.id));
