//! Finds, for each `***` that was sent, the one stored value that it stands for.

use std::collections::BTreeSet;
use std::convert::Infallible;

use serde_json::{Map, Value};
use url::Url;

use super::{same_endpoint, same_issuer, shown};
use crate::document::SERVERS;
use crate::mask::MASK;
use crate::path::{Path, Step};
use crate::problem::{Kind, Problem, limited};
use crate::sensitive::arguments::flags;
use crate::sensitive::url_parts::{Part, UrlParts};
use crate::sensitive::{Edit, Place, walk_document};

/// Replaces every `***` of `incoming` by what it stands for in `stored`.
pub(super) fn restore(incoming: &mut Value, stored: &Value) -> Result<(), Vec<Problem>> {
    let sent = incoming.clone();
    let (sent_shown, stored_shown) = (shown(&sent), shown(stored));
    let pair = Pair { sent: &sent, sent_shown: &sent_shown, stored, stored_shown: &stored_shown };
    let elsewhere = Elsewhere::between(&sent, stored);
    let mut problems = Vec::new();
    let walked: Result<(), Infallible> = walk_document(incoming, &mut |place, value| {
        if value.as_str() != Some(MASK) {
            return Ok(Edit::Keep);
        }
        let found = if elsewhere.is_of(place.path) { Err(ELSEWHERE) } else { pair.value_at(place) };
        Ok(match found {
            Ok(value) => Edit::Replace(value),
            Err(why) => {
                problems.push(Problem::at(Kind::Mask, place.to_string(), why.to_owned()));
                Edit::Keep
            }
        })
    });
    left_over(incoming, stored, &mut problems);
    match walked {
        Ok(()) if problems.is_empty() => Ok(()),
        Ok(()) => Err(limited(problems)),
    }
}

/// Scheme, host and port as text; of what is no URL, such as `$VAR`, all that is no secret. A URL of a scheme that browsers
/// do not know has a host all the same.
pub(super) fn origin(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) if url.has_host() => {
            let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default());
            format!("{}://{host}:{}", url.scheme(), port.unwrap_or_default())
        }
        _ => {
            let mut parts = UrlParts::of(text);
            parts.secrets_mut().for_each(|(_, secret)| secret.clear());
            parts.joined()
        }
    }
}

/// A `***` that was taken away from the flag that made it a secret, or given another name, stands for nothing any more.
fn left_over(incoming: &Value, stored: &Value, problems: &mut Vec<Problem>) {
    fn of(document: &Value) -> impl Iterator<Item = (&String, &Vec<Value>)> {
        let servers = document.get(SERVERS).and_then(Value::as_object).into_iter().flatten();
        servers.filter_map(|(name, entry)| Some((name, entry.get("args")?.as_array()?)))
    }
    for (name, args) in of(incoming) {
        let before = stored.get(SERVERS).and_then(|servers| servers.get(name)?.get("args")?.as_array());
        let known = |arg: &Value| before.is_some_and(|before| before.contains(arg));
        for (at, arg) in args.iter().enumerate() {
            if arg.as_str().is_some_and(ends_masked) && !known(arg) {
                let place = Path::default().key(SERVERS).key(name).key("args").index(at);
                if !problems.iter().any(|problem| problem.path.starts_with(&place.to_string())) {
                    problems.push(Problem::new(Kind::Mask, &place, UNKNOWN));
                }
            }
        }
    }
}

/// Whether a text ends as the shown form of an argument does.
fn ends_masked(text: &str) -> bool {
    let before = text.strip_suffix(MASK);
    before.is_some_and(|before| before.is_empty() || before.ends_with(['=', ':', ' ', '{', '[']))
}

const UNKNOWN: &str = "*** stands for no stored value; send the value itself";
const AMBIGUOUS: &str = "*** cannot be matched to one element of the stored list; send the value itself, or the element unchanged";
const MOVED: &str = "*** is in a URL of another origin than the stored one; send the value itself";
const ELSEWHERE: &str =
    "*** would go to another server, program or token endpoint than the stored one; send the value itself";
/// Longest list in which `***` is matched: each is compared with each.
const MATCHED: usize = 256;

/// Which secrets would go to somebody else than they were stored for.
struct Elsewhere {
    /// All of these servers.
    servers: BTreeSet<String>,
    /// The OAuth secrets of these.
    issuers: BTreeSet<String>,
}

