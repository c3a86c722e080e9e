//! The tokens of a Go template: text, and what stands between its braces. They end where Go's own scanner ends them.

/// A word that begins an action, and no name of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Template,
    With,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Outside of braces.
    Text,
    /// `{{`, or `{{- `.
    Open,
    /// `}}`, or ` -}}`.
    Close,
    Space,
    /// `=`
    Assign,
    /// `:=`
    Declare,
    Pipe,
    LeftParen,
    RightParen,
    /// With its quotes, as are the next two.
    Quoted,
    Raw,
    Character,
    Number,
    /// `1+2i`
    Complex,
    Bool,
    Nil,
    Dot,
    /// `.name`
    Field,
    /// `$` or `$name`
    Variable,
    /// Of a function.
    Name,
    Keyword(Keyword),
    /// Any other mark, such as a comma.
    Mark,
    End,
    /// What can't be a token, and why. It is the last one.
    Wrong(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) at: usize,
}

/// All of them; the last one is the end, or what is wrong.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner {
        text,
        at: 0,
        from: 0,
        parens: 0,
        found: Vec::new(),
    };
    if let Err(why) = scanner.all() {
        scanner.from = scanner.from.min(text.len());
        scanner.at = scanner.from;
        scanner.give(Kind::Wrong(why));
    }
    scanner.found
}

const OPEN: &str = "{{";
const CLOSE: &str = "}}";
/// The length of a mark that trims, with the space that it needs.
const TRIM: usize = 2;

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

