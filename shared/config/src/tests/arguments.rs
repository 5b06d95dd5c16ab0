//! Whatever arguments there are: their secrets are cut at the same places in every form, and come back from each.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::mask::{Style, mask};
use crate::*;

/// What decides about an argument, and what does not.
const PIECES: &[&str] = &[
    "--token",
    "-H",
    "--header",
    "--",
    "-k",
    "token",
    "apiKey",
    "authorization",
    "bearer ",
    "Bearer",
    "name",
    "=",
    "=",
    ":",
    ": ",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    "://",
    "@",
    "?",
    "&",
    "#",
    ";",
    "/",
    "\\",
    " ",
    "$",
    "é",
    "x",
    "sealed",
    "1",
    ",",
];

fn argument() -> impl Strategy<Value = String> {
    let made =
        vec(0..PIECES.len(), 0..7).prop_map(|at| at.into_iter().map(|at| PIECES[at]).collect::<String>());
    let whole = prop_oneof![
        Just(r#"{"apiKey":"s"}"#.to_owned()),
        Just(r#"--x={"db":"postgres://u:p@h?token=k"}"#.to_owned()),
        Just("$A_VARIABLE".to_owned()),
        Just("https://u:p@h/?token=k&x=1#secret=s".to_owned()),
    ];
    prop_oneof![6 => made, 1 => whole]
}

fn document(args: &[String]) -> Result<Document, Vec<Problem>> {
    Document::parse(json!({"mcpServers": {"web": {"command": "c", "args": args}}}))
}

fn shown_args(document: &Document) -> Value {
    document.masked()["mcpServers"]["web"]["args"].clone()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

    #[test]
    fn arguments_come_back_from_the_table_and_from_a_client(args in vec(argument(), 0..5)) {
        // A dollar that names nothing, and our own forms, are refused.
        let Ok(document) = document(&args) else { return Ok(()) };
        let key = SealKey::new([3; 32]);
        let stored = key.seal_document(&document, &mut || [7; NONCE_BYTES]).unwrap();
        let opened = key.open_document(stored).unwrap();
        prop_assert_eq!(opened.expose_raw(), document.expose_raw());

        let shown = shown_args(&document);
        let masked: Vec<String> = shown.as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned()).collect();
        // What is shown is cut where what is stored is, and hides it.
        for secret in argument_secrets(masked.iter().map(String::as_str)) {
            prop_assert!(secret == "***" || secret.starts_with('$'), "{:?} of {:?}", secret, masked);
        }
        prop_assert_eq!(
            argument_secrets(args.iter().map(String::as_str)).len() <= argument_secrets(masked.iter().map(String::as_str)).len(), true
        );
        let sent = json!({"mcp_servers": {"web": {"command": "c", "args": masked}}});
        let merged = Document::parse(merge(sent, Some(&document)).unwrap()).unwrap();
        prop_assert_eq!(merged.expose_raw(), document.expose_raw());
    }

    /// A client that changes the list gets each secret back behind its own flag and name, or is refused; none is ever shown.
    #[test]
    fn no_edit_of_the_list_makes_a_secret_readable(
        order in vec(0..8_usize, 0..8),
        extra in argument(),
        at in 0..8_usize,
    ) {
        let args = ["--token", "CANARY-1", "K_TOKEN=CANARY-2", "-H", "X-Own: CANARY-3", "--config", r#"{"apiKey":"CANARY-4"}"#, "https://CANARY-5@h"];
        let document = document(&args.map(str::to_owned)).unwrap();
        let masked = shown_args(&document);
        let mut edited: Vec<Value> = order.iter().map(|at| masked[at].clone()).collect();
        edited.insert(at.min(edited.len()), json!(extra));
        let sent = json!({"mcp_servers": {"web": {"command": "c", "args": edited}}});
        let Ok(merged) = merge(sent, Some(&document)) else { return Ok(()) };
        let Ok(merged) = Document::parse(merged) else { return Ok(()) };
        prop_assert!(!merged.masked().to_string().contains("CANARY"), "{}", merged.masked());
        let mut sent = json!({"mcpServers": {"web": {"args": edited}}});
        mask(&mut sent, Style::Shown);
        prop_assert_eq!(&shown_args(&merged), &sent["mcpServers"]["web"]["args"]);
    }
}

/// Sealed when only the URL in an argument was taken for a secret.
#[test]
fn what_was_sealed_inside_a_url_still_opens() {
    let key = SealKey::new([3; 32]);
    let part =
        |place: &str, secret: &str| key.seal(place, &json!(secret).to_string(), [1; NONCE_BYTES]).unwrap();
    for (at, args) in [(1, ["--token", "https://S@h"]), (0, ["DB_TOKEN=https://S@h", "x"])] {
        let sealed = part(&format!("mcpServers.web.args[{at}]@userinfo"), "u:p");
        let stored = args.map(|arg| arg.replace('S', &sealed));
        let opened =
            key.open_document(json!({"mcpServers": {"web": {"command": "c", "args": stored}}})).unwrap();
        let raw = &opened.expose_raw()["mcpServers"]["web"]["args"][at];
        assert_eq!(raw.as_str(), Some(args[at].replace('S', "u:p").as_str()));
        assert!(!shown_args(&opened).to_string().contains("u:p"));
    }
}
