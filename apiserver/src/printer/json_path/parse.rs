//! From a text to a path.

use serde_json::Value;

use super::{Comparison, End, InvalidPath, JsonPath, MAX_BYTES, Slice, Step};

impl JsonPath {
    pub(in super::super) fn parse(text: &str) -> Result<Self, InvalidPath> {
        if text.len() > MAX_BYTES {
            return Err(InvalidPath::TooLong);
        }
        let mut parser = Parser { rest: text };
        let mut steps = Vec::new();
        while parser.step(&mut steps)? {}
        Ok(Self { steps })
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// Reads one step; `false` at the end.
    fn step(&mut self, steps: &mut Vec<Step>) -> Result<bool, InvalidPath> {
        if let Some(rest) = self.rest.strip_prefix("[?(") {
            self.rest = rest;
            steps.push(self.filter()?);
            return Ok(true);
        }
        if let Some(rest) = self.rest.strip_prefix("..") {
            self.rest = rest;
            self.descent(steps)?;
            return Ok(true);
        }
        let Some(first) = self.rest.chars().next() else {
            return Ok(false);
        };
        match first {
            ' ' | '@' | '$' => self.skip(first),
            '[' => self.bracket(steps)?,
            '"' | '\'' => steps.push(Step::Literal(self.quoted(first)?.into())),
            '.' => {
                self.skip(first);
                steps.push(self.field());
            }
            '+' | '-' | '0'..='9' => steps.push(self.number()?),
            '_' => steps.push(self.word()),
            letter if letter.is_alphanumeric() => steps.push(self.word()),
            other => return Err(InvalidPath::Unexpected(other)),
        }
        Ok(true)
    }

    fn skip(&mut self, character: char) {
        self.rest = &self.rest[character.len_utf8()..];
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn descent(&mut self, steps: &mut Vec<Step>) -> Result<(), InvalidPath> {
        if steps.last() == Some(&Step::Descent) {
            return Err(InvalidPath::TwoDescents);
        }
        steps.push(Step::Descent);
        let next = self.rest.chars().next();
        if next.is_some_and(|next| next == '_' || next.is_alphanumeric()) {
            steps.push(self.field());
        }
        Ok(())
    }

    /// A name up to what ends one; a backslash takes its meaning away from the character after it.
    fn field(&mut self) -> Step {
        let mut escaped = false;
        let end = self.rest.find(|next| {
            let ends = !escaped && ends_name(next);
            escaped = !escaped && next == '\\';
            ends
        });
        let name = self.take(end.unwrap_or(self.rest.len()));
        if name == "*" {
            Step::All
        } else {
            Step::Field(name.replace('\\', ""))
        }
    }

    fn word(&mut self) -> Step {
        let end = self.rest.find(ends_name).unwrap_or(self.rest.len());
        match self.take(end) {
            "true" => Step::Literal(true.into()),
            "false" => Step::Literal(false.into()),
            _ => Step::Word,
        }
    }

    fn number(&mut self) -> Result<Step, InvalidPath> {
        let digits = self.rest.get(1..).unwrap_or_default();
        let end = digits.find(|next: char| next != '.' && !next.is_ascii_digit());
        let text = self.take(end.map_or(self.rest.len(), |end| end + 1));
        let whole = text.parse::<i64>().ok().map(Value::from);
        let fraction = || text.parse::<f64>().ok().map(Value::from);
        let number = whole.or_else(fraction);
        number
            .map(Step::Literal)
            .ok_or_else(|| InvalidPath::Number(text.to_owned()))
    }

    fn quoted(&mut self, quote: char) -> Result<String, InvalidPath> {
        let inside = &self.rest[1..];
        let mut before = quote;
        let end = inside.find(|next| {
            let ends = next == quote && before != '\\';
            before = next;
            ends
        });
        let end = end.ok_or(InvalidPath::Unfinished("a quoted text"))?;
        let text = self.take(end + 2);
        unescaped(&text[1..=end]).ok_or_else(|| InvalidPath::Text(text.to_owned()))
    }

    fn bracket(&mut self, steps: &mut Vec<Step>) -> Result<(), InvalidPath> {
        let end = self.rest.find([']', '\n']);
        let end = end.filter(|end| self.rest[*end..].starts_with(']'));
        let end = end.ok_or(InvalidPath::Unfinished("an index"))?;
        let text = &self.take(end + 1)[1..end];
        if text.contains(',') {
            let parts = text.split(',');
            let paths = parts.map(|part| JsonPath::parse(&format!("[{}]", part.trim_matches(' '))));
            steps.push(Step::Union(paths.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = text
            .strip_prefix('\'')
            .and_then(|text| text.strip_suffix('\''))
            .filter(|key| !key.contains('\''));
        if let Some(key) = key {
            steps.extend(JsonPath::parse(&format!(".{key}"))?.steps);
            return Ok(());
        }
        let slice = slice(text).ok_or_else(|| InvalidPath::Index(text.to_owned()))?;
        steps.push(Step::Slice(slice));
        Ok(())
    }

    fn filter(&mut self) -> Result<Step, InvalidPath> {
        let end = self
            .filter_end()
            .ok_or(InvalidPath::Unfinished("a filter"))?;
        let text = &self.take(end + 2)[..end];
        let Some((left, operator, right)) = comparison(text) else {
            return Ok(Step::Filter(JsonPath::parse(text)?, None));
        };
        let right = JsonPath::parse(right)?;
        Ok(Step::Filter(
            JsonPath::parse(left)?,
            Some((operator, right)),
        ))
    }

    /// Where `)]` ends the filter: the first closing parenthesis outside of the text that it compares with.
    fn filter_end(&self) -> Option<usize> {
        let mut quote = None;
        let mut closed = false;
        let mut before = '(';
        for (index, next) in self.rest.char_indices() {
            match next {
                '\n' => return None,
                '"' | '\'' if quote.is_none() => quote = Some(next),
                _ if quote == Some(next) && before != '\\' => closed = true,
                ')' if quote.is_some() == closed => {
                    return self.rest[index..].starts_with(")]").then_some(index);
                }
                _ => {}
            }
            before = next;
        }
        None
    }
}

fn ends_name(next: char) -> bool {
    matches!(
        next,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

/// `a:b:c`, every part of which may be missing.
fn slice(text: &str) -> Option<Slice> {
    if text == "*" {
        return slice(":");
    }
    let mut parts = text.split(':');
    let start = bound(parts.next().unwrap_or_default())?;
    let end = match parts.next() {
        Some(part) => bound(part)?.map_or(End::Open, End::At),
        None => End::OneElement,
    };
    let step = bound(parts.next().unwrap_or_default())?;
    parts.next().is_none().then_some(Slice { start, end, step })
}

/// `None` where it is no number, `Some(None)` where there is none.
#[allow(
    clippy::option_option,
    reason = "a bound may be missing, and may be wrong"
)]
fn bound(text: &str) -> Option<Option<i64>> {
    if text.is_empty() {
        return Some(None);
    }
    if text.starts_with('+') {
        return None;
    }
    text.parse().ok().map(Some)
}

/// What stands left and right of an operator.
fn comparison(text: &str) -> Option<(&str, Comparison, &str)> {
    const SIGNS: [char; 4] = ['!', '<', '>', '='];
    let start = text.find(SIGNS).filter(|start| *start > 0)?;
    let signs = text[start..].find(|next| !SIGNS.contains(&next))?;
    let (left, rest) = text.split_at(start);
    let (operator, right) = rest.split_at(signs);
    let operator = match operator {
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        "==" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        ">=" => Comparison::GreaterOrEqual,
        ">" => Comparison::Greater,
        _ => Comparison::Unknown,
    };
    Some((left, operator, right))
}

fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(next) = characters.next() {
        if next != '\\' {
            out.push(next);
            continue;
        }
        out.push(match characters.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            plain @ ('\\' | '\'' | '"') => plain,
            _ => return None,
        });
    }
    Some(out)
}
