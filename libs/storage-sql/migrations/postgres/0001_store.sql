-- Revisions (rev) are the commit order. A namespace id (nsid) stands for (cluster, namespace): the cluster's number times 2^32, plus a number
-- within it. Neither says anything about order: pages come in the order of names, which `counter` and the list of clusters have.
--
-- Texts are compared byte by byte (COLLATE "C"), whatever the database's own collation. Where rows are updated in place a page has room for the
-- next version of some, so that no index learns of it (fillfactor), and what was superseded is given back after so many changes, not after a
-- fifth of a table of millions, and without resting in between (autovacuum). What is packed already is not compressed once more (EXTERNAL).

CREATE TABLE meta (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL
);

-- The next free number of each kind of id.
CREATE TABLE allocation (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    next BIGINT NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
INSERT INTO allocation (name, next) VALUES ('cluster', 1), ('epoch', 1), ('object', 1), ('type', 1);

-- One row. `pruned`: versions that were superseded up to this revision are gone. `catalog` counts changes of clusters, types, streams and
-- health; each changed row carries the count of its change in `seq`, so that a reader asks only for what is new to it. `floor`: rows of `gone`
-- up to this count may have been dropped, so whoever knows no later state reads everything. `serves`: the oldest version of the schema that a
-- binary has to know to use this store.
CREATE TABLE head (
    id          BIGINT NOT NULL PRIMARY KEY,
    rev         BIGINT NOT NULL,
    pruned      BIGINT NOT NULL,
    catalog     BIGINT NOT NULL,
    floor       BIGINT NOT NULL,
    incarnation TEXT COLLATE "C" NOT NULL,
    serves      BIGINT NOT NULL DEFAULT 1
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE type (
    id          BIGINT NOT NULL PRIMARY KEY,
    api_group   TEXT COLLATE "C" NOT NULL,
    version     TEXT COLLATE "C" NOT NULL,
    resource    TEXT COLLATE "C" NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    namespaced  BIGINT NOT NULL,
    singular    TEXT COLLATE "C" NOT NULL,
    short_names TEXT COLLATE "C" NOT NULL,
    categories  TEXT COLLATE "C" NOT NULL,
    seq         BIGINT NOT NULL
);
CREATE UNIQUE INDEX type_gvr ON type (api_group, version, resource);
CREATE INDEX type_seq ON type (seq);

-- One row for each incarnation of a cluster that has rows. `active`: 0 waits for its purge, 1 is shown, 2 has left and may come back until
-- `left_at` (seconds since 1970) is long enough ago. `owner`: who looks after the cluster, so that nobody else lets it leave. `next_namespace`:
-- the next free number of a namespace within it.
CREATE TABLE cluster (
    id             BIGINT NOT NULL PRIMARY KEY,
    name           TEXT COLLATE "C" NOT NULL,
    incarnation    TEXT COLLATE "C" NOT NULL,
    active         BIGINT NOT NULL,
    next_namespace BIGINT NOT NULL,
    seq            BIGINT NOT NULL,
    owner          TEXT COLLATE "C" NOT NULL DEFAULT '',
    left_at        BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE INDEX cluster_name ON cluster (name);
CREATE INDEX cluster_active ON cluster (active, id);
CREATE INDEX cluster_seq ON cluster (seq);

-- When who looks after clusters said that they live, in seconds since 1970.
CREATE TABLE owner (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    seen BIGINT NOT NULL
) WITH (fillfactor = 50);

-- Apart from `cluster`, because it changes often and nothing but warnings depends on it.
CREATE TABLE health (
    cluster BIGINT NOT NULL PRIMARY KEY,
    healthy BIGINT NOT NULL,
    reason  TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C",
    seq     BIGINT NOT NULL
);
CREATE INDEX health_seq ON health (seq);

-- `types`: how many types have objects there. `emptied`: the revision at which the last of them was gone; the row goes once the log no longer
-- reaches back to it.
CREATE TABLE ns (
    nsid      BIGINT NOT NULL PRIMARY KEY,
    cluster   BIGINT NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    types     BIGINT NOT NULL,
    emptied   BIGINT NOT NULL
);
CREATE UNIQUE INDEX ns_key ON ns (cluster, namespace);
CREATE INDEX ns_types ON ns (types, emptied);

-- `rv_text` holds a member's resourceVersion that is not a number; `rv` is 0 then. `form` stands for the object's terms and the rules that it
-- was stored by: the same uid, resourceVersion and form are the same row. The indexes that are walked end with the id, which makes their order
-- total.
CREATE TABLE obj (
    id      BIGINT NOT NULL PRIMARY KEY,
    type    BIGINT NOT NULL,
    nsid    BIGINT NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    uid     TEXT COLLATE "C" NOT NULL,
    created BIGINT NOT NULL,
    rv      BIGINT NOT NULL,
    rv_text TEXT COLLATE "C",
    size    BIGINT NOT NULL,
    rev     BIGINT NOT NULL,
    form    BIGINT NOT NULL
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX obj_created ON obj (type, created, nsid, id);
CREATE INDEX obj_name ON obj (type, name, nsid, id);
-- The last: of two indexes that would do just as well the younger one is taken, and rows of a namespace stand together in this one.
CREATE UNIQUE INDEX obj_key ON obj (type, nsid, name);

-- `terms` are the sorted term hashes of the object at this revision, 8 bytes each, least significant first; behind them those that are not
-- posted and, if there are any, how many those are in 4 bytes.
CREATE TABLE ver (
    rev      BIGINT NOT NULL PRIMARY KEY,
    prev_rev BIGINT NOT NULL,
    obj      BIGINT NOT NULL,
    op       BIGINT NOT NULL,
    type     BIGINT NOT NULL,
    nsid     BIGINT NOT NULL,
    name     TEXT COLLATE "C" NOT NULL,
    dict     BIGINT NOT NULL,
    terms    BYTEA NOT NULL,
    body     BYTEA NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE ver ALTER COLUMN terms SET STORAGE EXTERNAL, ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE post (
    term     BIGINT NOT NULL,
    type     BIGINT NOT NULL,
    nsid     BIGINT NOT NULL,
    first_id BIGINT NOT NULL,
    n        BIGINT NOT NULL,
    ids      BYTEA NOT NULL,
    PRIMARY KEY (term, type, nsid, first_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE post ALTER COLUMN ids SET STORAGE EXTERNAL;

-- Where a type has objects, and how many: never 0. Its key is the page order within a cluster.
CREATE TABLE counter (
    type      BIGINT NOT NULL,
    cluster   BIGINT NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    nsid      BIGINT NOT NULL,
    n         BIGINT NOT NULL,
    PRIMARY KEY (type, cluster, namespace)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

-- `is_open` 0: hidden from reads, its rows wait for the purge; 2: kept, and hidden until its writer writes. `phase`: 0 never written, 1 listing,
-- 2 live. `rules`: those that the rows were stored by when the stream last became live. `objects`: the sum of its counters.
CREATE TABLE stream (
    cluster BIGINT NOT NULL,
    type    BIGINT NOT NULL,
    is_open BIGINT NOT NULL,
    epoch   BIGINT NOT NULL,
    phase   BIGINT NOT NULL,
    rv      TEXT COLLATE "C" NOT NULL,
    member  TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    rules   BIGINT NOT NULL,
    objects BIGINT NOT NULL,
    seq     BIGINT NOT NULL,
    PRIMARY KEY (cluster, type)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX stream_open ON stream (is_open, cluster, type);
CREATE INDEX stream_seq ON stream (seq);

-- Clusters (`type` 0) and streams that were purged, with the count of the change that hid them: whoever has not heard of that yet reads it here.
CREATE TABLE gone (
    seq     BIGINT NOT NULL,
    cluster BIGINT NOT NULL,
    type    BIGINT NOT NULL,
    PRIMARY KEY (seq, cluster, type)
);

-- Label keys, as terms, whose values tell the objects of a type apart: from the count `seq` of the catalogue on, objects that are written are
-- posted under the key, and under the value no more. `rev`: no object was posted under a value after this revision. A row is never taken back,
-- for there may always be such an object.
CREATE TABLE unposted (
    type BIGINT NOT NULL,
    term BIGINT NOT NULL,
    rev  BIGINT NOT NULL,
    seq  BIGINT NOT NULL,
    PRIMARY KEY (type, term)
);
CREATE INDEX unposted_seq ON unposted (seq);

-- Trained dictionaries; numbers below 16 are built in and never stored.
CREATE TABLE dict (
    id    BIGINT NOT NULL PRIMARY KEY,
    bytes BYTEA NOT NULL
);

-- Work that one process does at a time. `holder`: which one, empty if none. `beat` grows with each of its steps: by that the others see that it lives.
-- `clock`: the milliseconds that it was held, counted by whoever held it. It never goes back, and stands still while nobody does the work.
CREATE TABLE lease (
    name   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    beat   BIGINT NOT NULL,
    clock  BIGINT NOT NULL
) WITH (fillfactor = 50);
INSERT INTO lease (name, holder, beat, clock) VALUES ('upkeep', '', 0, 0);

-- Which revision the head was at, and since when at the latest, by the clock of the lease: what was superseded up to there is as old as that.
CREATE TABLE milestone (
    rev BIGINT NOT NULL PRIMARY KEY,
    at  BIGINT NOT NULL
);
