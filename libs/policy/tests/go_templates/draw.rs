//! Random templates and values: mostly such that something comes of them, with a mistake here and there.

use std::collections::BTreeSet;

use rand::{Rng, rngs::StdRng};
use serde_json::{Map, Value, json};

/// A template and what it is rendered over.
pub(crate) struct Drawn {
    pub(crate) template: String,
    pub(crate) source: Value,
    pub(crate) secret: Value,
}

/// What an expression gives, or a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    Text,
    /// An integer of the template.
    Int,
    /// Any number, or a text that may be one.
    Number,
    Float,
    Bool,
    List,
    /// A list that nobody else holds, since `sortAlpha` may change it.
    Fresh,
    Map,
    /// A string of the template.
    Literal,
    /// Base64, mostly.
    Base64,
    /// JSON, mostly.
    Json,
    /// A format for the arguments that follow.
    Format,
    Few,
    /// The name of a field.
    Name,
    /// The name of a type or kind.
    Type,
}

use Kind::{
    Any, Base64, Bool, Few, Float, Format, Fresh, Int, Json, List, Literal, Name, Number, Text,
    Type,
};

/// A function, what it takes, and of what it takes any number.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    takes: &'static [Kind],
    more: Option<Kind>,
    gives: Kind,
}

const fn function(name: &'static str, takes: &'static [Kind], gives: Kind) -> Function {
    Function {
        name,
        takes,
        more: None,
        gives,
    }
}

const fn with_more(
    name: &'static str,
    takes: &'static [Kind],
    more: Kind,
    gives: Kind,
) -> Function {
    Function {
        name,
        takes,
        more: Some(more),
        gives,
    }
}

const MAP: Kind = Kind::Map;

