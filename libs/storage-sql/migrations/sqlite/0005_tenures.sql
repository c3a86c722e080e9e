-- The how manieth of its processes looks after what an owner has: one that was replaced and did not see it learns it here.
CREATE TABLE tenure (
    owner  TEXT    PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;
