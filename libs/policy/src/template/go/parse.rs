//! From the tokens of a Go template to what it says. Takes what Go's own parser takes, and says where something is wrong.

use std::collections::BTreeMap;

use super::{
    functions::{self, call::Function},
    literals,
    tokens::{Keyword, Kind, Token, tokens},
    tree::{Call, Cases, Command, Expr, List, Names, Node, Pipeline, Range, Term},
};
use crate::template::{
    rules::{TAG_LIMIT, TemplateError},
    shape::DEPTH_LIMIT,
    tags::place,
};

/// A template with those that it defines.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    pub(super) body: List,
    pub(super) defined: BTreeMap<Box<str>, List>,
}

/// Parses a template.
pub(super) fn parse(text: &str) -> Result<Parsed, TemplateError> {
    let mut parser = Parser {
        tokens: tokens(text),
        next: 0,
        state: State::default(),
        depth: 0,
        defined: BTreeMap::new(),
    };
    let open = parser
        .tokens
        .iter()
        .filter(|token| token.kind == Kind::Open);
    let body = match open.map(|token| token.at).nth(TAG_LIMIT) {
        Some(at) => Err(Wrong::rule(
            at,
            format!("a template has no more than {TAG_LIMIT} tags"),
        )),
        None => parser.whole(),
    };
    match body {
        Ok(body) => Ok(Parsed {
            body,
            defined: parser.defined,
        }),
        Err(wrong) => Err(wrong.located(text)),
    }
}

/// What is wrong, and where.
pub(super) struct Wrong {
    at: usize,
    message: String,
    /// The syntax is well, and it can't mean anything.
    rule: bool,
}

impl Wrong {
    fn syntax(at: usize, message: String) -> Self {
        Self {
            at,
            message,
            rule: false,
        }
    }

    pub(super) fn rule(at: usize, message: String) -> Self {
        Self {
            at,
            message,
            rule: true,
        }
    }

    pub(super) fn located(self, text: &str) -> TemplateError {
        let (line, column) = place(text, self.at);
        let message = self.message;
        if self.rule {
            TemplateError::Meaning {
                line,
                column,
                message,
            }
        } else {
            TemplateError::Syntax {
                line,
                column,
                message,
            }
        }
    }
}

type Done<T> = Result<T, Wrong>;

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    next: usize,
    state: State<'a>,
    /// Blocks and parentheses around what is parsed.
    depth: usize,
    defined: BTreeMap<Box<str>, List>,
}

/// Of the template that is parsed; one that is defined begins with none of it.
#[derive(Default)]
struct State<'a> {
    variables: Vec<&'a str>,
    ranges: usize,
}

/// What ended a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    End,
    Else,
    /// The `if` or `with` behind an `else`, which was not taken.
    ElseWith(Keyword),
}

/// What a pipeline stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Action,
    Range,
    Parentheses,
}

impl<'a> Parser<'a> {
    fn whole(&mut self) -> Done<List> {
        let mut list = List::new();
        loop {
            let token = self.peek();
            match token.kind {
                Kind::End => return Ok(list),
                Kind::Open if self.defines() => self.define()?,
                _ => match self.piece()? {
                    Piece::Node(node) => list.push(node),
                    Piece::End(Until::End) => return Err(self.wrong(token, "unexpected end")),
                    Piece::End(_) => return Err(self.wrong(token, "unexpected else")),
                },
            }
        }
    }

    /// Whether a definition begins here; then it is gone over.
    fn defines(&mut self) -> bool {
        let before = self.next;
        self.next += 1;
        let defines = self.take_word().kind == Kind::Keyword(Keyword::Define);
        if !defines {
            self.next = before;
        }
        defines
    }

    fn define(&mut self) -> Done<()> {
        let name = self.take_word();
        let text = self.name_of(name)?;
        self.expect_close()?;
        self.add(text, name)
    }

    /// A template of its own, which begins here.
    fn add(&mut self, name: Box<str>, token: Token<'a>) -> Done<()> {
        let outer = std::mem::take(&mut self.state);
        let (list, end) = self.nested(token, Self::list)?;
        self.state = outer;
        if end != Until::End {
            return Err(self.wrong(token, "a template that is defined has no else"));
        }
        let known = self.defined.get(&name);
        if known.is_none_or(is_empty) {
            self.defined.insert(name, list);
        } else if !is_empty(&list) {
            return Err(Wrong::syntax(
                token.at,
                format!("the template {name} is defined twice"),
            ));
        }
        Ok(())
    }