/// `keys` and `values` have no order in Go, so they stand in calls that give the same for every order, as when they are sorted.
pub(crate) const FUNCTIONS: &[Function] = &[
    with_more("and", &[Any], Any, Any),
    with_more("or", &[Any], Any, Any),
    function("not", &[Any], Bool),
    function("len", &[Any], Int),
    function("len", &[List], Int),
    function("len", &[Text], Int),
    with_more("index", &[MAP], Name, Any),
    function("index", &[List, Int], Any),
    function("index", &[Text, Int], Any),
    function("index", &[MAP, Name, Any], Any),
    with_more("print", &[], Any, Text),
    with_more("println", &[], Any, Text),
    with_more("printf", &[Format], Any, Text),
    with_more("html", &[], Any, Text),
    with_more("js", &[], Any, Text),
    with_more("urlquery", &[], Any, Text),
    with_more("eq", &[Any], Any, Bool),
    with_more("eq", &[Text], Text, Bool),
    with_more("eq", &[Number], Number, Bool),
    function("ne", &[Any, Any], Bool),
    function("ne", &[Text, Text], Bool),
    function("lt", &[Number, Number], Bool),
    function("le", &[Number, Number], Bool),
    function("gt", &[Text, Text], Bool),
    function("gt", &[Float, Float], Bool),
    function("ge", &[Number, Any], Bool),
    function("b64enc", &[Text], Text),
    function("b64dec", &[Base64], Text),
    function("sha256sum", &[Text], Text),
    function("sha512sum", &[Text], Text),
    function("toJson", &[Any], Text),
    function("mustToJson", &[Any], Text),
    function("toRawJson", &[Any], Text),
    function("mustToRawJson", &[Any], Text),
    function("toPrettyJson", &[Any], Text),
    function("mustToPrettyJson", &[Any], Text),
    function("fromJson", &[Json], Any),
    function("mustFromJson", &[Json], Any),
    with_more("list", &[], Any, Fresh),
    with_more("tuple", &[], Text, Fresh),
    function("first", &[List], Any),
    function("mustFirst", &[List], Any),
    function("last", &[List], Any),
    function("mustLast", &[List], Any),
    function("rest", &[List], List),
    function("mustRest", &[List], List),
    function("initial", &[List], List),
    function("mustInitial", &[List], List),
    function("append", &[List, Any], List),
    function("mustAppend", &[List, Any], List),
    function("push", &[List, Any], List),
    function("mustPush", &[List, Any], List),
    function("prepend", &[List, Any], List),
    function("mustPrepend", &[List, Any], List),
    with_more("concat", &[], List, List),
    function("reverse", &[List], List),
    function("mustReverse", &[List], List),
    function("compact", &[List], List),
    function("mustCompact", &[List], List),
    function("uniq", &[List], List),
    function("mustUniq", &[List], List),
    with_more("without", &[List], Any, List),
    with_more("mustWithout", &[List], Any, List),
    function("has", &[Any, List], Bool),
    function("mustHas", &[Any, List], Bool),
    function("slice", &[List, Few], List),
    function("mustSlice", &[List, Few, Few], List),
    function("chunk", &[Few, List], List),
    function("mustChunk", &[Few, List], List),
    function("join", &[Literal, List], Text),
    function("join", &[Literal, Any], Text),
    function("toStrings", &[Any], List),
    function("sortAlpha", &[Fresh], List),
    with_more("dict", &[Name, Any, Name], Any, MAP),
    function("get", &[MAP, Name], Any),
    function("hasKey", &[MAP, Name], Bool),
    with_more("pluck", &[Name], MAP, List),
    with_more("keys", &[], MAP, List),
    function("values", &[MAP], List),
    with_more("pick", &[MAP], Name, MAP),
    with_more("omit", &[MAP], Name, MAP),
    function("dig", &[Name, Any, MAP], Any),
    function("dig", &[Name, Name, Any, MAP], Any),
    function("atoi", &[Text], Int),
    function("int", &[Any], Int),
    function("int", &[Number], Int),
    function("int64", &[Number], Number),
    function("float64", &[Number], Float),
    function("toDecimal", &[Number], Number),
    function("add1", &[Number], Number),
    with_more("add", &[], Number, Number),
    function("sub", &[Number, Number], Number),
    with_more("mul", &[Number], Number, Number),
    function("div", &[Number, Number], Number),
    function("mod", &[Number, Number], Number),
    with_more("max", &[Number], Number, Number),
    with_more("biggest", &[Number], Number, Number),
    with_more("min", &[Number], Number, Number),
    function("ceil", &[Number], Float),
    function("floor", &[Number], Float),
    function("round", &[Number, Few], Float),
    function("until", &[Few], List),
    function("untilStep", &[Few, Few, Few], List),
    function("seq", &[Few, Few], Text),
    function("seq", &[Few, Few, Few], Text),
    function("base", &[Text], Text),
    function("osBase", &[Text], Text),
    function("dir", &[Text], Text),
    function("osDir", &[Text], Text),
    function("clean", &[Text], Text),
    function("osClean", &[Text], Text),
    function("ext", &[Text], Text),
    function("osExt", &[Text], Text),
    function("isAbs", &[Text], Bool),
    function("osIsAbs", &[Text], Bool),
    function("upper", &[Text], Text),
    function("lower", &[Text], Text),
    function("title", &[Text], Text),
    function("untitle", &[Text], Text),
    function("swapcase", &[Text], Text),
    function("initials", &[Text], Text),
    function("nospace", &[Text], Text),
    function("trim", &[Text], Text),
    function("trimAll", &[Literal, Text], Text),
    function("trimall", &[Literal, Text], Text),
    function("trimPrefix", &[Literal, Text], Text),
    function("trimSuffix", &[Literal, Text], Text),
    function("hasPrefix", &[Literal, Text], Bool),
    function("hasSuffix", &[Literal, Text], Bool),
    function("contains", &[Literal, Text], Bool),
    function("replace", &[Literal, Literal, Text], Text),
    function("repeat", &[Few, Text], Text),
    function("trunc", &[Few, Text], Text),
    function("substr", &[Few, Few, Text], Text),
    function("indent", &[Few, Text], Text),
    function("nindent", &[Few, Text], Text),
    function("plural", &[Text, Text, Few], Text),
    with_more("quote", &[], Any, Text),
    with_more("squote", &[], Any, Text),
    with_more("cat", &[], Any, Text),
    function("split", &[Literal, Text], Any),
    function("splitn", &[Literal, Few, Text], Any),
    function("splitList", &[Literal, Text], List),
    function("regexQuoteMeta", &[Text], Text),
    with_more("default", &[Any], Any, Any),
    function("default", &[Text, Any], Any),
    function("empty", &[Any], Bool),
    with_more("coalesce", &[], Any, Any),
    with_more("all", &[], Any, Bool),
    with_more("any", &[], Any, Bool),
    function("ternary", &[Any, Any, Bool], Any),
    function("ternary", &[Text, Text, Bool], Text),
    function("fail", &[Text], Text),
    function("toString", &[Any], Text),
    function("deepCopy", &[MAP], MAP),
    function("mustDeepCopy", &[Any], Any),
    function("deepEqual", &[Any, Any], Bool),
    function("typeOf", &[Any], Text),
    function("typeIs", &[Type, Any], Bool),
    function("typeIsLike", &[Type, Any], Bool),
    function("kindOf", &[Any], Text),
    function("kindIs", &[Type, Any], Bool),
];

