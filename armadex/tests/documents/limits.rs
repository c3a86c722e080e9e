//! The numbers of docs/limits.md are those of the sources, and each limit that the sources have is there. What docs/compatibility.md says of what is stored has numbers of
//! its own.

use std::path::{Path, PathBuf};

use super::{document, root};

/// What docs/limits.md says of a limit, and the constant of the API server's sources that makes it so.
const FIXED_LIMITS: [(&str, &str, &str); 53] = [
    (
        "requests, bytes, connections and turns of reviews at most | a quarter |",
        "server/slots.rs",
        "PART: usize = 4",
    ),
    (
        "requests, bytes, connections and turns of reviews at most | a quarter |",
        "answer/budget.rs",
        "SHARES: usize = 4",
    ),
    (
        "the last quarter is for who has none |",
        "turns.rs",
        "LAST: usize = 4",
    ),
    (
        "| a TLS handshake | 10 s |",
        "server/connection.rs",
        "HANDSHAKE: Duration = Duration::from_secs(10)",
    ),
    (
        "| certificates of a client | 16 KiB, ",
        "server/tls/peer.rs",
        "MAX_CHAIN: usize = 16 << 10",
    ),
    (
        ", 4 intermediates |",
        "server/tls/peer.rs",
        "MAX_INTERMEDIATES: usize = 4",
    ),
    (
        "beside `--idle-timeout` | 10 s |",
        "server/connection.rs",
        "HEAD: Duration = Duration::from_secs(10)",
    ),
    (
        "all connections together | 4 MiB |",
        "config.rs",
        "HEADS: usize = 4 << 20",
    ),
    (
        "| 64 KiB on HTTP/2",
        "server/connection.rs",
        "MAX_HEAD: u32 = 64 << 10",
    ),
    (
        "128 KiB on HTTP/1.1 |",
        "server/connection.rs",
        "MAX_HEAD_HTTP1: usize = 128 << 10",
    ),
    (
        "ends with its answer | 16 KiB |",
        "server/heads.rs",
        "LONG: usize = 16 << 10",
    ),
    (
        "among such alone | 16 KiB, ",
        "app/long_heads.rs",
        "LONG: usize = 16 << 10",
    ),
    (
        ", 100 bytes more for each field |",
        "app/long_heads.rs",
        "AROUND_FIELD: usize = 100",
    ),
    (
        "wait for their answers | 64, 16 of one user |",
        "app/long_heads.rs",
        "LONG_HEADS: TurnSizes = TurnSizes {\n    at_once: 64,\n    at_once_per_asker: 16,\n    in_line: 64,\n    in_line_per_asker: 16,\n}",
    ),
    (
        "| a path | 4 KiB |",
        "request/target.rs",
        "LONGEST_PATH: usize = 4 << 10",
    ),
    (
        "| a bearer token | 16 KiB |",
        "caller/authn.rs",
        "MAX_TOKEN: usize = 16 * 1024",
    ),
    (
        "that are looked at | 32 |",
        "request/negotiate.rs",
        "MOST: usize = 32",
    ),
    (
        "list cluster-wide | 50 |",
        "caller/attributes.rs",
        "MAX_NAMESPACES: usize = 50",
    ),
    (
        "one by one | 50 |",
        "app/reviews/grants.rs",
        "MAX_GROUPS: usize = 50",
    ),
    (
        "one by one | 50 |",
        "app/reviews/rules.rs",
        "MAX_TYPES_REVIEWED: usize = 50",
    ),
    (
        "a posted review | 16 KiB",
        "app/posted.rs",
        "LARGEST: usize = 16 << 10",
    ),
    (
        "| 16 KiB, 10 s |",
        "app/posted.rs",
        "PATIENCE: Duration = Duration::from_secs(10)",
    ),
    (
        "by the control plane | 10 s |",
        "caller/review.rs",
        "TIMEOUT: Duration = Duration::from_secs(10)",
    ),
    (
        "that impersonates | 100 |",
        "caller/impersonation.rs",
        "MAX_REVIEWS: usize = 100",
    ),
    (
        "| SubjectAccessReviews | 64 at a time, 16 for one user; 500 have one or wait, 125 of one user |",
        "caller/authz.rs",
        "TURNS: TurnSizes = TurnSizes {\n    at_once: 64,\n    at_once_per_asker: 16,\n    in_line: 500,\n    in_line_per_asker: 125,\n}",
    ),
    (
        "for all others | 16 at a time, 4 for one; 400 have one or wait, 100 of one |",
        "caller/authn/tokens.rs",
        "TURNS: TurnSizes = TurnSizes {\n    at_once: 16,\n    at_once_per_asker: 4,\n    in_line: 400,\n    in_line_per_asker: 100,\n}",
    ),
    (
        "| reads of the store that take a moment: what there is, one object | 16 at a time, 4 for one user |",
        "app/short_reads.rs",
        "SIZES: TurnSizes = TurnSizes {\n    at_once: 16,\n    at_once_per_asker: 4,\n    in_line: usize::MAX,\n    in_line_per_asker: usize::MAX,\n}",
    ),
    (
        "of a SubjectAccessReview is kept | 10 s |",
        "caller/authz.rs",
        "KEPT: Duration = Duration::from_secs(10)",
    ),
    (
        "of a TokenReview is kept | 10 s |",
        "caller/authn/tokens.rs",
        "KEPT: Duration = Duration::from_secs(10)",
    ),
    (
        "has proved who they are | 10 |",
        "app/connection.rs",
        "MOST_REFUSED: u32 = 10",
    ),
    (
        "has proved who they are | 30 s |",
        "config.rs",
        "UNPROVEN: Duration = Duration::from_secs(30)",
    ),
    (
        "such a connection over HTTP/2 | 128 KiB |",
        "server/wear.rs",
        "UNPROVEN: usize = 128 << 10",
    ),
    (
        "asked to open another one | 256 KiB |",
        "server/wear.rs",
        "TOLD: usize = 256 << 10",
    ),
    (
        "sends thereafter | 512 KiB |",
        "server/wear.rs",
        "KNOWN: usize = 512 << 10",
    ),
    (
        "its time to say so | 20 s |",
        "server/connection.rs",
        "PING: Duration = Duration::from_secs(20)",
    ),
    (
        "nothing at all is heard | 90 s |",
        "server/connection.rs",
        "SILENCE: Duration = Duration::from_secs(90)",
    ),
    (
        "on one connection | 100;",
        "server/connection.rs",
        "STREAMS: u32 = 100",
    ),
    (
        "1,000 of an aggregator |",
        "server/connection.rs",
        "STREAMS_OF_FRONT_PROXY: u32 = 1000",
    ),
    (
        "before a 429 | 10 s |",
        "answer/budget.rs",
        "PATIENCE: Duration = Duration::from_secs(10)",
    ),
    (
        "of which nothing is taken | 5 s |",
        "server.rs",
        "REFUSAL: Duration = Duration::from_secs(5)",
    ),
    (
        "ends its connection | 60 s |",
        "server/strikes.rs",
        "REMEMBERED: Duration = Duration::from_secs(60)",
    ),
    (
        "| a refusal's message | 2 KiB, ",
        "answer/status.rs",
        "LONGEST_MESSAGE: usize = 2 << 10",
    ),
    (
        ", 253 bytes of a name |",
        "answer/status.rs",
        "LONGEST_NAME: usize = 253",
    ),
    (
        "as a warning | 512 bytes |",
        "answer/reply.rs",
        "LONGEST: usize = 512",
    ),
    (
        "| 32 pages of ",
        "answer/listing.rs",
        "MOST_PAGES: u32 = 32",
    ),
    (
        " pages of 500 |",
        "answer/listing.rs",
        "PAGE_ROWS: u32 = 500",
    ),
    (
        "more than their object | 4 KiB |",
        "printer/engine.rs",
        "AROUND_CELLS: usize = 4 << 10",
    ),
    (
        "is made of | 20,000 |",
        "printer/values.rs",
        "MOST: usize = 20_000",
    ),
    (
        "of a custom type | 64 |",
        "printer/custom.rs",
        "MAX_COLUMNS: usize = 64",
    ),
    (
        "of such a column | 2 KiB, ",
        "printer/json_path.rs",
        "MAX_BYTES: usize = 2048",
    ),
    (
        ", 10,000 values on its way |",
        "printer/json_path/find.rs",
        "MAX_VALUES: usize = 10_000",
    ),
    (
        "and YAML indent | 32 |",
        "answer/lines.rs",
        "DEEPEST: usize = 32",
    ),
    (
        "when the process ends | 15 s |",
        "config.rs",
        "SHUTDOWN_GRACE: Duration = Duration::from_secs(15)",
    ),
];

