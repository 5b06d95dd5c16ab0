//! The secrets that a run's caller brought: sealed for that run alone, whoever stores them.

use std::collections::BTreeMap;

use pudu_config::{NONCE_BYTES, OpenError, SealError, SealKey};
use pudu_domain::RunKey;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

/// Seals them for `run`; the result is what [`Birth::secrets`](pudu_domain::run::Birth) takes.
pub fn seal(
    key: &SealKey,
    run: &RunKey,
    secrets: &BTreeMap<String, SecretString>,
    nonce: [u8; NONCE_BYTES],
) -> Result<String, SealError> {
    let plain = secrets.iter().map(|(name, secret)| (name.clone(), secret.expose_secret().into()));
    key.seal(&place(run), &Value::Object(plain.collect()).to_string(), nonce)
}

/// Opens what was sealed for `run`, and for no other.
pub fn open(key: &SealKey, run: &RunKey, sealed: &str) -> Result<BTreeMap<String, SecretString>, OpenError> {
    let place = place(run);
    let opened = key.open(&place, sealed)?;
    let plain: Map<String, Value> =
        serde_json::from_str(opened.expose_secret()).map_err(|_| OpenError::Rejected { path: place })?;
    let text = |value: Value| if let Value::String(text) = value { Some(text) } else { None };
    Ok(plain.into_iter().filter_map(|(name, value)| Some((name, text(value)?.into()))).collect())
}

fn place(run: &RunKey) -> String {
    format!("run#{}#{}#{}", run.thread.user, run.thread.thread, run.id)
}

#[cfg(test)]
mod tests {
    use pudu_domain::{RunId, ThreadId, ThreadKey, UserId};

    use super::*;

    #[test]
    fn they_open_for_the_run_that_they_were_sealed_for_and_no_other() {
        let thread = ThreadKey {
            user: UserId::parse("local:default").unwrap(),
            thread: ThreadId::parse("t").unwrap(),
        };
        let run = RunKey { thread, id: RunId::parse("a").unwrap() };
        let key = SealKey::new([7; 32]);
        let secrets = BTreeMap::from([("TOKEN".to_owned(), SecretString::from("canary"))]);
        let sealed = seal(&key, &run, &secrets, [1; NONCE_BYTES]).unwrap();
        assert!(!sealed.contains("canary"));
        let opened = open(&key, &run, &sealed).unwrap();
        assert_eq!(opened["TOKEN"].expose_secret(), "canary");
        assert!(open(&key, &run.beside(RunId::parse("b").unwrap()), &sealed).is_err());
    }
}