impl Elsewhere {
    fn between(sent: &Value, stored: &Value) -> Self {
        let mut found = Self { servers: BTreeSet::new(), issuers: BTreeSet::new() };
        for (name, new) in sent.get(SERVERS).and_then(Value::as_object).into_iter().flatten() {
            let old = stored.get(SERVERS).and_then(|servers| servers.get(name)).and_then(Value::as_object);
            let (Some(new), Some(old)) = (new.as_object(), old) else { continue };
            if !same_endpoint(new, old) {
                found.servers.insert(name.clone());
            }
            let oauth = |entry: &Map<String, Value>| entry.get("oauth").and_then(Value::as_object).cloned();
            if let (Some(new), Some(old)) = (oauth(new), oauth(old))
                && !same_issuer(&new, &old)
            {
                found.issuers.insert(name.clone());
            }
        }
        found
    }

    /// The parts of a server's URL are judged by that URL alone.
    fn is_of(&self, path: &Path) -> bool {
        match path.steps() {
            [Step::Key(top), Step::Key(_), Step::Key(field)] if top == SERVERS && field == "url" => false,
            [Step::Key(top), Step::Key(name), rest @ ..] if top == SERVERS => {
                let is_oauth = matches!(rest, [Step::Key(field), ..] if field == "oauth");
                self.servers.contains(name) || is_oauth && self.issuers.contains(name)
            }
            _ => false,
        }
    }
}

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
            Some(Part::Argument { .. }) => at.argument(),
            Some(part) => at.url_part(part),
        }
    }

    fn descend(self, path: &Path) -> Result<Self, &'static str> {
        path.steps().iter().enumerate().try_fold(self, |at, (depth, step)| match step {
            Step::Key(key) => at.child(key).ok_or(UNKNOWN),
            Step::Index(index) => at.element(*index, is_args(path.steps().split_at(depth).0)),
        })
    }

    /// What stands for the end of an argument that looks as the stored one does.
    fn argument(self) -> Result<Value, &'static str> {
        let plain = self.sent_shown.as_str().and_then(|shown| shown.strip_suffix(MASK)).ok_or(UNKNOWN)?;
        let secret = self.stored.as_str().and_then(|stored| stored.strip_prefix(plain)).ok_or(UNKNOWN)?;
        Ok(secret.into())
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
    /// An argument looks like another one only after the same flag: what was a token there is not given to another one here,
    /// and does not stand where it would be shown.
    fn element(self, index: usize, is_args: bool) -> Result<Self, &'static str> {
        let sent = self.sent.as_array().ok_or(UNKNOWN)?;
        let sent_shown = self.sent_shown.as_array().ok_or(UNKNOWN)?;
        let stored = self.stored.as_array().ok_or(UNKNOWN)?;
        let stored_shown = self.stored_shown.as_array().ok_or(UNKNOWN)?;
        if sent.len() > MATCHED || stored.len() > MATCHED {
            return Err(AMBIGUOUS);
        }
        let look = sent_shown.get(index).ok_or(UNKNOWN)?;
        let before = |list: &[Value]| if is_args { flags(list) } else { Vec::new() };
        let (sent_flags, stored_flags) = (before(sent_shown), before(stored_shown));
        let flag = |flags: &[Option<String>], at: usize| flags.get(at).cloned().flatten();
        let wanted = flag(&sent_flags, index);
        let alike = |list: &[Value], flags: &[Option<String>]| -> Vec<usize> {
            let same = |at: usize, item: &Value| item == look && flag(flags, at) == wanted;
            list.iter().enumerate().filter(|(at, item)| same(*at, item)).map(|(at, _)| at).collect()
        };
        let (here, there) = (alike(sent_shown, &sent_flags), alike(stored_shown, &stored_flags));
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

/// Whether these steps lead to the arguments of a server.
fn is_args(steps: &[Step]) -> bool {
    matches!(steps, [Step::Key(servers), Step::Key(_), Step::Key(args)] if servers == SERVERS && args == "args")
}

/// The same secret of two URLs, wherever a parameter stands.
fn alike(left: &Part, right: &Part) -> bool {
    match (left, right) {
        (Part::UserInfo, Part::UserInfo) => true,
        (Part::Query { key: left, .. }, Part::Query { key: right, .. }) => left == right,
        _ => false,
    }
}