    fn list(&mut self) -> Done<(List, Until)> {
        let mut list = List::new();
        loop {
            let token = self.peek_word();
            if token.kind == Kind::End {
                return Err(self.wrong(token, "a block is not closed"));
            }
            match self.piece()? {
                Piece::Node(node) => list.push(node),
                Piece::End(end) => return Ok((list, end)),
            }
        }
    }

    fn piece(&mut self) -> Done<Piece> {
        let token = self.take_word();
        match token.kind {
            Kind::Text => Ok(Piece::Node(Node::Text(token.text.into()))),
            Kind::Open => self.action(),
            _ => Err(self.unexpected(token)),
        }
    }

    fn action(&mut self) -> Done<Piece> {
        let token = self.take_word();
        let Kind::Keyword(keyword) = token.kind else {
            self.next -= 1;
            let pipeline = self.pipeline(Place::Action)?;
            return Ok(Piece::Node(Node::Action(pipeline)));
        };
        let node = match keyword {
            Keyword::End => {
                self.expect_close()?;
                return Ok(Piece::End(Until::End));
            }
            Keyword::Else => return self.otherwise().map(Piece::End),
            Keyword::Break => self.leaves(token, Node::Break)?,
            Keyword::Continue => self.leaves(token, Node::Continue)?,
            Keyword::If | Keyword::With => self.nested(token, |parser| parser.cases(keyword))?,
            Keyword::Range => self.nested(token, Self::range)?,
            Keyword::Template => self.template()?,
            Keyword::Block => self.block()?,
            Keyword::Define => {
                return Err(self.wrong(token, "a template is defined outside of every block"));
            }
        };
        Ok(Piece::Node(node))
    }

    fn otherwise(&mut self) -> Done<Until> {
        match self.peek_word().kind {
            Kind::Keyword(keyword @ (Keyword::If | Keyword::With)) => Ok(Until::ElseWith(keyword)),
            _ => self.expect_close().map(|()| Until::Else),
        }
    }

    fn leaves(&mut self, token: Token<'a>, node: Node) -> Done<Node> {
        self.expect_close()?;
        if self.state.ranges == 0 {
            let message = format!("{} stands in no range", token.text);
            return Err(Wrong::syntax(token.at, message));
        }
        Ok(node)
    }

    /// Behind an `if` or `with`. What follows an `else` of the same kind is one more case.
    fn cases(&mut self, keyword: Keyword) -> Done<Node> {
        let known = self.state.variables.len();
        let mut cases = Vec::new();
        let mut otherwise = List::new();
        loop {
            let pipeline = self.pipeline(Place::Action)?;
            let (list, end) = self.list()?;
            cases.push((pipeline, list));
            match end {
                Until::End => break,
                Until::ElseWith(other) if other == keyword => {
                    self.take_word();
                }
                _ => {
                    otherwise = self.last_list(end)?;
                    break;
                }
            }
        }
        self.state.variables.truncate(known);
        let cases = Cases { cases, otherwise };
        Ok(if keyword == Keyword::If {
            Node::If(cases)
        } else {
            Node::With(cases)
        })
    }

    fn range(&mut self) -> Done<Node> {
        let known = self.state.variables.len();
        let over = self.pipeline(Place::Range)?;
        self.state.ranges += 1;
        let (body, end) = self.list()?;
        self.state.ranges -= 1;
        let otherwise = match end {
            Until::End => List::new(),
            end => self.last_list(end)?,
        };
        self.state.variables.truncate(known);
        Ok(Node::Range(Box::new(Range {
            over,
            body,
            otherwise,
        })))
    }

    /// Behind an `else`.
    fn last_list(&mut self, end: Until) -> Done<List> {
        let token = self.peek_word();
        if matches!(end, Until::ElseWith(_)) {
            // To Go it is the first word of a list, where no action begins.
            return Err(self.unexpected(token));
        }
        match self.list()? {
            (list, Until::End) => Ok(list),
            _ => Err(self.wrong(token, "a block has one else")),
        }
    }

    fn template(&mut self) -> Done<Node> {
        let token = self.take_word();
        let name = self.name_of(token)?;
        let with = if self.peek_word().kind == Kind::Close {
            self.take_word();
            None
        } else {
            Some(self.pipeline(Place::Action)?)
        };
        Ok(Node::Template(Call {
            at: token.at,
            name,
            with,
        }))
    }

