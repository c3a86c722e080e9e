-- Namespace ids (nsid) stand for (cluster, namespace) and are the page order. Revisions (rev) are the commit order.

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

-- One row. `pruned`: versions that were superseded up to this revision are gone. `catalog` counts changes of what a snapshot holds.
CREATE TABLE head (
    id          INTEGER PRIMARY KEY,
    rev         INTEGER NOT NULL,
    pruned      INTEGER NOT NULL,
    catalog     INTEGER NOT NULL,
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
    categories  TEXT    NOT NULL
);
CREATE UNIQUE INDEX type_gvr ON type (api_group, version, resource);

-- One row for each incarnation of a cluster that has rows; `slot` numbers its range of nsids.
CREATE TABLE cluster (
    id          INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL,
    incarnation TEXT    NOT NULL,
    active      INTEGER NOT NULL,
    slot        INTEGER NOT NULL,
    in_order    INTEGER NOT NULL,
    healthy     INTEGER,
    reason      TEXT    NOT NULL,
    version     TEXT
);
CREATE UNIQUE INDEX cluster_slot ON cluster (slot);

CREATE TABLE ns (
    nsid      INTEGER PRIMARY KEY,
    cluster   INTEGER NOT NULL,
    namespace TEXT    NOT NULL
);
CREATE UNIQUE INDEX ns_key ON ns (cluster, namespace);
CREATE INDEX ns_namespace ON ns (namespace, nsid);

-- `rv_text` holds a member's resourceVersion that is not a number; `rv` is 0 then.
CREATE TABLE obj (
    oid        INTEGER PRIMARY KEY,
    type       INTEGER NOT NULL,
    nsid       INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    uid        TEXT    NOT NULL,
    created    INTEGER NOT NULL,
    rv         INTEGER NOT NULL,
    rv_text    TEXT,
    size       INTEGER NOT NULL,
    rev        INTEGER NOT NULL,
    label_hash INTEGER NOT NULL
);
CREATE UNIQUE INDEX obj_key ON obj (type, nsid, name);
CREATE INDEX obj_created ON obj (type, created, nsid);
CREATE INDEX obj_name ON obj (type, name, nsid);

-- `terms` are the sorted term hashes of the object at this revision, 8 bytes each, least significant first.
CREATE TABLE ver (
    rev      INTEGER PRIMARY KEY,
    prev_rev INTEGER NOT NULL,
    oid      INTEGER NOT NULL,
    op       INTEGER NOT NULL,
    type     INTEGER NOT NULL,
    nsid     INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    dict     INTEGER NOT NULL,
    terms    BLOB    NOT NULL,
    body     BLOB    NOT NULL
);

CREATE TABLE post (
    term      INTEGER NOT NULL,
    type      INTEGER NOT NULL,
    nsid      INTEGER NOT NULL,
    first_oid INTEGER NOT NULL,
    n         INTEGER NOT NULL,
    oids      BLOB    NOT NULL,
    PRIMARY KEY (term, type, nsid, first_oid)
) WITHOUT ROWID;

CREATE TABLE counter (
    type INTEGER NOT NULL,
    nsid INTEGER NOT NULL,
    n    INTEGER NOT NULL,
    PRIMARY KEY (type, nsid)
) WITHOUT ROWID;

-- `is_open` 0: hidden from reads, its rows wait for the purge. `phase`: 0 never written, 1 listing, 2 live.
CREATE TABLE stream (
    cluster INTEGER NOT NULL,
    type    INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    epoch   INTEGER NOT NULL,
    phase   INTEGER NOT NULL,
    rv      TEXT    NOT NULL,
    member  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (cluster, type)
) WITHOUT ROWID;

-- Trained dictionaries; numbers below 16 are built in and never stored.
CREATE TABLE dict (
    id    INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
);
