//! Which arguments of a child process are secrets: what follows a flag like `--token`, a header, `NAME=value`, JSON.
//!
//! An argument is read after those before it, and cut into what stays readable and what does not. The cut is the same
//! whatever the secret is, also `***` or a sealed value: what was found once must be found at the same place again.

use serde_json::Value;

use super::key::is_telling_word;
use super::url_parts::UrlParts;
use super::{SEALED, is_sensitive_key, mentions_secret};
use crate::mask::MASK;

const SCHEME: &str = "://";
/// Flags whose value is a header line.
const HEADER_FLAGS: &[&str] = &["h", "header", "headers", "http-header"];
const BEARER: &str = "bearer ";

/// What is secret of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Secret {
    /// Nothing; a URL in it speaks for itself.
    None,
    /// All of it.
    Whole,
    /// Everything from this byte on; the name says of what.
    From { at: usize, name: String },
}

/// An argument, read after those before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    /// The flag whose value it is, if that makes it a secret.
    pub(crate) flag: Option<String>,
    pub(crate) secret: Secret,
}

/// Reads arguments one after the other.
#[derive(Default)]
pub(crate) struct Arguments(Option<(String, Wants)>);

/// What a flag wants next.
#[derive(Clone, Copy)]
enum Wants {
    Secret,
    Header,
}

impl Arguments {
    /// The next one.
    pub(crate) fn next(&mut self, text: &str) -> Argument {
        let before = self.0.take().filter(|_| !is_flag(text));
        let Some((flag, wants)) = before else {
            self.0 = wanted_after(text).map(|wants| (text.to_owned(), wants));
            return Argument { flag: None, secret: unguarded(text) };
        };
        let secret = match wants {
            // Sealed when only its URL was taken for secret: it must still open.
            _ if has_sealed_url(text) => Secret::None,
            Wants::Secret => Secret::Whole,
            Wants::Header => header_line(text),
        };
        Argument { flag: Some(flag), secret }
    }
}

/// The flags that make these arguments secrets; nothing but a text has one.
pub(crate) fn flags(items: &[Value]) -> Vec<Option<String>> {
    let mut arguments = Arguments::default();
    items.iter().map(|item| arguments.next(item.as_str().unwrap_or_default()).flag).collect()
}

/// What must not be shown of `args`, in their order, each value as it stands in its argument: what follows a flag like
/// `--token`, headers, values of names like `API_KEY`, passwords in URLs. The arguments are as the child gets them.
pub fn argument_secrets<'a>(args: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut arguments = Arguments::default();
    let secret = |text: &'a str| match arguments.next(text).secret {
        Secret::None => None,
        Secret::Whole => Some(text),
        Secret::From { at, .. } => text.get(at..),
    };
    args.into_iter().filter_map(secret).filter(|secret| !secret.is_empty()).collect()
}

/// What a command line would hardly take for the value of a flag: another one.
fn is_flag(text: &str) -> bool {
    let long = text.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
    long || (text.len() == 2 && text.starts_with('-') && text.ends_with(|c: char| c.is_ascii_alphabetic()))
}

/// Whether a flag without a value of its own makes the next argument a secret.
fn wanted_after(text: &str) -> Option<Wants> {
    let name = text.strip_prefix('-')?.trim_start_matches('-');
    if name.is_empty() || !name.chars().all(is_of_name) {
        return None;
    }
    if text == "-H" || (name.len() > 1 && HEADER_FLAGS.contains(&name.to_ascii_lowercase().as_str())) {
        Some(Wants::Header)
    } else {
        is_telling(name).then_some(Wants::Secret)
    }
}