/// Constants of the API server that are no limits of what somebody may do: of what is kept and written at a time, of forms and pauses.
const NO_LIMITS: [(&str, &[&str]); 30] = [
    (
        "server/heads.rs",
        &[
            "HEADERS",
            "CONTINUATION",
            "WINDOW_UPDATE",
            "END_HEADERS",
            "STEP",
            "HTTP2_HEAD",
            "PREFACE",
            "FRAME_HEAD",
            "INCREMENT",
        ],
    ),
    (
        "server/connection.rs",
        &[
            "RECEIVED",
            "RECEIVED_OF_ALL",
            "RECEIVED_OF_ALL_FROM_FRONT_PROXY",
            "AHEAD",
        ],
    ),
    ("server/delivery.rs", &["FRAME", "RESET"]),
    ("server/tls/serving.rs", &["LOOK_AGAIN"]),
    ("server/tls/self_made.rs", &["VALID", "SKEW"]),
    ("server.rs", &["ACCEPT_PAUSE", "ENDING"]),
    ("lib.rs", &["BACKLOG"]),
    ("request/token.rs", &["MAX_LENGTH"]),
    (
        "request/seal.rs",
        &["FORM", "NAME", "HEAD", "STEP", "ADDED"],
    ),
    ("caller/authn/tokens.rs", &["MAX_KEPT"]),
    ("caller/authz.rs", &["MAX_KEPT"]),
    ("app/objects.rs", &["LARGEST_OBJECT", "AROUND_OBJECT"]),
    ("app/warnings.rs", &["NAMES_IN_WARNING"]),
    ("app/reviews/grants.rs", &["REVIEW_SEGMENTS"]),
    ("app/pools.rs", &["MANY_USERS"]),
    ("app/readiness.rs", &["KEPT", "PATIENCE", "ASKED_ANEW"]),
    ("app/documents.rs", &["KEPT_BYTES", "KEPT_IDLE", "A_TYPE"]),
    (
        "printer/builtin/autoscaler.rs",
        &["DEFAULT_CPU_PERCENT", "SHOWN"],
    ),
    ("printer/builtin/networking.rs", &["SHOWN"]),
    ("answer/rewrite.rs", &["PIECE"]),
    ("answer/gzip.rs", &["LONG", "HELD", "STEP", "FRAME"]),
    ("answer/aside.rs", &["SMALL"]),
    ("answer/outbox.rs", &["OUTBOX", "FOR_PIECES"]),
    ("answer/budget.rs", &["LOOK_AGAIN", "PAGE"]),
    ("answer/lines.rs", &["STEP"]),
    ("answer/reply.rs", &["SMALL", "SHORT"]),
    ("answer/status.rs", &["RETRY_AFTER_SECONDS"]),
    (
        "answer/listing.rs",
        &[
            "FLUSH_BYTES",
            "AROUND_ROW",
            "ROWS_OF_TABLE",
            "LOOKED_AT",
            "ROWS",
        ],
    ),
    ("answer/yaml.rs", &["LONGEST_KEY"]),
    ("seldom.rs", &["PAUSE", "LONGEST"]),
];

