use std::path::Path;

use proptest::prelude::*;

use super::*;

/// With a tree in which these exist, by the spelling that is looked up.
fn shown(text: &str) -> String {
    with_paths(text, |token| {
        let path = local(token)?;
        let virtual_path = match path.path.to_str()? {
            "temp/a.png" | "./temp/a.png" | "/ws/temp/a.png" => "/mnt/user-data/workspace/temp/a.png",
            "../outputs/o.pdf" => "/mnt/user-data/outputs/o.pdf",
            "/ws/p%20q.png" => "/mnt/user-data/workspace/p%20q.png",
            _ => return None,
        };
        Some(format!("{virtual_path}{}", path.rest))
    })
}

const A: &str = "/mnt/user-data/workspace/temp/a.png";

#[test]
fn vector_43_a_path_is_rewritten_and_the_full_stop_kept() {
    assert_eq!(shown("Saved as temp/a.png."), format!("Saved as {A}."));
}

/// The [measured] rows of reference 2.9.
#[test]
fn every_measured_example_of_free_text_is_met() {
    let cases = [
        ("temp/a.png.", format!("{A}.")),
        ("[x](./temp/a.png)", format!("[x]({A})")),
        ("../outputs/o.pdf", "/mnt/user-data/outputs/o.pdf".to_owned()),
        ("path=temp/a.png", format!("path={A}")),
        ("/ws/temp/a.png?x=1", format!("{A}?x=1")),
        ("file:///ws/temp/a.png", A.to_owned()),
        ("file:///ws/p%2520q.png", "/mnt/user-data/workspace/p%20q.png".to_owned()),
        ("`temp/a.png`, \"temp/a.png\" 'temp/a.png'", format!("`{A}`, \"{A}\" '{A}'")),
        ("<temp/a.png>|temp/a.png|", format!("<{A}>|{A}|")),
        ("(see /ws/temp/a.png).", format!("(see {A}).")),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), expected);
    }
}

#[test]
fn what_is_no_path_of_ours_stays() {
    for text in [
        "../../secret.txt",
        "https://h/temp/a.png",
        "temp/a.png:12",
        "~/temp/a.png",
        "temp\\a.png",
        "C:\\temp/a.png",
        "\\temp/a.png",
        "плюсtemp/a.png",
        "плюс/ws/temp/a.png",
        "xtemp/a.png",
        "a.png",
        "/",
        "//",
        "./",
        "file://",
        "FILE:///",
        "",
    ] {
        assert_eq!(shown(text), text);
    }
}

/// Backslash is a boundary; the reference rewrites the tail of `a\shot.png` (its ⚠).
#[test]
fn a_name_behind_a_backslash_is_not_ours() {
    let names = [("shot.png".to_owned(), "/v/shot.png".to_owned())];
    assert_eq!(with_names("a\\shot.png shot.png\\x shot.png", &names), "a\\shot.png shot.png\\x /v/shot.png");
}

#[test]
fn vector_45_a_bare_name_counts_only_where_it_stands_alone() {
    let names = [("page.yml".to_owned(), "/v/page.yml".to_owned())];
    let cases = [
        ("wrote page.yml", "wrote /v/page.yml"),
        ("page.yml.", "/v/page.yml."),
        ("(page.yml), `page.yml`", "(/v/page.yml), `/v/page.yml`"),
        ("page.yml.bak", "page.yml.bak"),
        ("Page.yml", "Page.yml"),
        ("my-page.yml page.yml-old", "my-page.yml page.yml-old"),
        ("temp/page.yml page.yml/x", "temp/page.yml page.yml/x"),
        (".page.yml xpage.yml page.ymlx", ".page.yml xpage.yml page.ymlx"),
        ("page.yml...", "/v/page.yml..."),
    ];
    for (text, expected) in cases {
        assert_eq!(with_names(text, &names), expected);
    }
}

#[test]
fn of_two_names_at_one_place_the_longer_wins() {
    let names =
        [("a.png".to_owned(), "/v/a.png".to_owned()), ("a.png copy".to_owned(), "/v/a.png copy".to_owned())];
    assert_eq!(with_names("a.png copy, a.png", &names), "/v/a.png copy, /v/a.png");
}

#[test]
fn too_many_names_leave_the_text_alone() {
    let names: Vec<_> = (0..=MAX_NAMES).map(|n| (format!("f{n}"), "/v".to_owned())).collect();
    assert_eq!(with_names("f1", &names), "f1");
}

#[test]
fn file_uris_are_decoded_once_whatever_their_host() {
    let path = |text: &'static str| local(text).map(|local| (local.path.into_owned(), local.rest));
    let is = |path: &str, rest: &'static str| Some((Path::new(path).to_owned(), rest));
    assert_eq!(path("file:///x/a%2520b"), is("/x/a%20b", ""));
    assert_eq!(path("file://localhost/x"), is("/x", ""));
    assert_eq!(path("file:/x?q=1#f"), is("/x", "?q=1#f"));
    assert_eq!(path("FILE:///x"), is("/x", ""));
    assert_eq!(path("a/b%20c"), is("a/b%20c", ""));
    assert_eq!(path("a/b:c"), is("a/b:c", ""));
    assert_eq!(path("//[::1/foo"), is("//[::1/foo", ""));
    for other in
        ["", "https://h/x", "data:,x", "C:/x", "file://host", "file://", "file:", "a\0b", "file:///a%00"]
    {
        assert_eq!(local(other), None, "{other:?}");
    }
}

#[test]
fn vector_46_long_and_broken_references_are_tokens_like_any_other() {
    let long = format!("OR/ICU{}", "x".repeat(400));
    for text in [&long, "//[::1/foo"] {
        assert_eq!(tokens(text), vec![0..text.len(); 1], "{text}");
    }
}

#[test]
fn a_spelling_is_looked_up_once() {
    let mut asked = Vec::new();
    let text = with_paths("a/b a/b c/d a/b.", |token| {
        asked.push(token.to_owned());
        Some("/v".to_owned())
    });
    assert_eq!(text, "/v /v /v /v.");
    assert_eq!(asked, ["a/b", "c/d"]);
}

proptest! {
    #[test]
    fn tokens_are_in_order_and_in_the_text(text in "[ -~й\\\\/.'\"\n]{0,80}") {
        let mut done = 0;
        for range in tokens(&text) {
            prop_assert!(range.start >= done && range.end > range.start);
            prop_assert!(text.get(range.clone()).is_some_and(|token| token.contains('/')));
            done = range.end;
        }
    }

    #[test]
    fn nothing_known_changes_nothing(text in "\\PC{0,200}") {
        prop_assert_eq!(with_paths(&text, |_| None), text.clone());
        prop_assert_eq!(with_names(&text, &[]), text);
    }

    #[test]
    fn any_text_is_read(text in any::<String>(), name in any::<String>()) {
        let _ = local(&text);
        let _ = with_paths(&text, |token| Some(token.to_owned()));
        let same = with_names(&text, &[(name.clone(), name)]);
        prop_assert_eq!(same, text);
    }
}
