use secrecy::ExposeSecret;

use super::*;

struct Map(&'static [(&'static str, &'static str)]);

impl Secrets for Map {
    fn get(&self, name: &str) -> Option<SecretString> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| SecretString::from(*value))
    }
}

fn resolve(raw: &str) -> Result<String, ResolveError> {
    let secrets = Map(&[("TOK", "sek"), ("AWS_KEY", "x"), ("LAMBDA_X", "x"), ("PUDU_X", "x"), ("_X", "x")]);
    Setting::new(raw).resolve(&secrets).map(|value| value.expose_secret().to_owned())
}

#[test]
fn vector_1_whole_strings_only() {
    assert_eq!(resolve("$TOK").unwrap(), "sek");
    assert_eq!(resolve("x$TOK").unwrap(), "x$TOK");
    assert_eq!(resolve("").unwrap(), "");
}

#[test]
fn an_unset_variable_fails_closed_and_is_named() {
    assert_eq!(resolve("$MISSING"), Err(ResolveError::Unset { name: "MISSING".into() }));
    assert_eq!(resolve("$tok"), Err(ResolveError::Unset { name: "tok".into() }));
    assert!(resolve("$MISSING").unwrap_err().to_string().contains("MISSING"));
}

#[test]
fn what_names_no_variable_is_refused_and_not_shown() {
    for raw in ["${TOK}", "$", "$TOK ", "$5ecret!", "$1A"] {
        let error = resolve(raw).unwrap_err();
        assert_eq!(error, ResolveError::Malformed, "{raw}");
        assert_eq!(format!("{:?}", Setting::new(raw)), "***");
    }
}

#[test]
fn two_dollars_are_one_literal_dollar() {
    assert_eq!(resolve("$$TOK").unwrap(), "$TOK");
    assert_eq!(resolve("$$$TOK").unwrap(), "$$TOK");
    assert_eq!(resolve("$$").unwrap(), "$");
}

#[test]
fn reserved_names_never_resolve_even_when_they_are_set() {
    for raw in ["$AWS_KEY", "$LAMBDA_X", "$PUDU_X", "$_X"] {
        assert_eq!(resolve(raw), Err(ResolveError::Reserved), "{raw}");
    }
}

#[test]
fn debug_shows_references_and_hides_literals() {
    assert_eq!(format!("{:?} {:?}", Setting::new("$TOK"), Setting::new("hunter2")), "$TOK ***");
}

/// A source that was never reached.
struct Unreached;

impl Secrets for Unreached {
    fn get(&self, _name: &str) -> Option<SecretString> {
        None
    }

    fn is_known(&self, _name: &str) -> bool {
        false
    }
}

#[test]
fn what_could_not_be_read_is_not_called_unset() {
    let error = Setting::new("$TOK").resolve(&Unreached).unwrap_err();
    assert_eq!(error, ResolveError::Unread { name: "TOK".into() });
    assert!(error.to_string().contains("TOK"), "{error}");
}