/// What is secret of `--header=Name: value` and `-HName: value`. The short form takes anything, so there it must look like a header;
/// what is masked does so again.
fn inline_header(text: &str) -> Option<Secret> {
    if let Some((flag, line)) = text.split_once('=').filter(|(flag, _)| flag.starts_with('-')) {
        let name = flag.trim_start_matches('-').to_ascii_lowercase();
        let is_header = name.len() > 1 && HEADER_FLAGS.contains(&name.as_str());
        return is_header.then(|| match header_line(line) {
            Secret::From { at, name } => Secret::From { at: flag.len() + 1 + at, name },
            Secret::None | Secret::Whole => Secret::From { at: flag.len() + 1, name: flag.to_owned() },
        });
    }
    let line = text.strip_prefix("-H").filter(|line| !line.starts_with(SEALED))?;
    let end =
        line.find([':', '=']).filter(|end| line.get(*end..).is_some_and(|rest| rest.starts_with(':')))?;
    let name = line.get(..end).filter(|name| !name.is_empty() && name.chars().all(is_of_name))?;
    Some(from(text, "-H".len() + end + 1, name))
}

/// Everything after the name of a header.
fn header_line(text: &str) -> Secret {
    if text.starts_with(SEALED) {
        return Secret::Whole;
    }
    match text.find([':', '=']).and_then(|end| Some((end, text.get(..end)?))) {
        Some((end, name)) if name.chars().all(is_of_name) => from(text, end + 1, name),
        _ => Secret::Whole,
    }
}

fn unguarded(text: &str) -> Secret {
    if has_sealed_url(text) {
        return Secret::None;
    }
    if text.get(..BEARER.len()).is_some_and(|word| word.eq_ignore_ascii_case(BEARER)) {
        return Secret::From { at: BEARER.len(), name: "Bearer".to_owned() };
    }
    if let Some(secret) = inline_header(text) {
        return secret;
    }
    if let Some(at) = json_start(text) {
        let name = text.get(..at).unwrap_or_default().to_owned();
        return Secret::From { at, name };
    }
    named(text)
}

/// The first `NAME=value`, `Name: value` or `"name": value` of a telling name. In a URL its own parameters are judged, not here.
fn named(text: &str) -> Secret {
    let end = text.find(SCHEME).unwrap_or(text.len());
    let mut begin = 0;
    for (at, character) in text.char_indices().take_while(|(at, _)| *at < end) {
        if is_of_name(character) {
            continue;
        }
        let name = text.get(begin..at).unwrap_or_default();
        let rest = text.get(at + character.len_utf8()..).unwrap_or_default();
        begin = at + character.len_utf8();
        let gives = match character {
            // `name==1.0` is the version of a package.
            '=' => !rest.starts_with('='),
            // `name:1.0` is the version of an image.
            ':' => rest.starts_with(' ') || name.to_ascii_lowercase().ends_with("authorization"),
            '"' | '\'' => rest.trim_start().starts_with(':'),
            _ => false,
        };
        if gives && is_telling(name) {
            let colon =
                rest.find(':').filter(|_| matches!(character, '"' | '\'')).map_or(0, |colon| colon + 1);
            return from(text, begin + colon, name);
        }
    }
    Secret::None
}

/// Where the inside of a JSON object or list begins that holds a secret; it may follow `--flag=`.
fn json_start(text: &str) -> Option<usize> {
    let bracket = text.find(['{', '['])?;
    let before = text.get(..bracket)?.trim();
    let follows_flag = before.strip_suffix('=').is_some_and(|flag| flag.chars().all(is_of_name));
    if !before.is_empty() && !follows_flag {
        return None;
    }
    let (json, inside) = (text.get(bracket..)?, text.get(bracket + 1..)?);
    let hidden = inside == MASK || inside.starts_with(SEALED);
    let holds = || serde_json::from_str::<Value>(json).is_ok_and(|mut value| mentions_secret(&mut value));
    (hidden || holds()).then_some(bracket + 1)
}

/// From `at` on, without the spaces there.
fn from(text: &str, at: usize, name: &str) -> Secret {
    let rest = text.get(at..).unwrap_or_default();
    Secret::From { at: at + (rest.len() - rest.trim_start_matches(' ').len()), name: name.to_owned() }
}

fn has_sealed_url(text: &str) -> bool {
    text.contains(SCHEME) && UrlParts::of(text).secrets().any(|(_, secret)| secret.starts_with(SEALED))
}

fn is_telling(name: &str) -> bool {
    let name = name.trim_start_matches('-');
    is_sensitive_key(name) || is_telling_word(name)
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

#[cfg(test)]
mod tests;