/// What docs/compatibility.md says of what a member, an object or a policy may have, and the constant that makes it so.
const LIMITS_OF_WHAT_IS_STORED: [(&str, &str, &str); 29] = [
    (
        "by reference, 256 KiB are kept;",
        "libs/policy/src/watches/object.rs",
        "LARGEST: usize = 256 << 10",
    ),
    (
        "A cluster has 64 labels",
        "libs/model/src/cluster_labels.rs",
        "MOST_LABELS: usize = 64",
    ),
    (
        "1,024 labels,",
        "controllers/synchro/src/incoming/prune/fields.rs",
        "MOST_LABELS: usize = 1024",
    ),
    (
        "1,024 bytes in its name",
        "libs/model/src/key.rs",
        "LONGEST_NAME: usize = 1024",
    ),
    (
        "may have 64 KiB and ",
        "libs/policy/src/template/rules.rs",
        "TEMPLATE_LIMIT: usize = 64 * 1024",
    ),
    (
        " and 1,000 tags;",
        "libs/policy/src/template/rules.rs",
        "TAG_LIMIT: usize = 1000",
    ),
    (
        "together 128 KiB and ",
        "libs/policy/src/template/rules.rs",
        "TEMPLATES_LIMIT: usize = 2 * TEMPLATE_LIMIT",
    ),
    (
        "128 KiB and 2,000.",
        "libs/policy/src/template/rules.rs",
        "TAGS_LIMIT: usize = 2 * TAG_LIMIT",
    ),
    (
        "may take 100,000 steps",
        "libs/policy/src/template/rules.rs",
        "STEP_LIMIT: usize = 100_000",
    ),
    (
        "and 16 MiB of text",
        "libs/policy/src/template/rules.rs",
        "WORK_LIMIT: usize = 16 * 1024 * 1024",
    ),
    (
        "four times that",
        "libs/policy/src/template/rules.rs",
        "STEPS_LIMIT: usize = 4 * STEP_LIMIT",
    ),
    (
        "four times that",
        "libs/policy/src/template/rules.rs",
        "WORKS_LIMIT: usize = 4 * WORK_LIMIT",
    ),
    (
        "A kubeconfig has 1 MiB",
        "libs/member/src/kubeconfig.rs",
        "MAX_BYTES: usize = 1 << 20",
    ),
    (
        "stands for 2 MiB",
        "crds/src/read_yaml.rs",
        "MOST_BYTES: usize = 2 << 20",
    ),
    (
        "50,000 values at most",
        "crds/src/read_yaml.rs",
        "MOST_VALUES: usize = 50_000",
    ),
    (
        "may have 5,000,000 objects",
        "controllers/synchro/src/config.rs",
        "MOST_OBJECTS: u64 = 5_000_000",
    ),
    (
        "in the end every ten minutes",
        "controllers/synchro/src/stream/waits.rs",
        "LAST_FULL: Duration = Duration::from_secs(10 * 60)",
    ),
    (
        "Of one cluster 1,000 resources",
        "controllers/synchro/src/config.rs",
        "MOST_RESOURCES: usize = 1_000",
    ),
    (
        "names at most 5,000,",
        "controllers/synchro/src/session/plan/list.rs",
        "MOST_ASKED: usize = 5_000",
    ),
    (
        "with 50 versions in an entry",
        "controllers/synchro/src/session/plan/list.rs",
        "MOST_VERSIONS: usize = 50",
    ),
    (
        "10,000 resources in ",
        "libs/member/src/discovery/served.rs",
        "MOST_RESOURCES: usize = 10_000",
    ),
    (
        "in 5,000 groups",
        "libs/member/src/discovery/served.rs",
        "MOST_GROUPS: usize = 5_000",
    ),
    (
        "10,000 versions",
        "libs/member/src/discovery/served.rs",
        "MOST_VERSIONS_IN_ALL: usize = MOST_RESOURCES",
    ),
    (
        "50 of one group",
        "libs/member/src/discovery/served.rs",
        "MOST_VERSIONS: usize = 50",
    ),
    (
        "40,000 short names and categories",
        "libs/member/src/discovery/served.rs",
        "MOST_ALIASES_IN_ALL: usize = 4 * MOST_RESOURCES",
    ),
    (
        "(of one resource the first 16 of each)",
        "libs/member/src/discovery/served.rs",
        "MOST_ALIASES: usize = 16",
    ),
    (
        "a request for each, 1,000 versions",
        "libs/member/src/discovery/served.rs",
        "MOST_REQUESTS: usize = 1_000",
    ),
    (
        "and 2 MiB of an answer:",
        "libs/member/src/discovery/legacy.rs",
        "VERSION_BYTES: usize = 2 << 20",
    ),
    (
        "8 MiB of an answer",
        "libs/member/src/member.rs",
        "ANSWER_BYTES: usize = 8 << 20",
    ),
];

