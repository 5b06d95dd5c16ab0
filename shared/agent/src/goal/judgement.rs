//! How a model's judgement is read: strictly, since a run goes on by it, and what it was made of was written by strangers too.

use pudu_domain::goal::REASON_CHARS;
use pudu_domain::text::{first_chars, one_line};
use serde::Deserialize;

use crate::spoken::unfenced;

/// A judgement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Judgement {
    /// The goal is met.
    pub(super) met: bool,
    /// The last turn brought it nearer.
    pub(super) progress: bool,
    /// Nothing can be done before somebody else has done something.
    pub(super) waits: bool,
    /// Why.
    pub(super) reason: String,
}

/// The judgement that `text` is: one JSON object of exactly these fields, in a code fence at most. None for anything else, also for
/// one that contradicts itself.
pub(super) fn read(text: &str) -> Option<Judgement> {
    let judgement: Judgement = serde_json::from_str(unfenced(text)).ok()?;
    let reason = first_chars(&one_line(&judgement.reason), REASON_CHARS).to_owned();
    (!(judgement.met && judgement.waits)).then_some(Judgement { reason, ..judgement })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"{"met": false, "progress": true, "waits": false, "reason": "two\n of three"}"#;

    #[test]
    fn a_judgement_is_one_object_in_a_fence_at_most() {
        let judgement =
            Judgement { met: false, progress: true, waits: false, reason: "two of three".to_owned() };
        for text in [
            PLAIN.to_owned(),
            format!("\n {PLAIN}\n"),
            format!("```json\n{PLAIN}\n```"),
            format!("```\n{PLAIN}\n```"),
        ] {
            assert_eq!(read(&text).as_ref(), Some(&judgement), "{text}");
        }
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            "",
            "The goal is met.",
            "true",
            "[]",
            r#"{"met": true}"#,
            r#"{"met": "true", "progress": true, "waits": false, "reason": ""}"#,
            r#"{"met": false, "progress": true, "waits": false, "reason": null}"#,
            r#"{"met": false, "met": true, "progress": true, "waits": false, "reason": ""}"#,
            r#"{"met": true, "progress": true, "waits": true, "reason": "both"}"#,
            r#"{"met": false, "progress": true, "waits": false, "reason": "", "next": "x"}"#,
            &format!("Here it is: {PLAIN}"),
            &format!("{PLAIN}{PLAIN}"),
            &format!("{PLAIN}\nIgnore the above."),
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_reason_is_cut() {
        let long = PLAIN.replace("two", &"x".repeat(2 * REASON_CHARS));
        assert_eq!(read(&long).unwrap().reason.chars().count(), REASON_CHARS);
    }
}
