use http::{HeaderMap, HeaderValue};
use url::Url;

use super::*;

fn redactor(url: &str, headers: &[(&'static str, &str)]) -> Redactor {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, HeaderValue::from_str(value).unwrap());
    }
    Redactor::new(&Url::parse(url).unwrap(), &map)
}

#[test]
fn header_values_and_their_parts_are_hidden() {
    let redactor =
        redactor("http://h/", &[("authorization", "Bearer abcdef123"), ("cookie", "sid=99887766; x=y")]);
    for text in ["Bearer abcdef123", "got abcdef123", "sid 99887766", "\"sid=99887766; x=y\""] {
        let shown = redactor.text(text);
        assert!(!shown.contains("abcdef") && !shown.contains("9988"), "{shown}");
    }
    assert_eq!(redactor.text("the bearer of news"), "the bearer of news");
}

#[test]
fn user_info_and_query_are_hidden_as_written_and_as_meant() {
    let redactor = redactor("http://us%20er:p%40ss1@h/?token=q%2Fr%2Fs&b=second", &[]);
    for secret in ["us%20er", "us er", "p%40ss1", "p@ss1", "q%2Fr%2Fs", "q/r/s", "second"] {
        assert!(!redactor.text(&format!("<{secret}>")).contains(secret), "{secret}");
    }
}

#[test]
fn a_short_secret_is_hidden_where_it_stands_alone() {
    let redactor = redactor("http://h/", &[("x-pin", "42")]);
    assert_eq!(redactor.text("pin 42, error 4242, (42)"), "pin ***, error 4242, (***)");
}

#[test]
fn a_secret_inside_a_longer_one_leaves_nothing_of_it() {
    let redactor = redactor("http://h/", &[("a", "secret"), ("b", "secret-and-more")]);
    assert_eq!(redactor.text("x secret-and-more y secret z"), "x *** y *** z");
}

#[test]
fn a_text_is_one_line_and_bounded_after_the_secrets_are_out() {
    let redactor = redactor("http://h/", &[("a", "topsecret")]);
    let text = format!("{}topsecret\n", "ü".repeat(MAX_ERROR_CHARS - 4));
    let shown = redactor.text(&text);
    assert_eq!(shown.chars().count(), MAX_ERROR_CHARS - 1);
    assert!(!shown.contains("top"));
    assert_eq!(redactor.text("a\r\nb\u{7}"), "a  b");
}

#[test]
fn debug_shows_no_secret() {
    assert_eq!(format!("{:?}", redactor("http://h/", &[("a", "topsecret")])), "Redactor(1 secrets)");
}

#[test]
fn user_info_is_hidden_in_the_header_that_is_made_of_it() {
    let url = Url::parse("http://someone:p%40ss@host/mcp").unwrap();
    let redactor = Redactor::new(&url, &HeaderMap::new());
    assert_eq!(redactor.text("wrong: Basic c29tZW9uZTpwQHNz"), "wrong: Basic ***");
    let plain = Redactor::new(&Url::parse("http://host/mcp").unwrap(), &HeaderMap::new());
    assert_eq!(plain.text("Basic Og=="), "Basic Og==");
}
