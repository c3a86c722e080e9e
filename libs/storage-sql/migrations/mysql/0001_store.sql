-- What each table and column is for stands in migrations/sqlite. Here each statement may be run again: a change of the schema is a transaction of its own
-- on MySQL, so a process that dies between two of them, or another one beside it, runs them once more.
--
-- Texts are VARBINARY: compared byte by byte, without case, padding or another's collation. What a member sends of them is bounded at 1,024 bytes on
-- its way in; what is in no key and comes from elsewhere is a BLOB.

CREATE TABLE IF NOT EXISTS meta (
    name  VARBINARY(255) NOT NULL PRIMARY KEY,
    value BLOB           NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS allocation (
    name VARBINARY(255) NOT NULL PRIMARY KEY,
    next BIGINT         NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
INSERT IGNORE INTO allocation (name, next) VALUES ('cluster', 1), ('epoch', 1), ('object', 1), ('type', 1);

CREATE TABLE IF NOT EXISTS head (
    id          BIGINT         NOT NULL PRIMARY KEY,
    rev         BIGINT         NOT NULL,
    pruned      BIGINT         NOT NULL,
    catalog     BIGINT         NOT NULL,
    floor       BIGINT         NOT NULL,
    incarnation VARBINARY(255) NOT NULL,
    serves      BIGINT         NOT NULL DEFAULT 1
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS lease (
    name   VARBINARY(255) NOT NULL PRIMARY KEY,
    holder VARBINARY(255) NOT NULL,
    beat   BIGINT         NOT NULL,
    clock  BIGINT         NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
INSERT IGNORE INTO lease (name, holder, beat, clock) VALUES ('upkeep', '', 0, 0);

CREATE TABLE IF NOT EXISTS milestone (
    rev BIGINT NOT NULL PRIMARY KEY,
    at  BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Three names in one key have 3,072 bytes.
CREATE TABLE IF NOT EXISTS type (
    id          INT             NOT NULL PRIMARY KEY,
    api_group   VARBINARY(1000) NOT NULL,
    version     VARBINARY(1000) NOT NULL,
    resource    VARBINARY(1000) NOT NULL,
    kind        BLOB            NOT NULL,
    namespaced  TINYINT         NOT NULL,
    singular    BLOB            NOT NULL,
    short_names BLOB            NOT NULL,
    categories  BLOB            NOT NULL,
    seq         BIGINT          NOT NULL,
    UNIQUE KEY type_gvr (api_group, version, resource),
    KEY type_seq (seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS cluster (
    id             BIGINT          NOT NULL PRIMARY KEY,
    name           VARBINARY(1024) NOT NULL,
    incarnation    VARBINARY(1024) NOT NULL,
    active         TINYINT         NOT NULL,
    next_namespace BIGINT          NOT NULL,
    seq            BIGINT          NOT NULL,
    owner          VARBINARY(1024) NOT NULL DEFAULT '',
    left_at        BIGINT          NOT NULL DEFAULT 0,
    KEY cluster_name (name),
    KEY cluster_active (active, id),
    KEY cluster_seq (seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS owner (
    name VARBINARY(1024) NOT NULL PRIMARY KEY,
    seen BIGINT          NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS health (
    cluster BIGINT  NOT NULL PRIMARY KEY,
    healthy TINYINT NOT NULL,
    reason  BLOB    NOT NULL,
    version BLOB,
    seq     BIGINT  NOT NULL,
    KEY health_seq (seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS ns (
    nsid      BIGINT          NOT NULL PRIMARY KEY,
    cluster   BIGINT          NOT NULL,
    namespace VARBINARY(1024) NOT NULL,
    types     INT             NOT NULL,
    emptied   BIGINT          NOT NULL,
    UNIQUE KEY ns_key (cluster, namespace),
    KEY ns_types (types, emptied)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS obj (
    id      BIGINT          NOT NULL PRIMARY KEY,
    type    INT             NOT NULL,
    nsid    BIGINT          NOT NULL,
    name    VARBINARY(1024) NOT NULL,
    uid     VARBINARY(1024) NOT NULL,
    created BIGINT          NOT NULL,
    rv      BIGINT          NOT NULL,
    rv_text VARBINARY(1024),
    size    INT             NOT NULL,
    rev     BIGINT          NOT NULL,
    form    BIGINT          NOT NULL,
    UNIQUE KEY obj_key (type, nsid, name),
    KEY obj_created (type, created, nsid),
    KEY obj_name (type, name, nsid)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS ver (
    rev      BIGINT          NOT NULL PRIMARY KEY,
    prev_rev BIGINT          NOT NULL,
    obj      BIGINT          NOT NULL,
    op       TINYINT         NOT NULL,
    type     INT             NOT NULL,
    nsid     BIGINT          NOT NULL,
    name     VARBINARY(1024) NOT NULL,
    dict     INT             NOT NULL,
    terms    MEDIUMBLOB      NOT NULL,
    body     LONGBLOB        NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS post (
    term     BIGINT NOT NULL,
    type     INT    NOT NULL,
    nsid     BIGINT NOT NULL,
    first_id BIGINT NOT NULL,
    n        INT    NOT NULL,
    ids      BLOB   NOT NULL,
    PRIMARY KEY (term, type, nsid, first_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS counter (
    type      INT             NOT NULL,
    cluster   BIGINT          NOT NULL,
    namespace VARBINARY(1024) NOT NULL,
    nsid      BIGINT          NOT NULL,
    n         BIGINT          NOT NULL,
    PRIMARY KEY (type, cluster, namespace)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS stream (
    cluster BIGINT  NOT NULL,
    type    INT     NOT NULL,
    is_open TINYINT NOT NULL,
    epoch   BIGINT  NOT NULL,
    phase   TINYINT NOT NULL,
    rv      BLOB    NOT NULL,
    member  BLOB    NOT NULL,
    at      BIGINT  NOT NULL,
    rules   BIGINT  NOT NULL,
    objects BIGINT  NOT NULL,
    seq     BIGINT  NOT NULL,
    PRIMARY KEY (cluster, type),
    KEY stream_open (is_open, cluster, type),
    KEY stream_seq (seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS gone (
    seq     BIGINT NOT NULL,
    cluster BIGINT NOT NULL,
    type    INT    NOT NULL,
    PRIMARY KEY (seq, cluster, type)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS unposted (
    type INT    NOT NULL,
    term BIGINT NOT NULL,
    rev  BIGINT NOT NULL,
    seq  BIGINT NOT NULL,
    PRIMARY KEY (type, term),
    KEY unposted_seq (seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS dict (
    id    BIGINT     NOT NULL PRIMARY KEY,
    bytes MEDIUMBLOB NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