const NAMES: [&str; 9] = ["a", "b", "text", "n", "list", "map", "nil", "a.b/c", "none"];

/// Fields of the source object, by what they mostly are.
const FIELDS: &[(&str, Kind)] = &[
    ("text", Text),
    ("name", Text),
    ("url", Text),
    ("n", Number),
    ("f", Number),
    ("big", Number),
    ("yes", Bool),
    ("no", Bool),
    ("list", List),
    ("names", List),
    ("map", MAP),
    ("labels", MAP),
    ("nil", Any),
    ("none", Any),
    ("map.text", Text),
    ("map.map.n", Number),
    ("none.none", Any),
    ("nil.text", Any),
    ("text.a", Any),
];

const TEXTS: [&str; 32] = [
    "",
    "a",
    "east",
    "https://east:6443?a=b&c=\"d\"",
    "a+b/=",
    "x y\tz",
    "  spaced ",
    "line\nline\n",
    "Straße",
    "naïve café",
    "日本語",
    "<b>&'",
    "a,b,,c",
    "a.b.c",
    "/usr//lib/../bin/x.tar.gz",
    "true",
    "0x1f",
    "017",
    "12",
    "-7.50",
    "1e3",
    "5.0",
    "99999999999999999999",
    "{\"a\": [1, 2.5, null]}",
    "YStiLz0=",
    "not base64!",
    "a\\b`c",
    "\u{7f}\u{a0}\u{200b}",
    "<no value>",
    "0x1.8p-2",
    "\u{1c6}x \u{1fb3}\u{1c5}",
    "under_score-and Word",
];

/// What does not belong where it is put.
const MARKS: [&str; 44] = [
    "{{",
    "}}",
    "{{-",
    "-}}",
    "{{- ",
    " -}}",
    "(",
    ")",
    "|",
    ":=",
    "=",
    ",",
    ".",
    "..",
    "$",
    "$x",
    "\"",
    "`",
    "'",
    "\\",
    " ",
    "\n",
    "-",
    "/*",
    "*/",
    "{{/* x */}}",
    "{{end}}",
    "{{else}}",
    "{{break}}",
    "{{continue}}",
    "{{if 1}}",
    "{{range 2}}",
    "{{with 1}}",
    "{{else if 1}}",
    "{{else with 1}}",
    "nil",
    "true",
    "1",
    "0x",
    "1.5",
    "'a'",
    "len",
    ".a",
    "{{define \"x\"}}",
];

/// What stands in a template between actions.
const BETWEEN: [&str; 10] = [
    "",
    " ",
    "\n",
    "a",
    " text \n",
    "  \t",
    "key: ",
    "日",
    "<no value>",
    "}} ",
];

