//! Finds, for each `***` that was sent, the one stored value that it stands for.

use std::convert::Infallible;

use serde_json::Value;
use url::Url;

use super::shown;
use crate::mask::MASK;
use crate::path::{Path, Step};
use crate::problem::{Kind, Problem, limited};
use crate::sensitive::url_parts::{Part, UrlParts};
use crate::sensitive::{Edit, Place, walk_document};

/// Replaces every `***` of `incoming` by what it stands for in `stored`.
pub(super) fn restore(incoming: &mut Value, stored: &Value) -> Result<(), Vec<Problem>> {
    let sent = incoming.clone();
    let (sent_shown, stored_shown) = (shown(&sent), shown(stored));
    let pair = Pair { sent: &sent, sent_shown: &sent_shown, stored, stored_shown: &stored_shown };
    let mut problems = Vec::new();
    let walked: Result<(), Infallible> = walk_document(incoming, &mut |place, value| {
        if value.as_str() != Some(MASK) {
            return Ok(Edit::Keep);
        }
        Ok(match pair.value_at(place) {
            Ok(value) => Edit::Replace(value),
            Err(why) => {
                problems.push(Problem::at(Kind::Mask, place.to_string(), why.to_owned()));
                Edit::Keep
            }
        })
    });
    match walked {
        Ok(()) if problems.is_empty() => Ok(()),
        Ok(()) => Err(limited(problems)),
    }
}

/// Scheme, host and port as text; the text itself (without user info) when it is no URL, such as `$VAR`.
pub(super) fn origin(url: &str) -> String {
    Url::parse(url).map_or_else(|_| url.to_owned(), |url| url.origin().ascii_serialization())
}

const UNKNOWN: &str = "*** stands for no stored value; send the value itself";
const AMBIGUOUS: &str = "*** cannot be matched to one element of the stored list; send the value itself, or the element unchanged";
const MOVED: &str = "*** is in a URL of another origin than the stored one; send the value itself";

/// The same place in what was sent and in what is stored, raw and as shown.
#[derive(Clone, Copy)]
struct Pair<'a> {
    sent: &'a Value,
    sent_shown: &'a Value,
    stored: &'a Value,
    stored_shown: &'a Value,
}

impl Pair<'_> {
    fn value_at(self, place: &Place<'_>) -> Result<Value, &'static str> {
        let at = self.descend(place.path)?;
        match place.part {
            None if at.stored.is_string() || at.stored.is_number() => Ok(at.stored.clone()),
            None => Err(UNKNOWN),
            Some(part) => at.url_part(part),
        }
    }

    fn descend(self, path: &Path) -> Result<Self, &'static str> {
        path.steps().iter().try_fold(self, |at, step| match step {
            Step::Key(key) => at.child(key).ok_or(UNKNOWN),
            Step::Index(index) => at.element(*index),
        })
    }

    fn child(self, key: &str) -> Option<Self> {
        Some(Self {
            sent: self.sent.get(key)?,
            sent_shown: self.sent_shown.get(key)?,
            stored: self.stored.get(key)?,
            stored_shown: self.stored_shown.get(key)?,
        })
    }

    /// The stored element that looks like the sent one. Of several that look alike the client could not tell one from
    /// another: they are taken in order if it left all of them alone, and refused otherwise.
    fn element(self, index: usize) -> Result<Self, &'static str> {
        let sent = self.sent.as_array().ok_or(UNKNOWN)?;
        let sent_shown = self.sent_shown.as_array().ok_or(UNKNOWN)?;
        let stored = self.stored.as_array().ok_or(UNKNOWN)?;
        let stored_shown = self.stored_shown.as_array().ok_or(UNKNOWN)?;
        let look = sent_shown.get(index).ok_or(UNKNOWN)?;
        let alike = |list: &[Value]| -> Vec<usize> {
            list.iter().enumerate().filter(|(_, item)| *item == look).map(|(at, _)| at).collect()
        };
        let (here, there) = (alike(sent_shown), alike(stored_shown));
        let untouched = || here.iter().all(|at| sent.get(*at) == Some(look));
        if there.len() != here.len() || (there.len() > 1 && !untouched()) {
            return Err(AMBIGUOUS);
        }
        let nth = here.iter().position(|at| *at == index).and_then(|nth| there.get(nth)).ok_or(AMBIGUOUS)?;
        Ok(Self {
            sent: sent.get(index).ok_or(UNKNOWN)?,
            sent_shown: look,
            stored: stored.get(*nth).ok_or(UNKNOWN)?,
            stored_shown: stored_shown.get(*nth).ok_or(UNKNOWN)?,
        })
    }

    fn url_part(self, part: &Part) -> Result<Value, &'static str> {
        let sent = self.sent.as_str().ok_or(UNKNOWN)?;
        let stored = self.stored.as_str().ok_or(UNKNOWN)?;
        if origin(sent) != origin(stored) {
            return Err(MOVED);
        }
        let (sent, stored) = (UrlParts::of(sent), UrlParts::of(stored));
        let named = |parts: &UrlParts| -> Vec<(Part, String)> {
            let same = parts.secrets().filter(|(other, _)| alike(part, other));
            same.map(|(other, value)| (other.clone(), value.to_owned())).collect()
        };
        let (here, there) = (named(&sent), named(&stored));
        if there.is_empty() {
            return Err(UNKNOWN);
        }
        let untouched = here.iter().all(|(_, value)| value == MASK);
        if here.len() != there.len() || (here.len() > 1 && !untouched) {
            return Err(AMBIGUOUS);
        }
        let nth = here.iter().position(|(other, _)| other == part);
        let found = nth.and_then(|nth| there.into_iter().nth(nth)).ok_or(UNKNOWN)?;
        Ok(found.1.into())
    }
}

/// The same secret of two URLs, wherever a parameter stands.
fn alike(left: &Part, right: &Part) -> bool {
    match (left, right) {
        (Part::UserInfo, Part::UserInfo) => true,
        (Part::Query { key: left, .. }, Part::Query { key: right, .. }) => left == right,
        _ => false,
    }
}
