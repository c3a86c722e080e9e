//! Texts. What counts characters of a text counts bytes, as sprig does; a cut within a character is an error.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::{
    call::{Answer, Arguments, Function, Takes, as_text, printed},
    letters::{lower, swapped, title, upper},
    lists,
};
use crate::template::go::{
    floats::repeated,
    print::Printer,
    quote,
    stop::Failure,
    value::{ITEM, MAP_ITSELF, Of, SMALL, Text, Value},
};

const TEXT: Takes = Takes::Text;
const ONE: &[Takes] = &[TEXT];
const TWO: &[Takes] = &[TEXT, TEXT];
const THREE: &[Takes] = &[TEXT, TEXT, TEXT];
const COUNTED: &[Takes] = &[Takes::Int, TEXT];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("upper", ONE, |a| {
        mapped(a, |text| text.chars().map(upper).collect())
    }),
    Function::new("lower", ONE, |a| {
        mapped(a, |text| text.chars().map(lower).collect())
    }),
    Function::new("title", ONE, |a| mapped(a, titled)),
    Function::new("untitle", ONE, |a| mapped(a, untitle)),
    Function::new("swapcase", ONE, |a| mapped(a, swap_case)),
    Function::new("initials", ONE, |a| mapped(a, initials)),
    Function::new("nospace", ONE, |a| mapped(a, without_space)),
    Function::new("trim", ONE, |a| mapped(a, |text| text.trim().to_owned())),
    Function::new("trimAll", TWO, trim_all),
    Function::new("trimall", TWO, trim_all),
    Function::new("trimPrefix", TWO, |a| {
        let (prefix, text) = (a.text(), a.text());
        let bare = text.strip_prefix(&*prefix).map(str::to_owned);
        Ok(bare.map_or(Value::Text(text), Value::from))
    }),
    Function::new("trimSuffix", TWO, |a| {
        let (suffix, text) = (a.text(), a.text());
        let bare = text.strip_suffix(&*suffix).map(str::to_owned);
        Ok(bare.map_or(Value::Text(text), Value::from))
    }),
    Function::new("hasPrefix", TWO, |a| {
        let (prefix, text) = (a.text(), a.text());
        Ok(text.starts_with(&*prefix).into())
    }),
    Function::new("hasSuffix", TWO, |a| {
        let (suffix, text) = (a.text(), a.text());
        Ok(text.ends_with(&*suffix).into())
    }),
    Function::new("contains", TWO, |a| {
        let (part, text) = (a.text(), a.text());
        Ok(text.contains(&*part).into())
    }),
    Function::new("replace", THREE, replace),
    Function::new("repeat", COUNTED, repeat),
    Function::new("trunc", COUNTED, truncate),
    Function::new("substr", &[Takes::Int, Takes::Int, TEXT], part),
    Function::new("indent", COUNTED, |a| indented(a, "")),
    Function::new("nindent", COUNTED, |a| indented(a, "\n")),
    Function::new("plural", &[TEXT, TEXT, Takes::Int], |a| {
        let (one, many) = (a.text(), a.text());
        Ok(Value::Text(if a.integer() == 1 { one } else { many }))
    }),
    Function::with_more("quote", &[], Takes::Anything, |a| {
        each(a, |out, value, a| {
            let text = as_text(value, a)?;
            Ok(quote::text(out, &text, false))
        })
    }),
    Function::with_more("squote", &[], Takes::Anything, |a| {
        each(a, |out, value, a| {
            let text = printed(std::slice::from_ref(value), a)?;
            Ok(write!(out, "'{text}'"))
        })
    }),
    Function::with_more("cat", &[], Takes::Anything, |a| {
        each(
            a,
            |out, value, _| Ok(Printer::new(out).argument(value, 'v')),
        )
    }),
    Function::new("split", TWO, |a| {
        let (separator, text) = (a.text(), a.text());
        numbered(a, parts(a, &separator, &text, -1)?)
    }),
    Function::new("splitn", &[TEXT, Takes::Int, TEXT], |a| {
        let (separator, most, text) = (a.text(), a.integer(), a.text());
        numbered(a, parts(a, &separator, &text, most)?)
    }),
    Function::new("splitList", TWO, |a| {
        let (separator, text) = (a.text(), a.text());
        lists::texts(parts(a, &separator, &text, -1)?)
    }),
    Function::new("regexQuoteMeta", ONE, |a| mapped(a, quote_expression)),
];