const BASE64: [&str; 12] = [
    "`YStiLz0=`",
    "`YWI=`",
    "`YW I=`",
    "`YQ`",
    "`YQ=`",
    "`YQ=a`",
    "\"Y\\nQ==\\n\"",
    "`====`",
    "\"YWJj\\n\"",
    "`YQ==x`",
    "``",
    "`YR==`",
];

const JSON: [&str; 9] = [
    "`{\"a\": [1, 2.5, null], \"b\": {}}`",
    "`[]`",
    "`\"x\"`",
    "`1e3`",
    "`{`",
    "``",
    "` true `",
    "`null`",
    "`{\"a\":1,\"a\":\"\\u00e9<\"}`",
];

const TYPES: [&str; 9] = [
    "`string`",
    "`int`",
    "`int64`",
    "`map`",
    "`slice`",
    "`[]interface {}`",
    "`float64`",
    "`invalid`",
    "`bool`",
];

struct Draw<'d> {
    dice: &'d mut StdRng,
    variables: Vec<String>,
    defined: usize,
    ranges: usize,
    /// What is left of the template's size.
    size: usize,
    /// The dot is the source object's, with its source and references.
    root: bool,
}

/// A template by the grammar, and values.
pub(crate) fn template(dice: &mut StdRng) -> Drawn {
    let mut draw = Draw {
        dice,
        variables: Vec::new(),
        defined: 0,
        ranges: 0,
        size: 7,
        root: true,
    };
    let mut template = String::new();
    for name in 0..draw.below(3) {
        draw.root = false;
        let body = draw.list(2);
        draw.variables.clear();
        template += &format!("{{{{define \"t{name}\"}}}}{body}{{{{end}}}}");
        draw.defined += 1;
    }
    draw.root = true;
    template += &draw.list(3);
    let (source, secret) = (object(dice), object(dice));
    Drawn {
        template,
        source,
        secret,
    }
}

/// The same with something in it that does not belong there.
pub(crate) fn spoiled(dice: &mut StdRng, whole: &Drawn) -> Drawn {
    let mut text = whole.template.clone();
    for _ in 0..dice.random_range(1..3) {
        let places = text.char_indices().map(|(at, _)| at);
        let places: Vec<usize> = places.chain([text.len()]).collect();
        let at = places[dice.random_range(0..places.len())];
        match dice.random_range(0..4) {
            0 if at < text.len() => drop(text.remove(at)),
            1 => {
                let end = places[dice.random_range(0..places.len())].max(at);
                if end - at < 12 {
                    text.replace_range(at..end, "");
                }
            }
            _ => text.insert_str(at, MARKS[dice.random_range(0..MARKS.len())]),
        }
    }
    Drawn {
        template: text,
        source: whole.source.clone(),
        secret: whole.secret.clone(),
    }
}

/// The same over a source object in which a field is another one.
pub(crate) fn changed(dice: &mut StdRng, whole: &Drawn) -> Drawn {
    let mut source = whole.source.clone();
    let other = object(dice);
    let (path, _) = FIELDS[dice.random_range(0..FIELDS.len())];
    let name = path.split('.').next().unwrap_or(path);
    match path.split_once('.') {
        Some((_, inner)) if source[name].is_object() => {
            let inner = inner.split('.').next().unwrap_or(inner);
            source[name][inner] = other["text"].clone();
        }
        _ => source[name] = other[name].clone(),
    }
    Drawn {
        template: whole.template.clone(),
        source,
        secret: whole.secret.clone(),
    }
}

fn object(dice: &mut StdRng) -> Value {
    let mut fields = Map::new();
    for (path, kind) in FIELDS {
        if !path.contains('.') && *path != "none" && dice.random_range(0..12) > 0 {
            fields.insert((*path).to_owned(), value(dice, *kind, 3));
        }
    }
    fields.insert("nil".to_owned(), Value::Null);
    Value::Object(fields)
}

