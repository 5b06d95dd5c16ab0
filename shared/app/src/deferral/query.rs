//! How tools are searched for (reference 3.6).
//!
//! A query comes from a model. Its regular expression runs in linear time per tool, is bounded in size, and sees a bounded
//! text of each tool and of all together ([`MAX_SEARCHED`]); what is no regular expression, or too large a one, is looked for as it is written.

use std::cmp::Reverse;

use regex::{Regex, RegexBuilder};

use crate::function::Function;

/// Most tools of an answer that is ranked.
pub const MOST_RANKED: usize = 5;
/// Largest compiled expression, in bytes.
const MAX_EXPRESSION: usize = 64 * 1024;
/// Most characters of a tool's description that are searched.
const SEARCHED: usize = 2_000;
/// Most bytes that a query reads of all tools together; a text that is read again after a hit counts again. It is the text of
/// 1,000 tools as they are described in general, and a few seconds of the slowest expression. Names come first, so that only
/// descriptions at the end of a very long list are not searched.
pub const MAX_SEARCHED: usize = 512 * 1024;
/// Hits beyond this make a tool no better. Each hit may read the rest of the text once more, so it also bounds the time.
const MAX_HITS: usize = 100;

/// A parsed query.
#[derive(Debug, Clone)]
pub enum Query {
    /// Nothing to look for.
    Nothing,
    /// `select:a,b`: exactly these, all of them.
    Select(Vec<String>),
    /// `+part rest`: tools with `part` in their name, those with most hits of `rest` first.
    Named {
        /// What the name must contain, in lower case.
        part: String,
        /// What is counted; none without a rest.
        rest: Option<Regex>,
    },
    /// Tools in which this is found, in the name before the description.
    Any(Regex),
}

impl Query {
    /// Reads a query; every text is one.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(names) = text.strip_prefix("select:") {
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            return Self::Select(names.map(str::to_owned).collect());
        }
        if let Some(named) = text.strip_prefix('+') {
            let (part, rest) = named.split_once(char::is_whitespace).unwrap_or((named, ""));
            if part.is_empty() {
                return Self::Nothing;
            }
            return Self::Named { part: part.to_lowercase(), rest: expression(rest.trim()) };
        }
        expression(text).map_or(Self::Nothing, Self::Any)
    }

    /// What it finds among `functions`.
    pub fn find<'a>(&self, functions: &'a [Function]) -> Vec<&'a Function> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Select(names) => {
                functions.iter().filter(|function| names.contains(&function.name)).collect()
            }
            Self::Named { part, rest } => {
                let mut budget = Budget(MAX_SEARCHED);
                let named = functions.iter().filter(|f| f.name.to_lowercase().contains(part));
                let mut hits = |function: &Function| {
                    let Some(rest) = rest else { return 0 };
                    let text = format!("{} {}", function.name, searched(function));
                    if !budget.pays(text.len()) {
                        return 0;
                    }
                    let hits = rest.find_iter(&text).take(MAX_HITS);
                    hits.take_while(|hit| budget.pays(text.len() - hit.end())).count()
                };
                best(named.map(|function| (hits(function), function)))
            }
            Self::Any(expression) => {
                let mut budget = Budget(MAX_SEARCHED);
                let mut fits = |text: &str| budget.pays(text.len()) && expression.is_match(text);
                let named: Vec<bool> = functions.iter().map(|function| fits(&function.name)).collect();
                best(functions.iter().zip(named).filter_map(|(function, named)| {
                    let rank = if named { 2 } else { usize::from(fits(searched(function))) };
                    (rank > 0).then_some((rank, function))
                }))
            }
        }
    }
}

/// The bytes that may still be read.
struct Budget(usize);

impl Budget {
    /// Whether so many may; once they may not, nothing may.
    fn pays(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or_default();
        left.is_some()
    }
}

/// The first few, best first, otherwise in their order.
fn best<'a>(ranked: impl Iterator<Item = (usize, &'a Function)>) -> Vec<&'a Function> {
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| Reverse(*rank));
    ranked.into_iter().take(MOST_RANKED).map(|(_, function)| function).collect()
}

/// The beginning of a description.
fn searched(function: &Function) -> &str {
    let text = &function.description;
    let end = text.char_indices().nth(SEARCHED).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

/// `text` as a regular expression, else as itself; none of nothing.
fn expression(text: &str) -> Option<Regex> {
    let build = |pattern: &str, most: usize| {
        RegexBuilder::new(pattern).case_insensitive(true).size_limit(most).dfa_size_limit(most).build()
    };
    if text.is_empty() {
        return None;
    }
    // A literal is as large as it is written, so it needs no limit but that.
    build(text, MAX_EXPRESSION).or_else(|_| build(&regex::escape(text), 1 << 24)).ok()
}
