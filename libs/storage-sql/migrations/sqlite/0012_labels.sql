-- The labels by which searches choose a cluster, as `key=value` by key with commas between them; NULL: nobody has said them. A change takes a revision, and is stamped in `seq`.
ALTER TABLE cluster ADD COLUMN labels TEXT;