/// What docs/limits.md says of the flags of the search API.
const LIMITS_BY_FLAG: [(&str, &str); 10] = [
    ("--max-in-flight", "400"),
    ("--max-in-flight-per-user", "100"),
    ("--max-lists-in-flight", "100"),
    ("--max-held-mib", "32"),
    ("--request-timeout", "60"),
    ("--stall-timeout", "30"),
    ("--idle-timeout", "90"),
    ("--max-connections", "1000"),
    ("--reserved-connections", "50"),
    ("--max-unproven-connections-per-address", "100"),
];

/// What docs/limits.md says of what the controllers hold, and the constant that makes it so.
const LIMITS_OF_THE_CONTROLLERS: [(&str, &str, &str); 10] = [
    (
        "| an object that is kept whole | 256 KiB,",
        "libs/policy/src/watches/object.rs",
        "const LARGEST: usize = 256 << 10;",
    ),
    (
        "are kept, 16 KiB and 128 of them |",
        "libs/policy/src/watches/excerpt.rs",
        "const ROOM: usize = 16 << 10;",
    ),
    (
        "are kept, 16 KiB and 128 of them |",
        "libs/policy/src/watches/excerpt.rs",
        "const PARTS: usize = 128;",
    ),
    (
        "| all source objects, packed | 64 MiB |",
        "libs/policy/src/watches/shared.rs",
        "const SOURCES: usize = 64 << 20;",
    ),
    (
        "that lifecycles refer to, packed | 64 MiB |",
        "libs/policy/src/watches/shared.rs",
        "const REFERENCES: usize = 64 << 20;",
    ),
    (
        "again every five minutes until",
        "libs/policy/src/watches/follow.rs",
        "const RELIST: Duration = Duration::from_secs(300);",
    ),
    (
        "refers to in a namespace within a minute",
        "libs/policy/src/watches/namespace.rs",
        "const ROOM_AGAIN: Duration = Duration::from_secs(60);",
    ),
    (
        "by a synchro too | 4 MiB, or two objects |",
        "libs/control-plane/src/pages.rs",
        "const MOST_BYTES: usize = 4 << 20;",
    ),
    (
        "by a synchro too | 4 MiB, or two objects |",
        "libs/control-plane/src/pages.rs",
        "const FEWEST: u32 = 2;",
    ),
    (
        "of the control plane | 32 MiB |",
        "libs/control-plane/src/limited.rs",
        "const MOST: usize = 32 << 20;",
    ),
];