fn is_of_name(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

/// A minus and a space behind `{{`.
fn trims_before(text: &str) -> bool {
    let mut begin = text.chars();
    begin.next() == Some('-') && begin.next().is_some_and(is_space)
}

/// A space and a minus before `}}`.
fn trims_behind(text: &str) -> bool {
    let mut begin = text.chars();
    begin.next().is_some_and(is_space) && begin.next() == Some('-')
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Where the token begins.
    from: usize,
    parens: usize,
    found: Vec<Token<'a>>,
}

type Scanned = Result<(), &'static str>;

impl Scanner<'_> {
    fn all(&mut self) -> Scanned {
        while let Some(length) = self.rest().find(OPEN) {
            self.text_before(length);
            self.at += OPEN.len();
            let trims = trims_before(self.rest());
            let behind = self.at + if trims { TRIM } else { 0 };
            if self.text[behind..].starts_with("/*") {
                self.at = behind;
                self.comment()?;
            } else {
                self.give(Kind::Open);
                self.at = behind;
                self.from = behind;
                self.parens = 0;
                while !self.inside()? {}
            }
        }
        self.at = self.text.len();
        if self.at > self.from {
            self.give(Kind::Text);
        }
        self.give(Kind::End);
        Ok(())
    }

    fn text_before(&mut self, length: usize) {
        let open = self.at + length;
        let text = &self.text[self.at..open];
        let trims = trims_before(&self.text[open + OPEN.len()..]);
        self.at += if trims {
            text.trim_end_matches(is_space).len()
        } else {
            length
        };
        if self.at > self.from {
            self.give(Kind::Text);
        }
        self.at = open;
        self.from = open;
    }

    fn comment(&mut self) -> Scanned {
        self.from = self.at;
        let body = &self.rest()["/*".len()..];
        let length = body.find("*/").ok_or("a comment is not closed")?;
        self.at += "/*".len() + length + "*/".len();
        let trims = self.closes().ok_or("a comment ends before `}}`")?;
        self.close(trims);
        Ok(())
    }

    /// Whether the action ends here, and if so, whether it trims what follows.
    fn closes(&self) -> Option<bool> {
        let rest = self.rest();
        if trims_behind(rest) && rest[TRIM..].starts_with(CLOSE) {
            return Some(true);
        }
        rest.starts_with(CLOSE).then_some(false)
    }

    fn close(&mut self, trims: bool) {
        self.at += CLOSE.len();
        if trims {
            self.at += TRIM;
            self.at += self.rest().len() - self.rest().trim_start_matches(is_space).len();
        }
        self.from = self.at;
    }

    /// One token of an action; whether it was the last one.
    fn inside(&mut self) -> Result<bool, &'static str> {
        if let Some(trims) = self.closes() {
            return self.end_of_action(trims);
        }
        let Some(character) = self.next() else {
            return Err("an action is not closed");
        };
        match character {
            character if is_space(character) => return self.space(),
            '=' => self.give(Kind::Assign),
            ':' => {
                if self.next() != Some('=') {
                    return Err("`:=` is expected");
                }
                self.give(Kind::Declare);
            }
            '|' => self.give(Kind::Pipe),
            '"' => self.quoted('"', "a string is not closed", Kind::Quoted)?,
            '`' => self.raw()?,
            '$' => self.field_or_variable(Kind::Variable)?,
            '\'' => self.quoted('\'', "a character is not closed", Kind::Character)?,
            '.' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => {
                self.field_or_variable(Kind::Field)?;
            }
            '.' | '+' | '-' | '0'..='9' => self.number()?,
            character if is_of_name(character) => self.name()?,
            '(' => {
                self.parens += 1;
                self.give(Kind::LeftParen);
            }
            ')' => {
                let parens = self.parens.checked_sub(1);
                self.parens = parens.ok_or("a parenthesis is closed that was not opened")?;
                self.give(Kind::RightParen);
            }
            ' '..='~' => self.give(Kind::Mark),
            _ => return Err("a character that no action has"),
        }
        Ok(false)
    }

    fn end_of_action(&mut self, trims: bool) -> Result<bool, &'static str> {
        if self.parens > 0 {
            return Err("a parenthesis is not closed");
        }
        self.found.push(Token {
            kind: Kind::Close,
            text: CLOSE,
            at: self.at,
        });
        self.close(trims);
        Ok(true)
    }

    /// The last space may belong to a mark that trims.
    fn space(&mut self) -> Result<bool, &'static str> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_space).len();
        let last = self.at - 1;
        if trims_behind(&self.text[last..]) && self.text[last + TRIM..].starts_with(CLOSE) {
            self.at = last;
            if self.at == self.from {
                return self.end_of_action(true);
            }
        }
        self.give(Kind::Space);
        Ok(false)
    }

    fn quoted(&mut self, quote: char, not_closed: &'static str, kind: Kind) -> Scanned {
        loop {
            let mut character = self.next();
            let escaped = character == Some('\\');
            if escaped {
                character = self.next();
            }
            match character {
                None | Some('\n') => return Err(not_closed),
                Some(character) if character == quote && !escaped => break,
                Some(_) => {}
            }
        }
        self.give(kind);
        Ok(())
    }

    fn raw(&mut self) -> Scanned {
        let length = self.rest().find('`');
        self.at += length.ok_or("a raw string is not closed")? + 1;
        self.give(Kind::Raw);
        Ok(())
    }

    fn field_or_variable(&mut self, kind: Kind) -> Scanned {
        self.letters();
        self.terminated()?;
        let alone = self.at == self.from + 1;
        self.give(if alone && kind == Kind::Field {
            Kind::Dot
        } else {
            kind
        });
        Ok(())
    }

    fn name(&mut self) -> Scanned {
        self.letters();
        self.terminated()?;
        self.give(match &self.text[self.from..self.at] {
            "true" | "false" => Kind::Bool,
            "nil" => Kind::Nil,
            "block" => Kind::Keyword(Keyword::Block),
            "break" => Kind::Keyword(Keyword::Break),
            "continue" => Kind::Keyword(Keyword::Continue),
            "define" => Kind::Keyword(Keyword::Define),
            "else" => Kind::Keyword(Keyword::Else),
            "end" => Kind::Keyword(Keyword::End),
            "if" => Kind::Keyword(Keyword::If),
            "range" => Kind::Keyword(Keyword::Range),
            "template" => Kind::Keyword(Keyword::Template),
            "with" => Kind::Keyword(Keyword::With),
            _ => Kind::Name,
        });
        Ok(())
    }

    fn letters(&mut self) {
        while self.peek().is_some_and(is_of_name) {
            self.next();
        }
    }

    /// What may follow a name.
    fn terminated(&self) -> Scanned {
        let ends = match self.peek() {
            None => true,
            Some(next) => is_space(next) || ".,|:)(".contains(next),
        };
        if ends || self.rest().starts_with(CLOSE) {
            Ok(())
        } else {
            Err("a character that no name has")
        }
    }

    fn number(&mut self) -> Scanned {
        self.at = self.from;
        let bad = "this is no number";
        self.digits().ok_or(bad)?;
        if !matches!(self.peek(), Some('+' | '-')) {
            self.give(Kind::Number);
            return Ok(());
        }
        self.digits().ok_or(bad)?;
        if !self.text[..self.at].ends_with('i') {
            return Err(bad);
        }
        self.give(Kind::Complex);
        Ok(())
    }

    /// Takes what looks like a number; whether it is one is found out when it is read.
    fn digits(&mut self) -> Option<()> {
        self.accept("+-");
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        while self.accept(digits) {}
        if self.accept(".") {
            while self.accept(digits) {}
        }
        let exponent = match digits.len() {
            11 => "eE",
            23 => "pP",
            _ => "",
        };
        if self.accept(exponent) {
            self.accept("+-");
            while self.accept("0123456789_") {}
        }
        self.accept("i");
        (!self.peek().is_some_and(is_of_name)).then_some(())
    }

    fn accept(&mut self, these: &str) -> bool {
        let accepted = self.peek().is_some_and(|next| these.contains(next));
        if accepted {
            self.next();
        }
        accepted
    }

    fn give(&mut self, kind: Kind) {
        self.found.push(Token {
            kind,
            text: &self.text[self.from..self.at],
            at: self.from,
        });
        self.from = self.at;
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }
}