fn value(dice: &mut StdRng, kind: Kind, depth: usize) -> Value {
    let text = |dice: &mut StdRng| json!(TEXTS[dice.random_range(0..TEXTS.len())]);
    match kind {
        Text => text(dice),
        Number => match dice.random_range(0..12) {
            0 => json!(0),
            1 => json!(1.5),
            2 => json!(-2.0),
            3 => json!(1e21),
            4 => json!(123_456_789.125),
            5 => json!(1e-7),
            6 => json!(i64::MAX),
            7 => json!(u64::MAX),
            8 => json!(1_000_000.0),
            _ => json!(dice.random_range(-20..200)),
        },
        Bool => json!(dice.random::<bool>()),
        List => {
            let items = (0..dice.random_range(0..4)).map(|_| value(dice, Any, depth - 1));
            Value::Array(items.collect())
        }
        Kind::Map => {
            let mut fields = Map::new();
            for _ in 0..dice.random_range(0..4) {
                let name = NAMES[dice.random_range(0..NAMES.len() - 1)];
                fields.insert(name.to_owned(), value(dice, Any, depth - 1));
            }
            Value::Object(fields)
        }
        _ => {
            let kinds: &[Kind] = if depth == 0 {
                &[Text, Number, Bool]
            } else {
                &[Text, Text, Number, Bool, List, MAP, Literal]
            };
            match kinds[dice.random_range(0..kinds.len())] {
                Literal => Value::Null,
                kind => value(dice, kind, depth),
            }
        }
    }
}

