//! The files of a thread, as results speak of them (reference 2.9). Everything here blocks, and is bounded in entries and
//! in time: past a bound something is left untranslated, and nothing fails.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::folders::Folders;
use crate::paths;

/// What the thread's folder is called to whoever reads results.
const VIRTUAL: &str = "/mnt/user-data";
/// Most entries that one walk looks at. A larger workspace has no bare names translated.
pub(super) const MAX_ENTRIES: usize = 10_000;
/// Longest that one walk takes.
const WALK: Duration = Duration::from_millis(200);
/// Longest that translating one result takes.
const TRANSLATION: Duration = Duration::from_millis(500);
/// Most paths of one result that are looked up.
const MAX_LOOKUPS: usize = 1000;
/// Most bytes of one result's texts that are read. What is longer is data, and is not worth the time.
const MAX_TEXT: usize = 1024 * 1024;

/// The files of a workspace at one moment: when each was changed (ns) and how large it was.
pub(super) type Seen = HashMap<PathBuf, (i128, u64)>;

/// What a call knows about files.
pub(super) struct Files {
    pub(super) folders: Folders,
    /// Where the server works: what its relative paths are relative to.
    pub(super) cwd: PathBuf,
    /// Before the call; none when the walk met a bound, or when bare names do not count.
    pub(super) before: Option<Seen>,
}

/// Walks a workspace. `None` past a bound.
pub(super) fn walk(workspace: &Path, most: usize) -> Option<Seen> {
    let until = Instant::now() + WALK;
    let mut seen = Seen::new();
    let mut looked_at = 0;
    let mut folders = vec![workspace.to_owned()];
    while let Some(folder) = folders.pop() {
        // What cannot be read, or has gone in between, holds nothing that a result could mean.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > most || Instant::now() > until {
                return None;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && entry.file_name() != ".mcp" {
                folders.push(entry.path());
            } else if kind.is_file()
                && let Ok(about) = entry.metadata()
            {
                let changed = i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec());
                seen.insert(entry.path(), (changed, about.size()));
            }
        }
    }
    Some(seen)
}

impl Files {
    /// `result` with the paths in its texts and links as its reader knows them; `structuredContent` stays as it is.
    pub(super) fn translate(&self, mut result: Value) -> Value {
        let Some(Value::Array(blocks)) = result.get_mut("content") else { return result };
        let mut reader = Reader {
            root: self.folders.root.canonicalize().ok(),
            cwd: &self.cwd,
            until: Instant::now() + TRANSLATION,
            lookups: 0,
            text: 0,
            names: None,
        };
        let names = || self.changed();
        for block in blocks {
            match block.get("type").and_then(Value::as_str) {
                Some("text") => reader.texts(block.get_mut("text"), names),
                Some("resource_link") => reader.links(block.get_mut("uri")),
                Some("resource") => {
                    reader.links(block.pointer_mut("/resource/uri"));
                    reader.texts(block.pointer_mut("/resource/text"), names);
                }
                _ => {}
            }
        }
        result
    }

    /// The names of the files that this call made or changed, each with its path; not those that two of them have.
    fn changed(&self) -> Vec<(String, String)> {
        let Some(before) = &self.before else { return Vec::new() };
        let Some(after) = walk(&self.folders.workspace, MAX_ENTRIES) else { return Vec::new() };
        let mut by_name: HashMap<&str, Option<&Path>> = HashMap::new();
        for (path, state) in &after {
            if before.get(path) != Some(state)
                && let Some(name) = path.file_name().and_then(|name| name.to_str())
            {
                by_name.entry(name).and_modify(|twice| *twice = None).or_insert(Some(path));
            }
        }
        let shown = |(name, path): (&str, Option<&Path>)| {
            Some((name.to_owned(), virtual_path(path?.strip_prefix(&self.folders.root).ok()?)?))
        };
        by_name.into_iter().filter_map(shown).collect()
    }
}

/// Translates one result.
struct Reader<'a> {
    root: Option<PathBuf>,
    cwd: &'a Path,
    until: Instant,
    lookups: usize,
    text: usize,
    names: Option<Vec<(String, String)>>,
}

impl Reader<'_> {
    fn links<'v>(&mut self, uris: impl IntoIterator<Item = &'v mut Value>) {
        for uri in uris {
            if let Some(path) = uri.as_str().and_then(|uri| self.look_up(uri)) {
                *uri = Value::String(path);
            }
        }
    }

    fn texts<'v>(
        &mut self,
        texts: impl IntoIterator<Item = &'v mut Value>,
        names: impl Fn() -> Vec<(String, String)>,
    ) {
        for text in texts {
            if let Value::String(text) = text {
                self.text(text, &names);
            }
        }
    }

    fn text(&mut self, text: &mut String, names: impl Fn() -> Vec<(String, String)>) {
        self.text += text.len();
        if self.text > MAX_TEXT || text.is_empty() {
            return;
        }
        let with_paths = paths::with_paths(text, |token| self.look_up(token));
        *text = paths::with_names(&with_paths, self.names.get_or_insert_with(names));
    }

    /// What a reference to a regular file of the thread is called; `None` for anything else.
    fn look_up(&mut self, reference: &str) -> Option<String> {
        self.lookups += 1;
        if self.lookups > MAX_LOOKUPS || Instant::now() > self.until {
            return None;
        }
        let local = paths::local(reference)?;
        let path = self.cwd.join(&local.path).canonicalize().ok()?;
        let inside = virtual_path(path.strip_prefix(self.root.as_ref()?).ok()?)?;
        fs::metadata(&path).ok()?.is_file().then(|| format!("{inside}{}", local.rest))
    }
}

fn virtual_path(inside: &Path) -> Option<String> {
    Some(format!("{VIRTUAL}/{}", inside.to_str()?))
}

#[cfg(test)]
mod tests;
