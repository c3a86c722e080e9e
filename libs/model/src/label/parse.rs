//! The grammar of selectors: text in, clauses out, in the order they were typed.
//!
//! ```text
//! selector    = [ requirement { "," requirement } ]
//! requirement = key | "!" key | key ("=" | "==" | "!=") value | key ("in" | "notin") "(" values ")" | key (">" | "<") integer
//! ```
//!
//! Label selectors and field selectors share it. They differ in what may stand for a key and a value. In a field selector a backslash
//! makes the next character literal, as clients write it for `,` and `=` in values; the value after `=`, `==` and `!=` goes to the next
//! comma whatever is in it (`reason=Back off (1)`); and requirements may be empty, as for a kube-apiserver.

use super::requirement::{Operator, Requirement};
use super::syntax;

/// One requirement as it was typed. Values keep their order, which matters to a search label that lists sort keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) key: String,
    pub(crate) relation: Relation,
    pub(crate) values: Vec<String>,
}

/// The operator of a clause; `=`, `==` and `!=` are `In` and `NotIn` of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

/// A text that is no selector; the message says why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSelector(String);

/// Parses a label selector.
///
/// ```
/// let parsed = armadex_model::label::parse("app in (b, a), !old, tier!=x").unwrap();
/// assert_eq!(parsed[0].to_string(), "app in (a,b)");
/// assert_eq!(parsed[1].to_string(), "!old");
/// assert_eq!(parsed[2].to_string(), "tier notin (x)");
/// ```
pub fn parse(text: &str) -> Result<Vec<Requirement>, InvalidSelector> {
    label_clauses(text)?
        .into_iter()
        .map(Clause::into_requirement)
        .collect()
}

/// Parses a label selector and checks keys and values against the rules for labels.
pub(crate) fn label_clauses(text: &str) -> Result<Vec<Clause>, InvalidSelector> {
    let clauses = Parser::new(text, Escapes::None).selector()?;
    for clause in &clauses {
        check_label(clause)?;
    }
    Ok(clauses)
}

/// Parses a field selector; keys and values are not checked here.
pub(crate) fn field_clauses(text: &str) -> Result<Vec<Clause>, InvalidSelector> {
    Parser::new(text, Escapes::Backslash).selector()
}

impl Clause {
    pub(crate) fn into_requirement(self) -> Result<Requirement, InvalidSelector> {
        let Self {
            key,
            relation,
            values,
        } = self;
        let operator = match relation {
            Relation::In => Operator::In(values.into_iter().collect()),
            Relation::NotIn => Operator::NotIn(values.into_iter().collect()),
            Relation::Exists => Operator::Exists,
            Relation::DoesNotExist => Operator::DoesNotExist,
            Relation::GreaterThan => Operator::GreaterThan(integer(&key, &values)?),
            Relation::LessThan => Operator::LessThan(integer(&key, &values)?),
        };
        Ok(Requirement { key, operator })
    }
}

fn check_label(clause: &Clause) -> Result<(), InvalidSelector> {
    let fault = |text: &str, why| InvalidSelector(format!("{:?}: {why}", shorten(text)));
    if let Some(why) = syntax::key_fault(&clause.key) {
        return Err(fault(&clause.key, why));
    }
    for value in &clause.values {
        if let Some(why) = syntax::value_fault(value) {
            return Err(fault(value, why));
        }
    }
    Ok(())
}

fn integer(key: &str, values: &[String]) -> Result<i64, InvalidSelector> {
    let text = values.first().map_or("", String::as_str);
    text.parse().map_err(|_| {
        InvalidSelector(format!(
            "{:?} is compared with {:?}, which is not an integer",
            shorten(key),
            shorten(text)
        ))
    })
}

/// At most this many characters of what a client sent are shown back to it.
const SHOWN: usize = 100;

