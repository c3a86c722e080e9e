-- The how manieth of its processes looks after what an owner has: one that was replaced and did not see it learns it here.
CREATE TABLE tenure (
    owner  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL
) WITH (fillfactor = 50);
