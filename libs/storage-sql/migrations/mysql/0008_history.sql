-- `history`: what was superseded up to this revision is gone whatever its type is; between it and `pruned` there is what types with a history superseded.
-- Nothing is, as long as both are the same.
ALTER TABLE head ADD COLUMN history BIGINT NOT NULL DEFAULT 0;
UPDATE head SET history = pruned WHERE history < pruned;
-- From which revision on what was superseded is kept for the type's history; less than 0: for the watch window alone.
ALTER TABLE type ADD COLUMN history BIGINT NOT NULL DEFAULT -1;
-- How many of the bytes are of types with a history; less than 0: nobody has counted yet.
ALTER TABLE milestone ADD COLUMN history BIGINT NOT NULL DEFAULT 0;
