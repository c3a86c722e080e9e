-- Revisions (rev) are the commit order. A namespace id (nsid) stands for (cluster, namespace): the cluster's number times 2^32, plus a number
-- within it. Neither says anything about order: pages come in the order of names, which `counter` and the list of clusters have.

CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

-- The next free number of each kind of id.
CREATE TABLE allocation (
    name TEXT    NOT NULL PRIMARY KEY,
    next INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO allocation (name, next) VALUES ('cluster', 1), ('epoch', 1), ('object', 1), ('type', 1);

-- One row. `pruned`: versions that were superseded up to this revision are gone. `catalog` counts changes of clusters, types, streams and
-- health; each changed row carries the count of its change in `seq`, so that a reader asks only for what is new to it. `floor`: rows of `gone`
-- up to this count may have been dropped, so whoever knows no later state reads everything.
CREATE TABLE head (
    id          INTEGER PRIMARY KEY,
    rev         INTEGER NOT NULL,
    pruned      INTEGER NOT NULL,
    catalog     INTEGER NOT NULL,
    floor       INTEGER NOT NULL,
    incarnation TEXT    NOT NULL
);

CREATE TABLE type (
    id          INTEGER PRIMARY KEY,
    api_group   TEXT    NOT NULL,
    version     TEXT    NOT NULL,
    resource    TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    namespaced  INTEGER NOT NULL,
    singular    TEXT    NOT NULL,
    short_names TEXT    NOT NULL,
    categories  TEXT    NOT NULL,
    seq         INTEGER NOT NULL
);
CREATE UNIQUE INDEX type_gvr ON type (api_group, version, resource);
CREATE INDEX type_seq ON type (seq);

-- One row for each incarnation of a cluster that has rows. `next_namespace`: the next free number of a namespace within it.
CREATE TABLE cluster (
    id             INTEGER PRIMARY KEY,
    name           TEXT    NOT NULL,
    incarnation    TEXT    NOT NULL,
    active         INTEGER NOT NULL,
    next_namespace INTEGER NOT NULL,
    seq            INTEGER NOT NULL
);
CREATE INDEX cluster_name ON cluster (name);
CREATE INDEX cluster_active ON cluster (active, id);
CREATE INDEX cluster_seq ON cluster (seq);

-- Apart from `cluster`, because it changes often and nothing but warnings depends on it.
CREATE TABLE health (
    cluster INTEGER PRIMARY KEY,
    healthy INTEGER NOT NULL,
    reason  TEXT    NOT NULL,
    version TEXT,
    seq     INTEGER NOT NULL
);
CREATE INDEX health_seq ON health (seq);

-- `types`: how many types have objects there. `emptied`: the revision at which the last of them was gone; the row goes once the log no longer
-- reaches back to it.
CREATE TABLE ns (
    nsid      INTEGER PRIMARY KEY,
    cluster   INTEGER NOT NULL,
    namespace TEXT    NOT NULL,
    types     INTEGER NOT NULL,
    emptied   INTEGER NOT NULL
);
CREATE UNIQUE INDEX ns_key ON ns (cluster, namespace);
CREATE INDEX ns_types ON ns (types, emptied);

-- `rv_text` holds a member's resourceVersion that is not a number; `rv` is 0 then. `form` stands for the object's terms and the rules that it
-- was stored by: the same uid, resourceVersion and form are the same row.
CREATE TABLE obj (
    id      INTEGER PRIMARY KEY,
    type    INTEGER NOT NULL,
    nsid    INTEGER NOT NULL,
    name    TEXT    NOT NULL,
    uid     TEXT    NOT NULL,
    created INTEGER NOT NULL,
    rv      INTEGER NOT NULL,
    rv_text TEXT,
    size    INTEGER NOT NULL,
    rev     INTEGER NOT NULL,
    form    INTEGER NOT NULL
);
CREATE UNIQUE INDEX obj_key ON obj (type, nsid, name);
CREATE INDEX obj_created ON obj (type, created, nsid);
CREATE INDEX obj_name ON obj (type, name, nsid);

-- `terms` are the sorted term hashes of the object at this revision, 8 bytes each, least significant first; behind them those that are not
-- posted and, if there are any, how many those are in 4 bytes.
CREATE TABLE ver (
    rev      INTEGER PRIMARY KEY,
    prev_rev INTEGER NOT NULL,
    obj      INTEGER NOT NULL,
    op       INTEGER NOT NULL,
    type     INTEGER NOT NULL,
    nsid     INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    dict     INTEGER NOT NULL,
    terms    BLOB    NOT NULL,
    body     BLOB    NOT NULL
);

CREATE TABLE post (
    term     INTEGER NOT NULL,
    type     INTEGER NOT NULL,
    nsid     INTEGER NOT NULL,
    first_id INTEGER NOT NULL,
    n        INTEGER NOT NULL,
    ids      BLOB    NOT NULL,
    PRIMARY KEY (term, type, nsid, first_id)
) WITHOUT ROWID;

-- Where a type has objects, and how many: never 0. Its key is the page order within a cluster.
CREATE TABLE counter (
    type      INTEGER NOT NULL,
    cluster   INTEGER NOT NULL,
    namespace TEXT    NOT NULL,
    nsid      INTEGER NOT NULL,
    n         INTEGER NOT NULL,
    PRIMARY KEY (type, cluster, namespace)
) WITHOUT ROWID;

-- `is_open` 0: hidden from reads, its rows wait for the purge. `phase`: 0 never written, 1 listing, 2 live. `rules`: those that the rows were
-- stored by when the stream last became live. `objects`: the sum of its counters.
CREATE TABLE stream (
    cluster INTEGER NOT NULL,
    type    INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    epoch   INTEGER NOT NULL,
    phase   INTEGER NOT NULL,
    rv      TEXT    NOT NULL,
    member  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    rules   INTEGER NOT NULL,
    objects INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (cluster, type)
) WITHOUT ROWID;
CREATE INDEX stream_open ON stream (is_open, cluster, type);
CREATE INDEX stream_seq ON stream (seq);

-- Clusters (`type` 0) and streams that were purged, with the count of the change that hid them: whoever has not heard of that yet reads it here.
CREATE TABLE gone (
    seq     INTEGER NOT NULL,
    cluster INTEGER NOT NULL,
    type    INTEGER NOT NULL,
    PRIMARY KEY (seq, cluster, type)
) WITHOUT ROWID;

-- Label keys, as terms, whose values tell the objects of a type apart: from the count `seq` of the catalogue on, objects that are written are
-- posted under the key, and under the value no more. `rev`: no object was posted under a value after this revision. A row is never taken back,
-- for there may always be such an object.
CREATE TABLE unposted (
    type INTEGER NOT NULL,
    term INTEGER NOT NULL,
    rev  INTEGER NOT NULL,
    seq  INTEGER NOT NULL,
    PRIMARY KEY (type, term)
) WITHOUT ROWID;
CREATE INDEX unposted_seq ON unposted (seq);

-- Trained dictionaries; numbers below 16 are built in and never stored.
CREATE TABLE dict (
    id    INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
);
