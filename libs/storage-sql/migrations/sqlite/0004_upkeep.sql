-- `serves`: the oldest version of the schema that a binary has to know to use this store.
ALTER TABLE head ADD COLUMN serves INTEGER NOT NULL DEFAULT 1;

-- Work that one process does at a time. `holder`: which one, empty if none. `beat` grows with each of its steps: by that the others see that it lives.
-- `clock`: the milliseconds that it was held, counted by whoever held it. It never goes back, and stands still while nobody does the work.
CREATE TABLE lease (
    name   TEXT    NOT NULL PRIMARY KEY,
    holder TEXT    NOT NULL,
    beat   INTEGER NOT NULL,
    clock  INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO lease (name, holder, beat, clock) VALUES ('upkeep', '', 0, 0);

-- Which revision the head was at, and since when at the latest, by the clock of the lease: what was superseded up to there is as old as that.
CREATE TABLE milestone (
    rev INTEGER PRIMARY KEY,
    at  INTEGER NOT NULL
);
