//! Finding paths in what a tool wrote, for reference 2.9. Pure: whether a path exists, and what it is called to whoever
//! reads, is the caller's to say. Every function here takes any text, however broken, and takes time linear in it
//! (times the number of names, for [`with_names`]).

mod names;
mod reference;

use std::collections::HashMap;
use std::ops::Range;

pub use names::{MAX_NAMES, with_names};
pub use reference::{Local, local};

/// What ends a path in free text, beside white space.
const STOPS: [char; 7] = ['\'', '"', '<', '>', '|', '*', '?'];
/// What is punctuation at the end of a path, and not part of it.
const TRAILING: [char; 13] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '"', '\'', '`'];

/// Whether `c` belongs to a word, as regular expressions over Unicode mean it.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_head(c: char) -> bool {
    is_word(c) || c == '.' || c == '-'
}

fn is_run(c: char) -> bool {
    !c.is_whitespace() && !STOPS.contains(&c)
}

/// Where `text` has what may be a path with a slash in it: absolute, relative, or a `file://` URI; without trailing
/// punctuation. They do not overlap, and come in order.
pub fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut before = None;
    while let Some(rest) = text.get(at..)
        && let Some(first) = rest.chars().next()
    {
        let (end, is_path) = scan(rest, first);
        // Behind a backslash it is the tail of a path of another system, and two slashes behind a colon are those of a URL.
        let foreign = before == Some('\\') || (before == Some(':') && rest.starts_with("//"));
        if is_path && !foreign {
            let token = rest.get(..end).unwrap_or_default().trim_end_matches(TRAILING);
            if !token.is_empty() {
                found.push(at..at + token.len());
            }
        }
        before = rest.get(..end).and_then(|passed| passed.chars().next_back());
        at += end;
    }
    found
}

/// Takes one step: how many bytes, and whether they are a candidate. Never 0.
fn scan(rest: &str, first: char) -> (usize, bool) {
    let scheme = "file://";
    if rest.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme))
        && rest.get(scheme.len()..).is_some_and(|path| path.starts_with('/'))
    {
        return (scheme.len() + run(rest.get(scheme.len()..).unwrap_or_default()), true);
    }
    if first == '/' {
        let end = run(rest);
        return (end, end > 1);
    }
    if is_head(first) {
        let head = rest.find(|c| !is_head(c)).unwrap_or(rest.len());
        let tail = rest.get(head..).unwrap_or_default();
        let path = if tail.starts_with('/') { run(tail) } else { 0 };
        return (head + path, path > 1);
    }
    (first.len_utf8(), false)
}

/// How long the run of path characters at the beginning is.
fn run(text: &str) -> usize {
    text.find(|c| !is_run(c)).unwrap_or(text.len())
}

/// `text` with every path that `lookup` knows replaced by what it says. It is asked once for each spelling.
pub fn with_paths(text: &str, mut lookup: impl FnMut(&str) -> Option<String>) -> String {
    let mut known = HashMap::new();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for range in tokens(text) {
        let Some(token) = text.get(range.clone()) else { continue };
        let Some(new) = known.entry(token).or_insert_with(|| lookup(token)).as_deref() else { continue };
        out.push_str(text.get(done..range.start).unwrap_or_default());
        out.push_str(new);
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests;
