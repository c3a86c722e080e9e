-- `active` has a third value: 0 waits for its purge, 1 is shown, 2 has left and may come back until `left_at` (seconds since 1970) is long enough
-- ago. `owner`: who looks after the cluster, so that nobody else lets it leave.
ALTER TABLE cluster ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE cluster ADD COLUMN left_at INTEGER NOT NULL DEFAULT 0;