impl Draw<'_> {
    fn below(&mut self, limit: usize) -> usize {
        self.dice.random_range(0..limit)
    }

    /// Once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.below(these.len())]
    }

    fn list(&mut self, depth: usize) -> String {
        let known = self.variables.len();
        let mut text = String::new();
        for _ in 0..=self.below(3) {
            text += self.pick(&BETWEEN);
            text += &self.node(depth);
        }
        text += self.pick(&BETWEEN);
        // Variables of a list are known to its end.
        self.variables.truncate(known);
        text
    }

    fn action(&mut self, inside: &str) -> String {
        let open = if self.once_in(6) { "{{- " } else { "{{" };
        let close = if self.once_in(6) { " -}}" } else { "}}" };
        let space = self.pick(&["", " ", "\n  "]);
        format!("{open}{space}{inside}{space}{close}")
    }

    fn node(&mut self, depth: usize) -> String {
        if self.size == 0 || depth == 0 {
            let inside = self.pipeline(Any, 1);
            return self.action(&inside);
        }
        self.size -= 1;
        match self.below(16) {
            0..=5 => {
                let inside = self.pipeline(Any, 3);
                self.action(&inside)
            }
            6 => self.declaration(),
            7 => self.assignment(),
            8..=9 => self.cases("if", depth),
            10 => self.cases("with", depth),
            11..=12 => self.range(depth),
            13 => self.template(depth),
            14 if self.ranges > 0 => {
                let leaves = self.pick(&["break", "continue"]);
                let condition = self.pipeline(Bool, 2);
                let (open, leave) = (self.action(&format!("if {condition}")), self.action(leaves));
                format!("{open}{leave}{{{{end}}}}")
            }
            _ => "{{/* a comment }} */}}".to_owned(),
        }
    }

    fn declaration(&mut self) -> String {
        let inside = self.pipeline(Any, 2);
        let name = format!("$v{}", self.below(4));
        self.variables.push(name.clone());
        self.action(&format!("{name} := {inside}"))
    }

    fn assignment(&mut self) -> String {
        let inside = self.pipeline(Any, 2);
        match self.variables.last().cloned() {
            Some(name) => self.action(&format!("{name} = {inside}")),
            None => self.action(&inside),
        }
    }

    fn cases(&mut self, keyword: &str, depth: usize) -> String {
        let (known, root) = (self.variables.len(), self.root);
        let mut text = String::new();
        let cases = 1 + self.below(3) / 2;
        for case in 0..cases {
            let mut condition = self.pipeline(Any, 2);
            if self.once_in(5) {
                let name = format!("$v{}", self.below(4));
                condition = format!("{name} := {condition}");
                self.variables.push(name);
            }
            let before = if case == 0 { "" } else { "else " };
            text += &self.action(&format!("{before}{keyword} {condition}"));
            self.root = root && keyword == "if";
            text += &self.list(depth - 1);
            self.root = root;
        }
        if self.once_in(2) {
            text += &self.action("else");
            text += &self.list(depth - 1);
        }
        text += &self.action("end");
        self.variables.truncate(known);
        text
    }

    fn range(&mut self, depth: usize) -> String {
        let (known, root) = (self.variables.len(), self.root);
        let kind = self.pick(&[List, List, MAP, MAP, Few, Any]);
        let mut over = self.pipeline(kind, 2);
        let names = self.below(4);
        if names > 0 {
            let declared: Vec<String> = (0..names.min(2))
                .map(|_| format!("$v{}", self.below(4)))
                .collect();
            let sign = if self.once_in(8) { "=" } else { ":=" };
            over = format!("{} {sign} {over}", declared.join(", "));
            self.variables.extend(declared);
        }
        let mut text = self.action(&format!("range {over}"));
        self.ranges += 1;
        self.root = false;
        text += &self.list(depth - 1);
        self.root = root;
        self.ranges -= 1;
        if self.once_in(3) {
            text += &self.action("else");
            text += &self.list(depth - 1);
        }
        text += &self.action("end");
        self.variables.truncate(known);
        text
    }

    fn template(&mut self, depth: usize) -> String {
        let with = self.pipeline(Any, 1);
        if self.defined > 0 && !self.once_in(3) {
            let name = self.below(self.defined);
            let with = if self.once_in(5) { String::new() } else { with };
            return self.action(&format!("template \"t{name}\" {with}"));
        }
        // Its name is nobody else's.
        let name = format!("b{}", self.dice.random::<u32>());
        let (known, root) = (std::mem::take(&mut self.variables), self.root);
        let ranges = std::mem::take(&mut self.ranges);
        self.root = false;
        let body = self.list(depth - 1);
        (self.variables, self.root, self.ranges) = (known, root, ranges);
        let open = self.action(&format!("block \"{name}\" {with}"));
        format!("{open}{body}{{{{end}}}}")
    }

    fn pipeline(&mut self, kind: Kind, depth: usize) -> String {
        if depth > 0 && self.once_in(4) {
            // The value of what stands before is the last argument.
            let functions = self.functions(kind);
            let function = &FUNCTIONS[self.pick(&functions)];
            let ordered = !matches!(function.name, "keys" | "values");
            if ordered && let Some(last) = function.more.or(function.takes.last().copied()) {
                let before = self.pipeline(last, depth - 1);
                let mut arguments = self.arguments(function, depth - 1);
                if function.more.is_none() || arguments.len() > function.takes.len() {
                    arguments.pop();
                }
                let call = [&[function.name.to_owned()], arguments.as_slice()].concat();
                return format!("{before} | {}", call.join(" "));
            }
        }
        if depth > 0 && self.once_in(2) {
            return self.call(kind, depth - 1);
        }
        self.term(kind, depth)
    }

    /// Those that give what is wanted, mostly.
    fn functions(&mut self, kind: Kind) -> Vec<usize> {
        let anything = kind == Any || self.once_in(10);
        let gives = |function: &Function| anything || fits(function.gives, kind);
        let found = FUNCTIONS.iter().enumerate();
        let found: Vec<usize> = found
            .filter(|(_, function)| gives(function) && function.name != "fail")
            .map(|(place, _)| place)
            .collect();
        if found.is_empty() || self.once_in(300) {
            return (0..FUNCTIONS.len()).collect();
        }
        found
    }

    fn call(&mut self, kind: Kind, depth: usize) -> String {
        let functions = self.functions(kind);
        let function = &FUNCTIONS[self.pick(&functions)];
        let arguments = self.arguments(function, depth);
        let call = [&[function.name.to_owned()], arguments.as_slice()].concat();
        let call = call.join(" ");
        if !matches!(function.name, "keys" | "values") {
            return call;
        }
        match self.below(3) {
            0 => format!("len ({call})"),
            1 => format!("sortAlpha ({call})"),
            _ => format!("join `,` (sortAlpha ({call}))"),
        }
    }

    fn arguments(&mut self, function: &Function, depth: usize) -> Vec<String> {
        let mut kinds = function.takes.to_vec();
        if let Some(more) = function.more {
            kinds.extend((0..self.below(3)).map(|_| more));
        }
        kinds
            .into_iter()
            .map(|kind| self.argument(kind, depth))
            .collect()
    }

    fn argument(&mut self, kind: Kind, depth: usize) -> String {
        let kind = if self.once_in(60) { Any } else { kind };
        let is_literal = matches!(
            kind,
            Literal | Base64 | Json | Format | Few | Name | Type | Int
        );
        if depth > 0 && !is_literal && self.once_in(3) {
            let inside = self.pipeline(kind, depth - 1);
            let field = if self.once_in(12) { ".a" } else { "" };
            return format!("({inside}){field}");
        }
        if kind == Fresh {
            let items: Vec<String> = (0..self.below(4)).map(|_| self.term(Any, 0)).collect();
            return format!("(list {})", items.join(" "));
        }
        self.term(kind, 0)
    }

    fn term(&mut self, kind: Kind, depth: usize) -> String {
        if let Some(written) = self.written(kind) {
            return written;
        }
        match self.below(10) {
            0..=3 => self.field(kind),
            4 if !self.variables.is_empty() => {
                let place = self.below(self.variables.len());
                let name = self.variables[place].clone();
                if self.once_in(6) {
                    format!("{name}.a")
                } else {
                    name
                }
            }
            5 if self.root => self
                .pick(&[".", "$", ".source", ".references.secret.text", "$.source.n"])
                .to_owned(),
            5 => self
                .pick(&[".", "$", ".a", "$.references.secret.text", "$.source.n"])
                .to_owned(),
            _ if kind == List || kind == MAP => {
                if depth > 0 {
                    self.call(kind, 0)
                } else {
                    self.field(kind)
                }
            }
            _ => self.literal(kind),
        }
    }

    /// What is written in the template where one of these is wanted.
    fn written(&mut self, kind: Kind) -> Option<String> {
        Some(match kind {
            Literal => self.string(),
            Base64 => self.pick(&BASE64).to_owned(),
            Json => self.pick(&JSON).to_owned(),
            Type => self.pick(&TYPES).to_owned(),
            Format => self.format(),
            Few => self.dice.random_range(-2..6).to_string(),
            Name => format!("\"{}\"", self.pick(&NAMES)),
            Fresh => "(list \"b\" 1 \"a\")".to_owned(),
            _ => return None,
        })
    }

    fn field(&mut self, kind: Kind) -> String {
        let wanted: Vec<&str> = FIELDS
            .iter()
            .filter(|(_, of)| kind == Any || fits(*of, kind))
            .map(|(path, _)| *path)
            .collect();
        let path = if wanted.is_empty() {
            "text"
        } else {
            self.pick(&wanted)
        };
        if self.root && !self.once_in(5) {
            format!(".source.{path}")
        } else {
            format!("$.source.{path}")
        }
    }

    fn literal(&mut self, kind: Kind) -> String {
        match kind {
            Text => self.string(),
            Bool => self.pick(&["true", "false"]).to_owned(),
            Int | Number => self
                .pick(&[
                    "0",
                    "1",
                    "2",
                    "-3",
                    "0x1F",
                    "0b11",
                    "0o17",
                    "017",
                    "1_000",
                    "'a'",
                    "'\\n'",
                    "+5",
                    "1e3",
                    "2.0",
                    "9223372036854775807",
                    "-0",
                    "0x1p4",
                    "-0x1E",
                ])
                .to_owned(),
            Float => self
                .pick(&[
                    "1.5",
                    "-2.25",
                    "1e6",
                    "1e21",
                    ".5",
                    "3.",
                    "1e-7",
                    "100000.0",
                    "1_0.5",
                    "-0.0",
                    "123456789.0",
                    "0x1.8p-1",
                    "0X_1.8P+2",
                    "0x1.8",
                ])
                .to_owned(),
            _ => match self.below(5) {
                0 => "nil".to_owned(),
                1 => self.literal(Float),
                2 => self.literal(Int),
                3 => self.literal(Bool),
                _ => self.string(),
            },
        }
    }

    fn string(&mut self) -> String {
        let text = self.pick(&TEXTS);
        if !text.contains('`') && self.once_in(3) {
            return format!("`{text}`");
        }
        if self.once_in(15) {
            return self
                .pick(&[
                    "\"\\x41\\u00e9\\U0001F600\\101\\t\\\"\"",
                    "\"a\\x00b\"",
                    "\"\\a\\b\\f\\v\\r\"",
                ])
                .to_owned();
        }
        let quoted = text.escape_default().to_string();
        // Rust writes characters by their number in another way.
        if quoted.contains("\\u{") {
            return format!(
                "\"{}\"",
                text.replace('\\', "\\\\")
                    .replace('"', "\\\"")
                    .replace('\n', "\\n")
            );
        }
        format!("\"{}\"", quoted.replace("\\'", "'"))
    }

    fn format(&mut self) -> String {
        let mut format = String::new();
        for _ in 0..=self.below(3) {
            format += self.pick(&["", "a ", ": ", "日"]);
            format.push('%');
            for _ in 0..self.below(3) {
                format += self.pick(&["-", "+", "#", " ", "0"]);
            }
            if self.once_in(12) {
                format += self.pick(&["[1]", "[2]", "[3]", "[0]", "[x]", "["]);
            }
            format += self.pick(&["", "", "", "5", "12", "*"]);
            format += self.pick(&["", "", "", ".2", ".0", ".", ".*", ".8"]);
            format += self.pick(&[
                "v", "v", "s", "s", "d", "d", "q", "x", "X", "t", "f", "e", "g", "E", "G", "c",
                "U", "o", "O", "b", "T", "%", "w", "z", "F",
            ]);
        }
        format!("\"{format}\"")
    }
}

