//! What may be shown of the text that a child writes on its stderr, while each call may bring secrets of its own.

use std::sync::{Arc, Mutex, PoisonError};

use crate::redact::Redactor;

/// Most secrets that one session remembers. One that saw more, such as a token that changes with each call, shows nothing
/// any more: what is forgotten could not be hidden.
const MAX_SECRETS: usize = 1000;

/// The redactor of one session; clones are the same.
#[derive(Clone)]
pub(super) struct Shown(Arc<Mutex<Option<Redactor>>>);

impl Shown {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self(Arc::new(Mutex::new(Some(redactor))))
    }

    /// A call comes with these secrets.
    pub(super) fn learn(&self, redactor: &Redactor) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = known.take().map(|known| known.joined(redactor)).filter(|all| all.len() <= MAX_SECRETS);
    }

    /// `text` as it may be shown; `None` when nothing of it may.
    pub(super) fn text(&self, text: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|known| known.text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_saw_too_many_secrets_falls_silent() {
        let shown = Shown::new(Redactor::default());
        let knows = |secret: String| Redactor::default().and(&[secret.into()]);
        shown.learn(&knows("canary-one".to_owned()));
        shown.learn(&knows("canary-two".to_owned()));
        assert_eq!(shown.text("canary-one canary-two").as_deref(), Some("*** ***"));
        for number in 0..MAX_SECRETS {
            shown.learn(&knows(format!("token{number}")));
        }
        assert_eq!(shown.text("canary-one"), None);
    }
}
