//! `$VAR`: whatever text stands where one may.

use pudu_config::{ResolveError, Secrets, Setting};
use secrecy::{ExposeSecret, SecretString};

/// Knows every variable; its value names it, and begins with a dollar, so that a second resolution would show.
struct Echo;

impl Secrets for Echo {
    fn get(&self, name: &str) -> Option<SecretString> {
        let word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        assert!(word && !name.is_empty(), "{name:?} was looked up and is no name");
        let reserved = ["AWS_", "LAMBDA_", "PUDU_", "_"].iter().any(|begin| name.starts_with(begin));
        assert!(!reserved, "the reserved {name} was looked up");
        Some(SecretString::from(format!("$OF_{name}")))
    }
}

/// `data` is the text. It is a literal, one variable or an error, never a mixture, and `Debug` never shows a literal.
pub fn variables(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let setting = Setting::new(text);
    let resolved = setting.resolve(&Echo).map(|value| value.expose_secret().to_owned());
    match (text.strip_prefix('$'), &resolved) {
        (None, Ok(value)) => assert_eq!(value, text, "a literal is itself"),
        (Some(rest), Ok(value)) if rest.starts_with('$') => assert_eq!(value, rest, "$$ is one dollar"),
        (Some(name), Ok(value)) => {
            assert_eq!(value, &format!("$OF_{name}"), "a variable is looked up once, by its whole name");
            assert_eq!(setting.reference(), Some(name));
        }
        (Some(name), Err(ResolveError::Reserved)) => assert!(!name.is_empty()),
        (Some(_), Err(ResolveError::Malformed)) => {}
        other => panic!("{other:?} of {text:?}"),
    }
    let is_literal = resolved.is_ok() && setting.reference().is_none();
    assert_eq!(setting.expose_literal().is_some(), is_literal);
    if setting.reference().is_none() {
        assert_eq!(format!("{setting:?}"), "***", "what may be a password is shown");
    }
}
