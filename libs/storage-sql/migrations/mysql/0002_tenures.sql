-- The how manieth of its processes looks after what an owner has: one that was replaced and did not see it learns it here.
CREATE TABLE IF NOT EXISTS tenure (
    owner  VARBINARY(1024) NOT NULL PRIMARY KEY,
    number BIGINT          NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