    fn block(&mut self) -> Done<Node> {
        let token = self.take_word();
        let name = self.name_of(token)?;
        let with = Some(self.pipeline(Place::Action)?);
        self.add(name.clone(), token)?;
        Ok(Node::Template(Call {
            at: token.at,
            name,
            with,
        }))
    }

    fn name_of(&self, token: Token<'a>) -> Done<Box<str>> {
        match token.kind {
            Kind::Quoted | Kind::Raw => self.string(token),
            _ => Err(self.unexpected(token)),
        }
    }

    fn string(&self, token: Token<'a>) -> Done<Box<str>> {
        let string = literals::string(token.kind, token.text);
        let string = string.map_err(|message| self.wrong(token, message))?;
        Ok(string.into())
    }

    /// Up to what closes it.
    fn pipeline(&mut self, place: Place) -> Done<Pipeline> {
        let begin = self.peek_word();
        let (variables, assigns) = self.declarations(place)?;
        let mut commands = Vec::new();
        let closing = match place {
            Place::Parentheses => Kind::RightParen,
            _ => Kind::Close,
        };
        loop {
            let token = self.peek_word();
            match token.kind {
                kind if kind == closing => break,
                Kind::Bool
                | Kind::Character
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Name
                | Kind::Number
                | Kind::Nil
                | Kind::Raw
                | Kind::Quoted
                | Kind::Variable
                | Kind::LeftParen => {
                    let command = self.command()?;
                    if !commands.is_empty() {
                        self.takes_a_value(&command)?;
                    }
                    commands.push(command);
                }
                _ => return Err(self.unexpected(token)),
            }
        }
        let end = self.take_word();
        if commands.is_empty() {
            return Err(self.wrong(end, "a value is missing"));
        }
        Ok(Pipeline {
            at: begin.at,
            variables,
            assigns,
            commands,
        })
    }

    /// Only what may be called can stand behind a bar.
    fn takes_a_value(&self, command: &Command) -> Done<()> {
        let Expr { at, term } = &command.first;
        match term {
            Term::Bool(_) | Term::Dot | Term::Nil | Term::Number(_) | Term::Text(_) => {
                let message = "what stands behind a bar takes no value".to_owned();
                Err(Wrong::syntax(*at, message))
            }
            _ => Ok(()),
        }
    }

    fn declarations(&mut self, place: Place) -> Done<(Vec<Box<str>>, bool)> {
        let mut names = Vec::new();
        loop {
            let token = self.peek_word();
            if token.kind != Kind::Variable {
                return Ok((names, false));
            }
            let before = self.next;
            self.take_word();
            let sign = self.peek_word();
            let declares = matches!(sign.kind, Kind::Assign | Kind::Declare);
            let goes_on = sign.kind == Kind::Mark && sign.text == ",";
            if !declares && !goes_on {
                self.next = before;
                return Ok((names, false));
            }
            if token.text == "$" {
                let message = "$ is what the template is rendered over: to set it is not offered";
                return Err(Wrong::rule(token.at, message.to_owned()));
            }
            self.take_word();
            names.push(token.text.into());
            self.state.variables.push(token.text);
            if declares {
                return Ok((names, sign.kind == Kind::Assign));
            }
            if place != Place::Range || names.len() > 1 {
                return Err(self.wrong(sign, "too many variables are declared"));
            }
            let next = self.peek_word();
            if !matches!(next.kind, Kind::Variable | Kind::Close | Kind::RightParen) {
                return Err(self.wrong(next, "a range declares variables alone"));
            }
        }
    }

    fn command(&mut self) -> Done<Command> {
        let begin = self.peek_word();
        let mut terms = Vec::new();
        loop {
            self.peek_word();
            terms.extend(self.operand()?);
            let token = self.take();
            match token.kind {
                Kind::Space => {}
                Kind::Pipe => break,
                Kind::Close | Kind::RightParen => {
                    self.next -= 1;
                    break;
                }
                _ => return Err(self.unexpected(token)),
            }
        }
        let mut terms = terms.into_iter();
        match terms.next() {
            Some(first) => Ok(Command {
                first,
                arguments: terms.collect(),
            }),
            None => Err(self.wrong(begin, "a command is empty")),
        }
    }