/// Those that a template names.
pub(crate) fn functions_in(template: &str) -> impl Iterator<Item = &'static str> {
    let words: BTreeSet<&str> = template
        .split(|letter: char| !letter.is_alphanumeric())
        .collect();
    let functions = FUNCTIONS.iter().map(|function| function.name);
    functions.filter(move |name| words.contains(name))
}

/// The same with no number of which a function may make something without end.
pub(crate) fn tamed(drawn: &Drawn) -> Drawn {
    let values = |value: &Value| {
        let text = with_small_numbers(&value.to_string());
        serde_json::from_str(&text).expect("a number is one still")
    };
    Drawn {
        template: with_small_numbers(&drawn.template),
        source: values(&drawn.source),
        secret: values(&drawn.secret),
    }
}

/// Of digits that follow each other the first two, and of an exponent one.
fn with_small_numbers(text: &str) -> String {
    let mut digits = 0;
    let small = text.chars().filter(|letter| {
        digits = if letter.is_ascii_digit() {
            digits + 1
        } else {
            0
        };
        digits <= 2
    });
    let small: String = small.collect();
    small.replace("e21", "e2").replace("e+21", "e2")
}

/// Whether what gives one may stand where the other is wanted.
fn fits(one: Kind, wanted: Kind) -> bool {
    match wanted {
        Any => true,
        Number => matches!(one, Number | Int | Float),
        List => matches!(one, List | Fresh),
        wanted => one == wanted,
    }
}
