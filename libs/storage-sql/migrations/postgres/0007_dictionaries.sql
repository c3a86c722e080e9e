-- How many objects the type had on which a dictionary was trained: where there are many times as many, a new one may be better. The number of a
-- dictionary says of which type it is: 16 for each, from (type + 1) * 16 on.
ALTER TABLE dict ADD COLUMN objects BIGINT NOT NULL DEFAULT 0;