    /// A term with the fields behind it; none if there is no term here.
    fn operand(&mut self) -> Done<Option<Expr>> {
        let Some(Expr { at, term }) = self.term()? else {
            return Ok(None);
        };
        let begin = self.peek();
        let mut names = Names::new();
        while self.peek().kind == Kind::Field {
            names.push(self.take().text[1..].into());
        }
        if names.is_empty() {
            return Ok(Some(Expr { at, term }));
        }
        let term = match term {
            Term::Fields(mut fields) => {
                fields.extend(names);
                Term::Fields(fields)
            }
            Term::Variable(name, _) => Term::Variable(name, names),
            Term::Function(_) | Term::Pipeline(_) => {
                Term::Chain(Box::new(Expr { at, term }), names)
            }
            _ => return Err(self.wrong(begin, "that has no fields")),
        };
        Ok(Some(Expr { at, term }))
    }

    fn term(&mut self) -> Done<Option<Expr>> {
        let token = self.take_word();
        let wrong = |message| Wrong::syntax(token.at, message);
        let term = match token.kind {
            Kind::Name => Term::Function(function(token)?),
            Kind::Dot => Term::Dot,
            Kind::Nil => Term::Nil,
            Kind::Variable => {
                if token.text != "$" && !self.state.variables.contains(&token.text) {
                    return Err(wrong(format!("the variable {} is unknown", token.text)));
                }
                Term::Variable(token.text.into(), Names::new())
            }
            Kind::Field => Term::Fields(vec![token.text[1..].into()]),
            Kind::Bool => Term::Bool(token.text == "true"),
            Kind::Character | Kind::Complex | Kind::Number => {
                let number = literals::number(token.kind, token.text);
                Term::Number(number.map_err(|message| wrong(message.to_owned()))?)
            }
            Kind::LeftParen => {
                let inside = |parser: &mut Self| parser.pipeline(Place::Parentheses);
                Term::Pipeline(Box::new(self.nested(token, inside)?))
            }
            Kind::Quoted | Kind::Raw => Term::Text(self.string(token)?),
            _ => {
                self.next -= 1;
                return Ok(None);
            }
        };
        Ok(Some(Expr { at: token.at, term }))
    }

    fn nested<T>(&mut self, token: Token<'a>, parse: impl FnOnce(&mut Self) -> Done<T>) -> Done<T> {
        if self.depth == DEPTH_LIMIT {
            let message = "blocks and parentheses are nested too deep".to_owned();
            return Err(Wrong::rule(token.at, message));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn expect_close(&mut self) -> Done<()> {
        let token = self.take_word();
        match token.kind {
            Kind::Close => Ok(()),
            _ => Err(self.unexpected(token)),
        }
    }

    fn peek(&self) -> Token<'a> {
        // The last one is the end, and nothing is taken behind it.
        let last = self.tokens.len() - 1;
        self.tokens[self.next.min(last)]
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn peek_word(&mut self) -> Token<'a> {
        while self.peek().kind == Kind::Space {
            self.next += 1;
        }
        self.peek()
    }

    fn take_word(&mut self) -> Token<'a> {
        self.peek_word();
        self.take()
    }

    fn unexpected(&self, token: Token<'a>) -> Wrong {
        let message = match token.kind {
            Kind::Wrong(why) => why.to_owned(),
            Kind::End => "a block is not closed".to_owned(),
            Kind::Open | Kind::Text => "an action is not closed".to_owned(),
            Kind::Close => "a value is missing".to_owned(),
            _ => format!("{} does not belong here", shortened(token.text)),
        };
        Wrong::syntax(token.at, message)
    }

    fn wrong(&self, token: Token<'a>, message: &str) -> Wrong {
        match token.kind {
            Kind::Wrong(_) => self.unexpected(token),
            _ => Wrong::syntax(token.at, message.to_owned()),
        }
    }
}

/// What stands in a list, or ends it.
enum Piece {
    Node(Node),
    End(Until),
}

fn function(token: Token<'_>) -> Done<&'static Function> {
    functions::find(token.text).map_err(|message| Wrong::syntax(token.at, message))
}

fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(20).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// Nothing but space: a definition that may be replaced.
fn is_empty(list: &List) -> bool {
    let space = |node: &Node| matches!(node, Node::Text(text) if text.trim().is_empty());
    list.iter().all(space)
}