/// The beginning of a text, short enough for a message.
pub(crate) fn shorten(text: &str) -> &str {
    text.char_indices()
        .nth(SHOWN)
        .map_or(text, |(end, _)| &text[..end])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    None,
    Backslash,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

/// Longest first, so that the longest operator wins.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", "<", ">"];

struct Parser<'a> {
    rest: &'a str,
    escapes: Escapes,
    /// The next token; `rest` begins after it.
    next: Token,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, escapes: Escapes) -> Self {
        let mut parser = Self {
            rest: text,
            escapes,
            next: Token::End,
        };
        parser.advance();
        parser
    }

    fn selector(mut self) -> Result<Vec<Clause>, InvalidSelector> {
        let mut clauses = Vec::new();
        if self.next == Token::End {
            return Ok(clauses);
        }
        loop {
            if self.at_empty_requirement() {
                if self.next == Token::End {
                    return Ok(clauses);
                }
                self.advance();
                continue;
            }
            clauses.push(self.requirement()?);
            match self.advance() {
                Token::End => return Ok(clauses),
                Token::Symbol(",") => {}
                other => return Err(expected("',' or the end", &other)),
            }
        }
    }

    fn at_empty_requirement(&self) -> bool {
        self.escapes == Escapes::Backslash && matches!(self.next, Token::End | Token::Symbol(","))
    }

    fn requirement(&mut self) -> Result<Clause, InvalidSelector> {
        let negated = self.next == Token::Symbol("!");
        if negated {
            self.advance();
        }
        let key = match self.advance() {
            Token::Word(key) => key,
            other => return Err(expected("a key or '!'", &other)),
        };
        let ends = matches!(self.next, Token::End | Token::Symbol(","));
        let (relation, values) = match (negated, ends) {
            (true, true) => (Relation::DoesNotExist, Vec::new()),
            (false, true) => (Relation::Exists, Vec::new()),
            (true, false) => return Err(expected("',' or the end", &self.next)),
            (false, false) => self.relation()?,
        };
        Ok(Clause {
            key,
            relation,
            values,
        })
    }

    fn relation(&mut self) -> Result<(Relation, Vec<String>), InvalidSelector> {
        if self.escapes == Escapes::Backslash
            && let Token::Symbol(operator @ ("=" | "==" | "!=")) = self.next
        {
            let not = operator == "!=";
            let relation = if not { Relation::NotIn } else { Relation::In };
            return Ok((relation, vec![self.literal()?]));
        }
        let token = self.advance();
        let relation = match &token {
            Token::Symbol("=" | "==") => Relation::In,
            Token::Symbol("!=") => Relation::NotIn,
            Token::Symbol(">") => Relation::GreaterThan,
            Token::Symbol("<") => Relation::LessThan,
            Token::Word(word) if word == "in" => return Ok((Relation::In, self.values()?)),
            Token::Word(word) if word == "notin" => return Ok((Relation::NotIn, self.values()?)),
            _ => return Err(expected("one of =, ==, !=, in, notin, <, >", &token)),
        };
        Ok((relation, vec![self.exact_value()?]))
    }

    /// What comes after an operator, up to the next comma, without the spaces around it.
    fn literal(&mut self) -> Result<String, InvalidSelector> {
        let text = self.rest.trim_start();
        let mut value = String::new();
        // What an escape made stays, space or not.
        let mut kept = 0;
        let mut end = text.len();
        let mut chars = text.char_indices();
        while let Some((at, char)) = chars.next() {
            match char {
                '\\' => {
                    value.extend(chars.next().map(|(_, literal)| literal));
                    kept = value.len();
                }
                '=' => return Err(expected("',' or the end", &Token::Symbol("="))),
                ',' => {
                    end = at;
                    break;
                }
                char => value.push(char),
            }
        }
        value.truncate(value.trim_end().len().max(kept));
        self.rest = &text[end..];
        self.advance();
        Ok(value)
    }

    fn exact_value(&mut self) -> Result<String, InvalidSelector> {
        match self.next {
            Token::End | Token::Symbol(",") => Ok(String::new()),
            _ => match self.advance() {
                Token::Word(value) => Ok(value),
                other => Err(expected("a value", &other)),
            },
        }
    }

    /// `(a,b)`; a missing value between commas is the empty value.
    fn values(&mut self) -> Result<Vec<String>, InvalidSelector> {
        match self.advance() {
            Token::Symbol("(") => {}
            other => return Err(expected("'('", &other)),
        }
        let mut values = Vec::new();
        loop {
            match self.next {
                Token::Word(_) => {
                    if let Token::Word(value) = self.advance() {
                        values.push(value);
                    }
                }
                _ => values.push(String::new()),
            }
            match self.advance() {
                Token::Symbol(")") => return Ok(values),
                Token::Symbol(",") => {}
                other => return Err(expected("',' or ')'", &other)),
            }
        }
    }

    /// Returns the next token and reads the one after it.
    fn advance(&mut self) -> Token {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let token = if self.rest.is_empty() {
            Token::End
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| self.rest.starts_with(**s)) {
            self.rest = &self.rest[symbol.len()..];
            Token::Symbol(symbol)
        } else {
            Token::Word(self.word())
        };
        std::mem::replace(&mut self.next, token)
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        let mut chars = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((index, char)) = chars.next() {
            if char == '\\' && self.escapes == Escapes::Backslash {
                word.extend(chars.next().map(|(_, literal)| literal));
            } else if " \t\r\n=!(),<>".contains(char) {
                end = index;
                break;
            } else {
                word.push(char);
            }
        }
        self.rest = &self.rest[end..];
        word
    }
}

