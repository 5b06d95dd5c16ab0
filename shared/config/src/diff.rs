//! What is different between two configs: compared with their secrets, told without them.

use serde_json::{Map, Value};

use crate::archived::Archived;
use crate::mask::{self, Style};
use crate::path::Path;

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where, such as `mcpServers.web.headers.Authorization`.
    pub path: String,
    /// What it is.
    pub change: Changed,
    /// What was there; a secret is `***`.
    pub before: Option<Value>,
    /// What is there now; a secret is `***`, also another one than before.
    pub after: Option<Value>,
}

/// The sort of a [`Difference`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// Something else is there.
    Replaced,
}

/// One config: as it is, and as it is told.
#[derive(Clone, Copy)]
struct Side<'a> {
    raw: &'a Value,
    shown: &'a Value,
}

/// What is different in `after`, in the order of `before` and then of `after`. The order of keys tells nothing. Lists of one
/// length are compared element by element, others are told whole.
pub fn differences(before: &Archived, after: &Archived) -> Vec<Difference> {
    let (shown_before, shown_after) = (shown(before), shown(after));
    let before = Side { raw: before.raw(), shown: &shown_before };
    let after = Side { raw: after.raw(), shown: &shown_after };
    let mut found = Vec::new();
    compare(before, after, &Path::default(), &mut found);
    found.into_iter().map(|(path, difference)| Difference { path: path.to_string(), ..difference }).collect()
}

/// Every secret as `***`, also those that a GET shows as null: another secret is not "null instead of null".
fn shown(archived: &Archived) -> Value {
    let mut shown = archived.raw().clone();
    mask::mask(&mut shown, Style::Compared);
    shown
}

type Found = Vec<(Path, Difference)>;

fn compare(before: Side<'_>, after: Side<'_>, path: &Path, found: &mut Found) {
    if before.raw == after.raw {
        return;
    }
    match (before.raw, after.raw) {
        (Value::Object(old), Value::Object(new)) => objects(before, after, (old, new), path, found),
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for index in 0..old.len() {
                if let (Some(before), Some(after)) = (before.element(index), after.element(index)) {
                    compare(before, after, &path.index(index), found);
                }
            }
        }
        _ => found.push(told(path, Changed::Replaced, Some(before), Some(after))),
    }
}

fn objects(
    before: Side<'_>,
    after: Side<'_>,
    (old, new): (&Map<String, Value>, &Map<String, Value>),
    path: &Path,
    found: &mut Found,
) {
    for key in old.keys() {
        let Some(before) = before.child(key) else { continue };
        match after.child(key) {
            Some(after) => compare(before, after, &path.key(key), found),
            None => found.push(told(&path.key(key), Changed::Removed, Some(before), None)),
        }
    }
    for key in new.keys().filter(|key| !old.contains_key(*key)) {
        found.push(told(&path.key(key), Changed::Added, None, after.child(key)));
    }
}

fn told(
    path: &Path,
    change: Changed,
    before: Option<Side<'_>>,
    after: Option<Side<'_>>,
) -> (Path, Difference) {
    let shown = |side: Option<Side<'_>>| side.map(|side| side.shown.clone());
    let difference = Difference { path: String::new(), change, before: shown(before), after: shown(after) };
    (path.clone(), difference)
}

impl Side<'_> {
    fn child(self, key: &str) -> Option<Self> {
        Some(Self { raw: self.raw.get(key)?, shown: self.shown.get(key)? })
    }

    fn element(self, index: usize) -> Option<Self> {
        Some(Self { raw: self.raw.get(index)?, shown: self.shown.get(index)? })
    }
}

impl Changed {
    /// Its word in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Replaced => "replaced",
        }
    }
}

#[cfg(test)]
mod tests;
