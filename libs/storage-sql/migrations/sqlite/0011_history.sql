-- Resources of which superseded versions are kept for longer than the watch window: for so many milliseconds, and all of them together for no more than so many bytes (0: any
-- number). It is here so that no process needs to be told what the others were.
CREATE TABLE history (
    api_group TEXT NOT NULL,
    resource  TEXT NOT NULL,
    period    INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    PRIMARY KEY (api_group, resource)
) WITHOUT ROWID;

-- From which revision on what was superseded is kept for the type's history; less than 0: for the watch window alone.
ALTER TABLE type ADD COLUMN history INTEGER NOT NULL DEFAULT -1;

-- `history`: what was superseded up to this revision is gone whatever its type is; between it and `pruned` there is what types with a history superseded.
-- Nothing is, as long as both are the same.
ALTER TABLE head ADD COLUMN history INTEGER NOT NULL DEFAULT 0;
UPDATE head SET history = pruned WHERE history < pruned AND NOT EXISTS (SELECT 1 FROM type WHERE history >= 0);

-- How many of the bytes are of types with a history; less than 0: nobody has counted yet.
ALTER TABLE milestone ADD COLUMN history INTEGER NOT NULL DEFAULT -1;

-- A history has names of objects in this namespace that were deleted up to this revision.
ALTER TABLE ns ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
CREATE INDEX ns_empty ON ns (types, emptied, kept);
DROP INDEX ns_types;