fn expected(what: &str, found: &Token) -> InvalidSelector {
    let found = match found {
        Token::Word(word) => format!("{:?}", shorten(word)),
        Token::Symbol(symbol) => format!("'{symbol}'"),
        Token::End => "the end".to_owned(),
    };
    InvalidSelector(format!("found {found}, expected {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = match parse(text) {
            Ok(requirements) => requirements
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(","),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(shown, expected, "{text:?}");
    }

    #[test]
    fn every_operator_is_read() {
        check("", "");
        check("a", "a");
        check(" ! a ", "!a");
        check("a=b", "a in (b)");
        check("a == b", "a in (b)");
        check("a!=b", "a notin (b)");
        check("a=", "a in ()");
        check("a=,b", "a in (),b");
        check("a in (c, b,c)", "a in (b,c)");
        check("a notin ()", "a notin ()");
        check("a in (,b)", "a in (,b)");
        check("a>10,b < 2", "a>10,b<2");
        check("in in (in,notin)", "in in (in,notin)");
        check("x.y/z=1,in", "x.y/z in (1),in");
    }

    #[test]
    fn what_is_no_selector_is_refused_with_the_reason() {
        check(",", "error: found ',', expected a key or '!'");
        check("a,", "error: found the end, expected a key or '!'");
        check("!a=b", "error: found '=', expected ',' or the end");
        check(
            "a b",
            "error: found \"b\", expected one of =, ==, !=, in, notin, <, >",
        );
        check("a in b", "error: found \"b\", expected '('");
        check("a in (b", "error: found the end, expected ',' or ')'");
        check("a in (b c)", "error: found \"c\", expected ',' or ')'");
        check("a=b=c", "error: found '=', expected ',' or the end");
        check("a=(", "error: found '(', expected a value");
        check(
            "a>x",
            "error: \"a\" is compared with \"x\", which is not an integer",
        );
    }

    #[test]
    fn keys_and_values_of_labels_are_checked() {
        for bad in ["a/b/c", "-a=b", "a=b:c", "a=-", "a in (ok,no/t)"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_backslash_makes_the_next_character_literal_in_fields_only() {
        let clauses = field_clauses(r"a=b\,c\=d\\").expect("a field selector");
        assert_eq!(clauses[0].values, [r"b,c=d\"]);
        assert!(label_clauses(r"a=b\,c").is_err());
    }

    #[test]
    fn a_value_of_a_field_goes_to_the_next_comma() {
        let values = |text: &str| -> Vec<_> {
            let clauses = field_clauses(text).expect("a field selector").into_iter();
            clauses.flat_map(|clause| clause.values).collect()
        };
        assert_eq!(
            values("a=Back off (1), b!=x<y> !"),
            ["Back off (1)", "x<y> !"]
        );
        assert_eq!(
            values("a==spec.containers{web},b="),
            ["spec.containers{web}", ""]
        );
        assert_eq!(values(r"a= x ,b=y\  "), ["x", "y "]);
        assert_eq!(values("a=in in (b) ,c in (d, e)"), ["in in (b)", "d", "e"]);
        assert!(field_clauses("a=b=c").is_err());
    }

    #[test]
    fn a_field_selector_may_have_empty_requirements() {
        for text in ["", ",", " , ", ",a=b,,c", "a=b,c,"] {
            let clauses = field_clauses(text).expect("a field selector");
            assert_eq!(
                clauses.len(),
                text.matches(char::is_alphabetic).count().div_ceil(2),
                "{text}"
            );
        }
        assert!(label_clauses("a=b,").is_err());
    }

    #[test]
    fn values_keep_the_order_in_which_they_were_typed() {
        let clauses = label_clauses("a in (c,a,b)").expect("a selector");
        assert_eq!(clauses[0].values, ["c", "a", "b"]);
    }

    fn requirements() -> impl Strategy<Value = Requirement> {
        let key = "([a-z]{1,3}/)?[a-zA-Z0-9]([a-z._-]{0,3}[a-z0-9])?";
        let values = proptest::collection::btree_set("([a-z0-9]{1,4})?", 1..4);
        let operator = prop_oneof![
            values.clone().prop_map(Operator::In),
            values.prop_map(Operator::NotIn),
            Just(Operator::Exists),
            Just(Operator::DoesNotExist),
            any::<i64>().prop_map(Operator::GreaterThan),
            any::<i64>().prop_map(Operator::LessThan),
        ];
        (key, operator).prop_map(|(key, operator)| Requirement { key, operator })
    }

    /// Bounds of comparisons are label values, which cannot begin with a minus.
    fn can_be_typed(requirement: &Requirement) -> bool {
        !matches!(
            requirement.operator,
            Operator::GreaterThan(..0) | Operator::LessThan(..0)
        )
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(all in proptest::collection::vec(requirements().prop_filter("typed", can_be_typed), 0..5)) {
            let text = all.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            prop_assert_eq!(parse(&text), Ok(all));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}", symbols in "[a()!=<>,\\\\ ]{0,30}") {
            let _ = (parse(&text), parse(&symbols), field_clauses(&text), field_clauses(&symbols));
        }
    }
}
