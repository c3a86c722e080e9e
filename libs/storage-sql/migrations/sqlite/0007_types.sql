-- The revision at which it was noted that no cluster has the type any more, 0 while one has. The row goes once the log no longer reaches back to it.
ALTER TABLE type ADD COLUMN unused INTEGER NOT NULL DEFAULT 0;
