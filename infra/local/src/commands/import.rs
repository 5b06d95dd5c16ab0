//! `pudu config import`: a file becomes the config in the table, as the operator's own word: stdio servers too. It goes
//! through the Pudu that holds the data folder, or else opens the folder itself; into a stack's table it is written directly.

mod stack;

use std::path::Path;

use anyhow::bail;
use http::Method;
use pudu_app::limits::Limits;
use pudu_config::adopt;

use super::check::{self, Checked, Text, judge, lease};
use super::{Question, ask, succeeded};
use crate::cli::{ImportArgs, SourceArgs};
use crate::operator::{IMPORT, Imported};
use crate::say;
use crate::secrets::EnvSecrets;

/// Stores the file and says what became of the servers.
pub async fn import(args: &ImportArgs) -> anyhow::Result<()> {
    for line in imported(args).await? {
        say::answer(&line)?;
    }
    Ok(())
}

/// Stores the file; the lines to be printed.
pub(super) async fn imported(args: &ImportArgs) -> anyhow::Result<Vec<String>> {
    let Text { raw, warnings } = check::read(&args.file)?;
    let (mut lines, raw) = match raw.and_then(adopt) {
        Ok((raw, notes)) => (notes.iter().map(|note| format!("note: {note}")).collect(), Ok(raw)),
        Err(problem) => (Vec::new(), Err(problem)),
    };
    let lease = if args.table.aws { Limits::default().lease } else { lease()? };
    let Checked { lines: findings, document, .. } = judge(Text { raw, warnings }, &EnvSecrets, lease);
    lines.extend(findings);
    let Some(document) = document else {
        bail!("{} was not imported\n{}", args.file.display(), lines.join("\n"));
    };
    if args.table.aws {
        lines.extend(told(&args.file, &stack::import(args, document).await?, None));
        return Ok(lines);
    }
    let body = document.expose_raw().to_string();
    let question = Question { method: Method::PUT, path: IMPORT.to_owned(), body: Some(body) };
    // In the table, whatever a start would use.
    let answer = succeeded(ask(&args.table.store, &SourceArgs::table(), &question).await?)?;
    lines.extend(told(
        &args.file,
        &Imported::read(answer)?,
        SourceArgs::default().find().ok().flatten().as_deref(),
    ));
    Ok(lines)
}

/// What an import did. `found` is the file that a start in this folder would use instead of the table.
pub(super) fn told(file: &Path, imported: &Imported, found: Option<&Path>) -> Vec<String> {
    let mut lines = vec![format!("{} is now revision {} in the table", file.display(), imported.revision)];
    for (what, names) in
        [("added", &imported.added), ("changed", &imported.changed), ("removed", &imported.removed)]
    {
        if !names.is_empty() {
            lines.push(format!("  {what:<8} {}", names.join(", ")));
        }
    }
    if !imported.in_force {
        lines.push(
            "The running Pudu has its config from a file, which stays in force; a start with --config-source table uses the table"
                .to_owned(),
        );
    } else if let Some(found) = found {
        lines.push(format!(
            "A start in this folder has its config from {}; --config-source table uses the table instead",
            found.display()
        ));
    }
    lines
}

#[cfg(test)]
mod tests;
