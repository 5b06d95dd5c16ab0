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