#[expect(clippy::unnecessary_wraps, reason = "the form of every function")]
fn mapped<'a>(arguments: &mut Arguments<'_, 'a>, map: impl Fn(&str) -> String) -> Answer<'a> {
    Ok(map(&arguments.text()).into())
}

fn titled(text: &str) -> String {
    let mut before = ' ';
    let letters = text.chars().map(|letter| {
        let begins = match before {
            before if before.is_ascii() => !(before.is_ascii_alphanumeric() || before == '_'),
            before => before.is_whitespace(),
        };
        before = letter;
        if begins { title(letter) } else { letter }
    });
    letters.collect()
}

fn untitle(text: &str) -> String {
    let mut begins = true;
    let letters = text.chars().map(|letter| {
        if letter.is_whitespace() {
            begins = true;
            letter
        } else if begins {
            begins = false;
            lower(letter)
        } else {
            letter
        }
    });
    letters.collect()
}

fn swap_case(text: &str) -> String {
    let mut begins = true;
    let letters = text.chars().map(|letter| {
        let swapped = swapped(letter, begins);
        begins = swapped.is_none() && letter.is_whitespace();
        swapped.unwrap_or(letter)
    });
    letters.collect()
}

/// Byte by byte, as sprig's library does.
fn initials(text: &str) -> String {
    let mut gap = true;
    let letters = text.bytes().map(char::from).filter(|letter| {
        let begins = gap && !letter.is_whitespace();
        gap = letter.is_whitespace();
        begins
    });
    letters.collect()
}

/// Byte by byte, where there is any space.
fn without_space(text: &str) -> String {
    let letters = text.bytes().map(char::from);
    let kept: String = letters.filter(|letter| !letter.is_whitespace()).collect();
    if kept.chars().count() == text.len() {
        return text.to_owned();
    }
    kept
}

/// Characters of a mebibyte against each of another one would take hours, so they are looked up.
fn trim_all<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let (these, text) = (arguments.text(), arguments.text());
    arguments.pay_items(these.len())?;
    let these: BTreeSet<char> = these.chars().collect();
    let bare = text.trim_matches(|letter| these.contains(&letter));
    Ok(bare.to_owned().into())
}

/// Ten texts in each other that each make one of ten are ten thousand million bytes: the result is counted before it is made.
fn replace<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let (old, new, text) = (arguments.text(), arguments.text(), arguments.text());
    let times = text.matches(&*old).count();
    arguments.pay(times.saturating_mul(new.len()))?;
    Ok(text.replace(&*old, &new).into())
}

fn count(number: i64) -> Result<usize, Failure> {
    usize::try_from(number).map_err(|_| Failure::of("a count is not less than 0"))
}

fn repeat<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let times = count(arguments.integer())?;
    let text = arguments.text();
    arguments.pay(times.saturating_mul(text.len()))?;
    if text.is_empty() {
        return Ok(Value::Text(text));
    }
    Ok(text.repeat(times).into())
}

fn indented<'a>(arguments: &mut Arguments<'_, 'a>, before: &str) -> Answer<'a> {
    let spaces = count(arguments.integer())?;
    let text = arguments.text();
    let indented = arguments.written(|out| {
        out.write_str(before)?;
        repeated(out, spaces, " ")?;
        for (place, line) in text.split('\n').enumerate() {
            if place > 0 {
                out.write_str("\n")?;
                repeated(out, spaces, " ")?;
            }
            out.write_str(line)?;
        }
        Ok(())
    })?;
    Ok(indented.into())
}

