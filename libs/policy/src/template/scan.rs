//! The tags of a Handlebars template, found without parsing: where each begins and ends, what it does to the blocks around it, and how
//! many calls it has in each other.
//!
//! It ends a tag, a comment, a string and a name in brackets where the parser's grammar ends them, or says that it can't tell: were
//! one of them longer for it than for the parser, whatever stands in the difference would be parsed without having been counted. What
//! would make that unclear (raw blocks, values in braces, partials, strings in brackets that are no list) is not offered, and nothing
//! that is not closed counts as the rest of the text. A test compares the two over random templates.

/// A tag that is no comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// Where it opens.
    pub(super) at: usize,
    pub(super) role: Role,
    /// Calls in parentheses.
    pub(super) calls: usize,
    /// How many of them stand in each other.
    pub(super) deepest: usize,
}

/// What a tag does to the blocks around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// `{{#if x}}`
    Opens,
    /// `{{/if}}`
    Closes,
    /// `{{else if x}}`, which nests in what it is the other case of.
    OtherCase,
    /// Everything else.
    Plain,
}

/// A place from which on it can't be told what the parser sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclear {
    pub(super) at: usize,
    pub(super) why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// This has no end.
    NotClosed(&'static str),
    /// This is not offered.
    NotOffered(&'static str),
}

/// Every tag from the beginning on, until one is unclear.
pub(super) fn scan(text: &str) -> impl Iterator<Item = Result<Tag, Unclear>> {
    let mut from = Some(0);
    std::iter::from_fn(move || {
        let (found, next) = next_tag(text, from?)?;
        from = next;
        Some(found)
    })
}

/// The next tag, and where to look on.
fn next_tag(text: &str, mut from: usize) -> Option<(Result<Tag, Unclear>, Option<usize>)> {
    loop {
        let at = from + text[from..].find("{{")?;
        let begin = at + 2;
        from = if is_escaped(&text[..at]) {
            // An escape takes up to four braces.
            begin
                + if text[begin..].starts_with("{{") {
                    2
                } else {
                    0
                }
        } else if let Some(comment) = text[begin..].strip_prefix('!') {
            match length_of_comment(comment) {
                Some(length) => begin + 1 + length,
                None => {
                    let why = Why::NotClosed("a comment");
                    return Some((Err(Unclear { at, why }), None));
                }
            }
        } else {
            let mut cursor = Cursor {
                text: text.as_bytes(),
                at: begin,
            };
            return Some(match cursor.tag(at) {
                Ok(tag) => (Ok(tag), Some(cursor.at)),
                Err(why) => (Err(Unclear { at, why }), None),
            });
        };
    }
}

/// Whether what follows this text is one: after one backslash, and not after several.
fn is_escaped(before: &str) -> bool {
    before.ends_with('\\') && !before.ends_with("\\\\")
}

/// A comment may hold anything. One that begins as a long one and never ends as one is a short one.
fn length_of_comment(text: &str) -> Option<usize> {
    let close = |from: usize, close: &str| {
        let found = text[from..].find(close);
        found.map(|at| from + at + close.len())
    };
    let dashes = text.len() - text.trim_start_matches(SPACE).len();
    let long = text[dashes..].starts_with("--");
    let long = long.then(|| close(dashes + 2, "--}}")).flatten();
    long.or_else(|| close(0, "}}"))
}

/// What the grammar skips between two words.
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// From behind the two braces to those that close. Braces that follow are text for whoever looks on.
    fn tag(&mut self, at: usize) -> Result<Tag, Why> {
        let role = self.role()?;
        let (mut calls, mut depth, mut deepest) = (0, 0_usize, 0);
        loop {
            let Some(byte) = self.byte() else {
                return Err(Why::NotClosed("a tag"));
            };
            match byte {
                b'}' => break,
                b'{' => return Err(Why::NotOffered("a value in braces is not offered")),
                b'"' | b'\'' => self.string(byte)?,
                b'[' => self.brackets()?,
                b'(' => {
                    (calls, depth) = (calls + 1, depth + 1);
                    deepest = deepest.max(depth);
                }
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
        Ok(Tag {
            at,
            role,
            calls,
            deepest,
        })
    }

    /// Goes over what opens the tag, with the third brace of `{{{`.
    fn role(&mut self) -> Result<Role, Why> {
        if self.rest().starts_with(b"{{") {
            return Err(Why::NotOffered("raw blocks are not offered"));
        }
        self.skip(b" \t\r\n~");
        if self.byte() == Some(b'{') {
            self.at += 1;
            self.skip(b" \t\r\n~");
        }
        let sign = self.byte();
        if matches!(sign, Some(b'#' | b'/' | b'^')) {
            self.at += 1;
        }
        let role = match sign {
            Some(b'#') => Role::Opens,
            Some(b'/') => Role::Closes,
            Some(b'^') => self.case(),
            _ if self.rest().starts_with(b"else") => {
                self.at += b"else".len();
                self.case()
            }
            _ => Role::Plain,
        };
        self.skip(b" \t\r\n");
        if role != Role::Closes && matches!(self.byte(), Some(b'>' | b'*')) {
            return Err(Why::NotOffered("partials and decorators are not offered"));
        }
        Ok(role)
    }

    /// Behind `else`: with a condition it is a block of its own.
    fn case(&mut self) -> Role {
        self.skip(b" \t\r\n~");
        if self.byte() == Some(b'}') {
            Role::Plain
        } else {
            Role::OtherCase
        }
    }

    /// To the quote that closes.
    fn string(&mut self, quote: u8) -> Result<(), Why> {
        loop {
            self.at += 1;
            match self.byte() {
                None => return Err(Why::NotClosed("a string")),
                Some(b'\\') => self.at += 1,
                Some(byte) if byte == quote => return Ok(()),
                Some(_) => {}
            }
        }
    }

    /// To the bracket that closes: of a name, as of a field with dots, or of a list of single values. A name ends at the first one,
    /// whatever stands before it; so it is a list with others in its texts only where no name can stand.
    fn brackets(&mut self) -> Result<(), Why> {
        let inside = &self.rest()[1..];
        let Some(first) = inside.iter().position(|byte| *byte == b']') else {
            return Err(Why::NotClosed("a bracket"));
        };
        let list = length_of_list(inside);
        let length = match list {
            Some(length) if length == first || self.is_behind_a_word() => length,
            _ if !inside[..first].iter().any(|byte| b"\"'`([{".contains(byte)) => first,
            _ => return Err(Why::NotOffered(BRACKETS)),
        };
        self.at += 1 + length;
        Ok(())
    }

    /// Whether what stands here is an argument, and not part of a path.
    fn is_behind_a_word(&self) -> bool {
        let before = self.text[..self.at].trim_ascii_end().last();
        before.is_some_and(|byte| is_of_symbol(*byte) || b"\"')]=".contains(byte))
    }

    fn skip(&mut self, these: &[u8]) {
        while self.byte().is_some_and(|byte| these.contains(&byte)) {
            self.at += 1;
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }
}

const BRACKETS: &str =
    "brackets hold a name without quotes and brackets, or a list of single values";

/// What names and numbers are made of for the grammar.
fn is_of_symbol(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_$:".contains(&byte) || !byte.is_ascii()
}

/// Where the list ends that begins behind a bracket: texts, numbers and the like with commas between them, as the grammar has them. What
/// is a list for others only is none here.
fn length_of_list(inside: &[u8]) -> Option<usize> {
    let skip = |at: usize| at + inside[at..].len() - trim_start(&inside[at..]).len();
    let mut at = skip(0);
    if inside.get(at) == Some(&b']') {
        return Some(at);
    }
    loop {
        at = skip(at + length_of_single(&inside[at..])?);
        match inside.get(at)? {
            b']' => return Some(at),
            b',' => at = skip(at + 1),
            _ => return None,
        }
    }
}

fn trim_start(text: &[u8]) -> &[u8] {
    let begin = text.iter().position(|byte| !b" \t\r\n".contains(byte));
    begin.map_or(&[], |begin| &text[begin..])
}

/// A value without values in it.
fn length_of_single(text: &[u8]) -> Option<usize> {
    if text.first() == Some(&b'"') {
        return length_of_string(text);
    }
    let is_of_number = |byte: u8| is_of_symbol(byte) || byte == b'.';
    let end = text.iter().position(|byte| !is_of_number(*byte));
    let word = &text[..end.unwrap_or(text.len())];
    let is_number = || {
        let digits = word.strip_prefix(b"-").unwrap_or(word);
        let mut parts = digits.splitn(2, |byte| *byte == b'.');
        parts.all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    };
    let is_single = matches!(word, b"true" | b"false" | b"null") || is_number();
    is_single.then_some(word.len())
}

/// With the escapes that the grammar knows and no others.
fn length_of_string(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match text.get(at + 1)? {
                b'u' => {
                    let digits = text.get(at + 2..at + 6)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    at += 6;
                }
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                _ => return None,
            },
            _ => at += 1,
        }
    }
}