/// What docs/limits.md says of what a synchro holds for its members, and the constant that makes it so.
const LIMITS_OF_THE_SYNCHRO: [(&str, &str, &str); 23] = [
    (
        "`--memory-budget` (64 MiB)",
        "controllers/synchro/src/config.rs",
        "memory_budget: 64 << 20,",
    ),
    (
        "Three quarters of it",
        "controllers/synchro/src/config.rs",
        "const UNFINISHED: usize = 4;",
    ),
    (
        "a quarter of these at most",
        "controllers/synchro/src/incoming/budget.rs",
        "const SHARES: usize = 4;",
    ),
    (
        "its end after a minute goes",
        "controllers/synchro/src/incoming/unfinished.rs",
        "const LONGEST: Duration = Duration::from_secs(60);",
    ),
    (
        "each watch has 16 KiB",
        "controllers/synchro/src/incoming/unfinished.rs",
        "const UNCOUNTED: usize = 16 << 10;",
    ),
    (
        "for as long as it asks, a minute at most",
        "libs/member/src/error.rs",
        "pub const LONGEST_WAIT: Duration = Duration::from_secs(60);",
    ),
    (
        "ten in a second on average",
        "controllers/synchro/src/stream/busy.rs",
        "const EACH: Duration = Duration::from_millis(100);",
    ),
    (
        "no watch has come for five minutes it is an `Error`",
        "controllers/synchro/src/told/report.rs",
        "const ASKS_FOR_LONG: Duration = Duration::from_secs(300);",
    ),
    (
        "for five seconds at most",
        "controllers/synchro/src/stream/begun.rs",
        "const STANDS_STILL: Duration = Duration::from_secs(5);",
    ),
    (
        "of 12 members at a time",
        "controllers/synchro/src/session/discoveries.rs",
        "usual: 8,",
    ),
    (
        "of 12 members at a time",
        "controllers/synchro/src/session/discoveries.rs",
        "usual: 2,",
    ),
    (
        "12 members at a time: a megabyte,",
        "libs/member/src/discovery/holding.rs",
        "const USUAL_BYTES: usize = 1 << 20;",
    ),
    (
        "four members at a time may say more",
        "controllers/synchro/src/session/discoveries.rs",
        "large: 2,",
    ),
    (
        "8 MiB each at the most",
        "libs/member/src/member.rs",
        "const ANSWER_BYTES: usize = 8 << 20;",
    ),
    (
        "up to eight answers",
        "libs/member/src/discovery/legacy.rs",
        "const PARALLEL: usize = 8;",
    ),
    (
        "answers of 2 MiB",
        "libs/member/src/discovery/legacy.rs",
        "const VERSION_BYTES: usize = 2 << 20;",
    ),
    (
        "one of each version, 1,000 in all",
        "libs/member/src/discovery/served.rs",
        "const MOST_REQUESTS: usize = 1_000;",
    ),
    (
        "an error 64 KiB are read",
        "libs/member/src/member.rs",
        "const ERROR_BYTES: usize = 64 << 10;",
    ),
    (
        "of each synchro 200 at the same time",
        "controllers/synchro/src/config.rs",
        "const MOST_BY_CONTROL_PLANE: usize = 200;",
    ),
    (
        "has 128 KiB for all words",
        "controllers/synchro/src/told/status/rows.rs",
        "const WORDS_BYTES: usize = 128 << 10;",
    ),
    (
        "768 KiB for its rows",
        "controllers/synchro/src/told/status/rows.rs",
        "const ROWS_BYTES: usize = 768 << 10;",
    ),
    (
        "less than a MiB",
        "controllers/synchro/src/told/status/tests.rs",
        "assert!(most < 1 << 20",
    ),
    (
        "(64 MiB) is for objects",
        "armadex/src/command/synchro.rs",
        "default_value_t = 64 << 20)]\n    pub(crate) memory_budget",
    ),
];

