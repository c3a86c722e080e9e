-- When who looks after clusters said that they live, in seconds since 1970: what a synchro has is let be while that is not long ago, also while none
-- of its members answers.
CREATE TABLE owner (
    name TEXT    PRIMARY KEY,
    seen INTEGER NOT NULL
) WITHOUT ROWID;
