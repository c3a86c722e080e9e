-- How many objects the type had on which a dictionary was trained: where there are many times as many, a new one may be better. The number of a
-- dictionary says of which type it is: 16 for each, from (type + 1) * 16 on.
ALTER TABLE dict ADD COLUMN objects INTEGER NOT NULL DEFAULT 0;
-- The other versions of a resource. A stream that is opened while its cluster shows one of them has `is_open` 3: it is hidden until it is live.
CREATE INDEX type_resource ON type (api_group, resource);
