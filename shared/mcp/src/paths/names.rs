//! File names without a slash, which only count where this very call made or changed the file (reference 2.9).

use std::collections::HashSet;

use super::is_word;

/// Most names that are looked for. A call that changed more did not mean to name them one by one, and looking for all of
/// them would take too long.
pub const MAX_NAMES: usize = 200;

/// `text` with each of these names replaced by what is beside it, where the name stands alone: case counts, and `page.yml`
/// is not in `page.yml.bak`, `my-page.yml`, `a/page.yml` or `a\page.yml`. Of two names at one place the longer wins. With
/// more than [`MAX_NAMES`] of them the text comes back as it is.
pub fn with_names(text: &str, names: &[(String, String)]) -> String {
    let mut longest_first: Vec<_> = names.iter().filter(|(name, _)| !name.is_empty()).collect();
    if longest_first.is_empty() || names.len() > MAX_NAMES {
        return text.to_owned();
    }
    longest_first.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    let firsts: HashSet<char> = longest_first.iter().filter_map(|(name, _)| name.chars().next()).collect();
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && let Some(first) = rest.chars().next()
    {
        let begins = firsts.contains(&first) && !before.is_some_and(glues_before);
        let stands = |name: &str| rest.strip_prefix(name).is_some_and(|after| !goes_on(after));
        let found = longest_first.iter().find(|(name, _)| begins && stands(name));
        if let Some((name, path)) = found {
            out.push_str(path);
            before = name.chars().next_back();
            at += name.len();
        } else {
            out.push(first);
            before = Some(first);
            at += first.len_utf8();
        }
    }
    out
}

fn glues_before(c: char) -> bool {
    is_word(c) || matches!(c, '.' | '/' | '-' | '\\')
}

/// Whether what follows a name makes it part of a longer one.
fn goes_on(after: &str) -> bool {
    let mut next = after.chars();
    match next.next() {
        Some('.') => next.next().is_some_and(is_word),
        Some(c) => is_word(c) || matches!(c, '/' | '-' | '\\'),
        None => false,
    }
}
