use secrecy::{ExposeSecret, SecretString};

use super::*;

#[test]
fn vector_51_legal_values_stay_legal() {
    for value in ["a\tb", "a\x7fb", "", "a  b", "a\x01b", "Bearer  abc"] {
        assert_eq!(illegal_value(value), None, "{value:?}");
    }
}

#[test]
fn vector_51_illegal_values_say_why_in_the_order_of_the_checks() {
    for (value, reason) in [
        ("a\n", Illegal::LineBreak),
        ("a\r", Illegal::LineBreak),
        ("a\x0bb", Illegal::LineBreak),
        ("a\x0cb", Illegal::LineBreak),
        ("a\x00b", Illegal::LineBreak),
        (" a", Illegal::Whitespace),
        ("a\t", Illegal::Whitespace),
        ("é", Illegal::OutsideAscii),
        (" é\n", Illegal::OutsideAscii),
        (" a\n", Illegal::LineBreak),
    ] {
        assert_eq!(illegal_value(value), Some(reason), "{value:?}");
    }
}

#[test]
fn reasons_use_the_words_that_clients_look_for() {
    assert!(Illegal::OutsideAscii.to_string().contains("outside ASCII"));
    assert!(Illegal::LineBreak.to_string().contains("line break"));
    assert!(Illegal::Whitespace.to_string().contains("whitespace"));
}

#[test]
fn header_names_are_tokens() {
    assert!(legal_name("X-Api-Key"));
    for name in ["", "a b", "a:", "é", "a\n"] {
        assert!(!legal_name(name), "{name:?}");
    }
}

fn headers(all: &[(&str, &str)]) -> Headers {
    all.iter().map(|(name, value)| ((*name).to_owned(), SecretString::from(*value))).collect()
}

fn shown(headers: &Headers) -> Vec<(&str, &str)> {
    headers.iter().map(|(name, value)| (name, value.expose_secret())).collect()
}

#[test]
fn vector_53_an_override_leaves_one_header_in_the_spelling_of_the_file() {
    let fixed = headers(&[("X-First", "1"), ("authorization", "static")]);
    let sent = fixed.overlaid(&headers(&[("Authorization", "Bearer new"), ("X-More", "2")]));
    assert_eq!(shown(&sent), [("X-First", "1"), ("authorization", "Bearer new"), ("X-More", "2")]);
    assert_eq!(shown(&fixed), [("X-First", "1"), ("authorization", "static")], "the base is as it was");
}

#[test]
fn without_a_spelling_in_the_file_the_first_that_is_there_stays() {
    let mut sent = Headers::default();
    for (name, value) in [("AUTHORIZATION", "oauth"), ("Authorization", "user"), ("authorization", "request")]
    {
        sent.set(name, SecretString::from(value));
    }
    assert_eq!(shown(&sent), [("AUTHORIZATION", "request")]);
    assert_eq!(sent.get("authorization").map(ExposeSecret::expose_secret), Some("request"));
}

#[test]
fn vector_51_what_may_not_be_sent_is_named_without_its_value() {
    let told = |name, value| headers(&[(name, value)]).check().unwrap_err().to_string();
    let text = told("X-Key", "hidden\nvalue");
    assert!(text.contains("X-Key") && text.contains("line break") && !text.contains("hidden"), "{text}");
    let text = told("X-Key: hidden", "value");
    assert!(!text.contains("hidden"), "{text}");
    assert_eq!(headers(&[("X-Key", ""), ("b", "a\tb")]).check(), Ok(()));
}

#[test]
fn debug_of_headers_shows_names_only() {
    assert_eq!(format!("{:?}", headers(&[("X-Key", "hidden")])), r#"{"X-Key"}"#);
}