fn rows_of(text: &str) -> Vec<&str> {
    let rows = text.lines().filter(|line| line.starts_with("| "));
    rows.filter(|line| {
        !line.starts_with("| ---") && !line.contains("| why ") && !line.contains("| what it ")
    })
    .collect()
}

#[test]
fn the_limits_of_the_search_api_are_what_their_document_says() {
    let text = document("docs/limits.md");
    for (said, file, line) in FIXED_LIMITS {
        assert!(text.contains(said), "docs/limits.md does not say {said}");
        let source = document(&format!("apiserver/src/{file}"));
        let line = format!("const {line};");
        assert!(source.contains(&line), "apiserver/src/{file} has no {line}");
    }
    let flags = document("armadex/src/command/apiserver.rs");
    for (flag, value) in LIMITS_BY_FLAG {
        let said = format!("| `{flag}` | {value} |");
        assert!(text.contains(&said), "docs/limits.md does not say {said}");
        let field = format!(
            "    {}: u32,",
            flag.trim_start_matches('-').replace('-', "_")
        );
        let (before, _) = flags.split_once(&field).expect("a flag");
        let (_, default) = before.rsplit_once("default_value_t = ").expect("a default");
        let default: String = default.chars().take_while(char::is_ascii_digit).collect();
        assert_eq!(default, value, "{flag}");
    }
    // Connections to the store, of which all but some are for searches.
    let store = document("armadex/src/store.rs");
    let options = document("libs/storage-sql/src/options.rs");
    assert!(text.contains("| `--store-connections` | 7 | connections to the store, 3 of them not for searches, which leaves 4 "));
    assert!(
        store.contains("[default: 7, ")
            && options.contains("            readers: 4,\n            short_readers: 2,")
    );
    let (_, fields) = flags.split_once("struct LimitFlags {").expect("the flags");
    let (fields, _) = fields.split_once("\n}").expect("their end");
    let fields = fields
        .lines()
        .filter_map(|line| line.trim().strip_suffix(": u32,"));
    assert_eq!(fields.count(), LIMITS_BY_FLAG.len(), "a flag is not told");
    assert!(text.contains("address of IPv6 | its network, a /64 |"));
    assert!(document("apiserver/src/server/client.rs").contains("address.to_bits() >> 64 << 64"));
    let flags = LIMITS_BY_FLAG.map(|(flag, _)| flag);
    let held = FIXED_LIMITS.iter().chain(&LIMITS_OF_THE_CONTROLLERS);
    let held = Vec::from_iter(held.map(|(said, ..)| *said));
    let unheld = rows_of(&text).into_iter().filter(|row| {
        let is_flag = flags
            .iter()
            .chain(&["--store-connections"])
            .any(|flag| row.starts_with(&format!("| `{flag}` |")));
        let is_network = row.contains("its network, a /64");
        !is_flag && !is_network && !held.iter().any(|said| row.contains(said))
    });
    let unheld: Vec<_> = unheld.collect();
    assert!(unheld.is_empty(), "held by nothing: {unheld:#?}");
}