fn truncate<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let length = arguments.integer();
    let text = arguments.text();
    let most = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
    if length < 0 && most < text.len() {
        return cut(&text, text.len() - most, text.len());
    }
    if length >= 0 && text.len() > most {
        return cut(&text, 0, most);
    }
    Ok(Value::Text(text))
}

fn part<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let (start, end) = (arguments.integer(), arguments.integer());
    let text = arguments.text();
    let end = usize::try_from(end).ok();
    match usize::try_from(start) {
        Err(_) => cut(&text, 0, end.unwrap_or(usize::MAX)),
        Ok(start) => {
            let end = end.filter(|end| *end <= text.len());
            cut(&text, start, end.unwrap_or(text.len()))
        }
    }
}

fn cut<'a>(text: &Text<'a>, begin: usize, end: usize) -> Answer<'a> {
    if begin > end || end > text.len() {
        return Err(Failure::of("the places are not in the text"));
    }
    let part = text.get(begin..end);
    let part = part.ok_or_else(|| Failure::of("the cut is within a character"))?;
    Ok(part.to_owned().into())
}

type Written<'b> = super::call::Paid<'b>;

/// Each value that is not null, with a space between two.
fn each<'b, 'a>(
    arguments: &mut Arguments<'b, 'a>,
    write: impl Fn(
        &mut Written<'b>,
        &Value<'a>,
        &Arguments<'b, 'a>,
    ) -> Result<std::fmt::Result, Failure>,
) -> Answer<'a> {
    let values = arguments.rest();
    let values = values.iter().filter(|value| !matches!(value, Value::Nil));
    let mut failed = None;
    let text = arguments.written(|out| {
        for (place, value) in values.enumerate() {
            if place > 0 {
                out.write_char(' ')?;
            }
            match write(out, value, arguments) {
                Ok(written) => written?,
                Err(failure) => {
                    failed = Some(failure);
                    return Ok(());
                }
            }
        }
        Ok(())
    });
    match failed {
        Some(failure) => Err(failure),
        None => Ok(text?.into()),
    }
}

/// The parts of a text, no more of them than said.
fn parts<'a>(
    arguments: &Arguments<'_, 'a>,
    separator: &str,
    text: &str,
    most: i64,
) -> Result<Vec<Text<'a>>, Failure> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let count = if separator.is_empty() {
        text.chars().count()
    } else {
        text.matches(separator).count().saturating_add(1)
    };
    arguments.pay(count.min(most).saturating_mul(ITEM + SMALL))?;
    let own = |part: &str| Text::Own(part.into());
    if most == 0 {
        return Ok(Vec::new());
    }
    if !separator.is_empty() {
        return Ok(text.splitn(most, separator).map(own).collect());
    }
    let ends = text.char_indices().skip(1).map(|(at, _)| at);
    let mut begin = 0;
    let mut letters: Vec<_> = ends
        .take(most - 1)
        .map(|end| own(&text[std::mem::replace(&mut begin, end)..end]))
        .collect();
    if begin < text.len() {
        letters.push(own(&text[begin..]));
    }
    Ok(letters)
}

/// `_0`, `_1` and so on.
fn numbered<'a>(arguments: &Arguments<'_, 'a>, parts: Vec<Text<'a>>) -> Answer<'a> {
    arguments.pay(parts.len().saturating_mul(SMALL))?;
    arguments.pay(MAP_ITSELF)?;
    arguments.pay_fields(parts.len())?;
    let fields = parts.into_iter().enumerate().map(|(place, part)| {
        let name = format!("_{place}");
        (Text::Own(name.into()), Value::Text(part))
    });
    Value::map_of(Of::Texts, fields.collect::<BTreeMap<_, _>>())
}

fn quote_expression(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted
}
