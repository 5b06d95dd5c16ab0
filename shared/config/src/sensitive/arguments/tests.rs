use serde_json::json;

use super::*;

/// The arguments with their secrets as `***`, read by the same rules.
fn hidden(args: &[&str]) -> Vec<String> {
    let mut arguments = Arguments::default();
    args.iter()
        .map(|text| match arguments.next(text).secret {
            Secret::None => (*text).to_owned(),
            Secret::Whole => MASK.to_owned(),
            Secret::From { at, .. } => format!("{}{MASK}", &text[..at]),
        })
        .collect()
}

#[test]
fn what_follows_a_telling_flag_is_hidden() {
    for (args, expected) in [
        (vec!["-y", "pkg", "--token", "abc", "x"], vec!["-y", "pkg", "--token", "***", "x"]),
        (vec!["--api-key=abc", "--apiKey", "k"], vec!["--api-key=***", "--apiKey", "***"]),
        (vec!["--access-token", "-abcdef"], vec!["--access-token", "***"]),
        (vec!["--token", "--verbose", "x"], vec!["--token", "--verbose", "x"]),
        (vec!["--token", "-y", "x"], vec!["--token", "-y", "x"]),
        (vec!["--token", "--secret", "s"], vec!["--token", "--secret", "***"]),
        (
            vec!["--key", "k", "--pat", "p", "--db-pass", "w"],
            vec!["--key", "***", "--pat", "***", "--db-pass", "***"],
        ),
        (vec!["--token"], vec!["--token"]),
        (vec!["--token", ""], vec!["--token", "***"]),
        (vec!["token", "abc"], vec!["token", "abc"]),
        (vec!["--tokens", "5", "--path", "/p"], vec!["--tokens", "5", "--path", "/p"]),
    ] {
        assert_eq!(hidden(&args), expected, "{args:?}");
    }
}

#[test]
fn headers_and_named_values_are_hidden_behind_their_names() {
    for (args, expected) in [
        (vec!["-H", "Authorization: Bearer abc"], vec!["-H", "Authorization: ***"]),
        (vec!["--header", "X-Anything:abc"], vec!["--header", "X-Anything:***"]),
        (vec!["--header", "no separator"], vec!["--header", "***"]),
        (vec!["--header=Authorization: Bearer a.b=c"], vec!["--header=Authorization: ***"]),
        (vec!["-HAuthorization: Bearer abc"], vec!["-HAuthorization: ***"]),
        (
            vec!["--header=X-Own: abc", "--http-header=Cookie: a=b"],
            vec!["--header=X-Own: ***", "--http-header=Cookie: ***"],
        ),
        (vec!["--header=abc", "-HX-Own: v"], vec!["--header=***", "-HX-Own: ***"]),
        (vec!["-Host", "-HX=1:2", "-H:x"], vec!["-Host", "-HX=1:2", "-H:x"]),
        (vec!["--header", "Authorization:${AUTH}"], vec!["--header", "Authorization:***"]),
        (vec!["Authorization:Basic x", "bearer abc"], vec!["Authorization:***", "bearer ***"]),
        (vec!["-e", "API_KEY=abc", "--env=API_KEY=abc=d"], vec!["-e", "API_KEY=***", "--env=API_KEY=***"]),
        (vec!["Server=db;Password=p;x=y"], vec!["Server=db;Password=***"]),
        (vec!["host=h password=p"], vec!["host=h password=***"]),
        (vec!["-h", "host", "-h"], vec!["-h", "host", "-h"]),
        (vec!["PATH=/bin", "a=b", "note: x"], vec!["PATH=/bin", "a=b", "note: x"]),
    ] {
        assert_eq!(hidden(&args), expected, "{args:?}");
    }
}

#[test]
fn names_of_packages_and_images_are_no_secrets() {
    let args = [
        "token-mcp==1.0",
        "@scope/secret-server@2.1",
        "ghcr.io/x/token-server:latest",
        "password-server:1.2",
        "--package=@scope/token-mcp",
        "https://host/secret/path",
        "[not json",
        "{}",
    ];
    assert_eq!(hidden(&args), args);
}

#[test]
fn json_with_a_secret_is_hidden_whole() {
    for (arg, expected) in [
        (r#"{"apiKey":"abc","url":"https://h"}"#, "{***"),
        (r#"--config={"db": "postgres://u:p@h"}"#, "--config={***"),
        (r#"[{"token":1}]"#, "[***"),
        (r#"{"name":"abc"}"#, r#"{"name":"abc"}"#),
        (r#"{"apiKey":"cut off"#, r#"{"apiKey":***"#),
        (r"{'apiKey' : 'python'}", "{'apiKey' : ***"),
        ("{***", "{***"),
        ("--config={sealed:v1:00", "--config={***"),
    ] {
        assert_eq!(hidden(&[arg]), [expected], "{arg}");
    }
}

#[test]
fn the_secrets_of_arguments_can_be_listed() {
    let args = ["--token", "abc", "-H", "A: b c", "K=v", "API_KEY=k", "--secret", ""];
    assert_eq!(argument_secrets(args), ["abc", "b c", "k"]);
}

#[test]
fn only_texts_have_flags() {
    let list = [json!("--token"), json!(5), json!("--header"), json!("x"), json!("y")];
    let of = |flag: &str| Some(flag.to_owned());
    assert_eq!(flags(&list), [None, of("--token"), None, of("--header"), None]);
}
