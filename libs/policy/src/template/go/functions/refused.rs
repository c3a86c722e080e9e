//! The functions of sprig, and of Go, that are not offered.

const ENVIRONMENT: &str = "it reads the environment of the process";
const NETWORK: &str = "it asks the network";
const CLOCK: &str = "what it gives depends on the time or the time zone";
const CHANCE: &str = "what it gives is another one at each look";
const KEYS: &str = "templates make no keys and no certificates";
const CHANGES: &str =
    "it changes its argument, and values are not changed; use dict, pick and omit";
const LIBRARY: &str = "its rules are those of a library that is not there";
const NO_FUNCTIONS: &str = "no value is a function";

const REFUSED: &[(&str, &[&str])] = &[
    (ENVIRONMENT, &["env", "expandenv"]),
    (NETWORK, &["getHostByName"]),
    (
        CLOCK,
        &[
            "ago",
            "date",
            "date_in_zone",
            "date_modify",
            "dateInZone",
            "dateModify",
            "duration",
            "durationRound",
            "htmlDate",
            "htmlDateInZone",
            "must_date_modify",
            "mustDateModify",
            "mustToDate",
            "now",
            "toDate",
            "unixEpoch",
        ],
    ),
    (
        CHANCE,
        &[
            "randAlpha",
            "randAlphaNum",
            "randAscii",
            "randBytes",
            "randInt",
            "randNumeric",
            "shuffle",
            "uuidv4",
        ],
    ),
    (
        KEYS,
        &[
            "bcrypt",
            "buildCustomCert",
            "decryptAES",
            "derivePassword",
            "encryptAES",
            "genCA",
            "genCAWithKey",
            "genPrivateKey",
            "genSelfSignedCert",
            "genSelfSignedCertWithKey",
            "genSignedCert",
            "genSignedCertWithKey",
            "htpasswd",
        ],
    ),
    (
        CHANGES,
        &[
            "merge",
            "mergeOverwrite",
            "mustMerge",
            "mustMergeOverwrite",
            "set",
            "unset",
        ],
    ),
    (
        LIBRARY,
        &[
            "abbrev",
            "abbrevboth",
            "add1f",
            "addf",
            "adler32sum",
            "b32dec",
            "b32enc",
            "camelcase",
            "divf",
            "kebabcase",
            "maxf",
            "minf",
            "mulf",
            "mustRegexFind",
            "mustRegexFindAll",
            "mustRegexMatch",
            "mustRegexReplaceAll",
            "mustRegexReplaceAllLiteral",
            "mustRegexSplit",
            "regexFind",
            "regexFindAll",
            "regexMatch",
            "regexReplaceAll",
            "regexReplaceAllLiteral",
            "regexSplit",
            "semver",
            "semverCompare",
            "sha1sum",
            "snakecase",
            "subf",
            "urlJoin",
            "urlParse",
            "wrap",
            "wrapWith",
        ],
    ),
    (NO_FUNCTIONS, &["call"]),
    ("it says hello", &["hello"]),
];

/// Why there is no such function; nothing for a name that neither has.
pub(super) fn why(name: &str) -> Option<&'static str> {
    let found = REFUSED.iter().find(|(_, names)| names.contains(&name));
    found.map(|(why, _)| *why)
}
