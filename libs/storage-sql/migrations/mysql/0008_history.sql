-- Resources of which superseded versions are kept for longer than the watch window: for so many milliseconds, and all of them together for no more than so many bytes (0: any
-- number). It is here so that no process needs to be told what the others were.
CREATE TABLE IF NOT EXISTS history (
    api_group VARBINARY(255) NOT NULL,
    resource  VARBINARY(255) NOT NULL,
    period    BIGINT NOT NULL,
    bytes     BIGINT NOT NULL,
    PRIMARY KEY (api_group, resource)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- From which revision on what was superseded is kept for the type's history; less than 0: for the watch window alone.
ALTER TABLE type ADD COLUMN history BIGINT NOT NULL DEFAULT -1;

-- `history`: what was superseded up to this revision is gone whatever its type is; between it and `pruned` there is what types with a history superseded.
-- Nothing is, as long as both are the same.
ALTER TABLE head ADD COLUMN history BIGINT NOT NULL DEFAULT 0;
UPDATE head SET history = pruned WHERE history < pruned AND NOT EXISTS (SELECT 1 FROM type WHERE history >= 0);

-- How many of the bytes are of types with a history; less than 0: nobody has counted yet.
ALTER TABLE milestone ADD COLUMN history BIGINT NOT NULL DEFAULT -1;

-- A history has names of objects in this namespace that were deleted up to this revision.
ALTER TABLE ns ADD COLUMN kept BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ns ADD KEY ns_empty (types, emptied, kept);
ALTER TABLE ns DROP KEY ns_types;