#[test]
fn what_a_synchro_holds_for_its_members_is_what_its_document_says() {
    check_section("## What a synchro holds", &LIMITS_OF_THE_SYNCHRO);
}

#[test]
fn what_the_controllers_hold_is_what_its_document_says() {
    check_section("## What the controllers hold", &LIMITS_OF_THE_CONTROLLERS);
}

/// What a section of docs/limits.md says, and the line of a source that makes it so.
fn check_section(title: &str, limits: &[(&str, &str, &str)]) {
    let text = document("docs/limits.md");
    let (_, text) = text.split_once(title).expect("a section");
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (said, file, line) in limits {
        assert!(
            one_line.contains(said),
            "docs/limits.md does not say {said}"
        );
        assert!(document(file).contains(line), "{file} has no {line}");
    }
}

/// The constants of a file that could be limits, by their names.
fn constants(source: &str) -> impl Iterator<Item = &str> {
    let (source, _) = source
        .split_once("\n#[cfg(test)]\nmod tests {")
        .unwrap_or((source, ""));
    let told = source.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("pub ");
        let line = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ")?.1,
            None => line,
        };
        line.strip_prefix("const ")?.split_once(": ")
    });
    let is_number = |kind: &str| kind.trim_start_matches(['u', 'i']).parse::<u8>().is_ok();
    told.filter(move |(_, rest)| {
        let kind = rest.split(' ').next().unwrap_or_default();
        matches!(kind, "Duration" | "usize" | "isize" | "TurnSizes") || is_number(kind)
    })
    .map(|(name, _)| name)
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        if name == "tests" || name == "testing" {
            continue;
        }
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// Who makes another limit says so in the document, or here that it is none.
#[test]
fn every_limit_of_the_search_api_is_in_its_document() {
    let folder = root().join("apiserver/src");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    let (mut untold, mut known) = (Vec::new(), 0);
    for path in files {
        let text = std::fs::read_to_string(&path).expect("readable");
        let file = path
            .strip_prefix(&folder)
            .expect("within")
            .to_string_lossy();
        for name in constants(&text) {
            let is_told = FIXED_LIMITS
                .iter()
                .any(|(_, of, line)| *of == file && line.starts_with(&format!("{name}: ")));
            let is_none = NO_LIMITS
                .iter()
                .any(|(of, names)| *of == file && names.contains(&name));
            match is_told || is_none {
                true => known += 1,
                false => untold.push(format!("{file}: {name}")),
            }
        }
    }
    assert!(
        untold.is_empty(),
        "neither told nor said to be none: {untold:#?}"
    );
    let all = FIXED_LIMITS.len()
        + NO_LIMITS
            .iter()
            .map(|(_, names)| names.len())
            .sum::<usize>();
    assert_eq!(known, all, "some that are named are not there");
}

/// The numbers of the search API stand in docs/limits.md alone.
#[test]
fn the_limits_of_what_is_stored_are_what_the_page_of_differences_says() {
    let text = document("docs/compatibility.md");
    let (_, limits) = text.split_once("## Limits").expect("a section");
    let (of_search, of_stored) = limits.split_once("Of what is stored").expect("two parts");
    let words = of_search
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()));
    let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    // Statuses of HTTP.
    let is_status = |word: &&str| matches!(word.parse(), Ok(400..600)) && word.len() == 3;
    let numbers: Vec<&str> = words
        .filter(|word| is_number(word) && !is_status(word))
        .collect();
    assert!(
        numbers.is_empty(),
        "they belong into docs/limits.md: {numbers:?}"
    );
    let one_line = of_stored.split_whitespace().collect::<Vec<_>>().join(" ");
    for (said, file, line) in LIMITS_OF_WHAT_IS_STORED {
        assert!(
            one_line.contains(said),
            "docs/compatibility.md does not say {said}"
        );
        let line = format!("const {line};");
        assert!(document(file).contains(&line), "{file} has no {line}");
    }
}
