//! The page: it loads nothing but the contract, and nothing else could run in it. That it works in a browser is tested by
//! `scripts/contract`.

use acceptance::{Answer, World};
use http::Method;

async fn page() -> Answer {
    let answer = World::without_servers().await.call(Method::GET, "/docs", None).await;
    assert_eq!(answer.status, 200);
    answer
}

/// What is between `<name>` and `</name>`, which is there once.
fn inside<'a>(html: &'a str, name: &str) -> &'a str {
    let parts: Vec<&str> = html.split(&format!("<{name}>")).collect();
    assert_eq!(parts.len(), 2, "{name} is there once");
    parts[1].split_once(&format!("</{name}>")).unwrap().0
}

#[tokio::test]
async fn the_page_refers_to_nothing_but_the_contract() {
    let page = page().await;
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    for outside in ["http://", "https://", "src=", "@import", "url(", "import("] {
        assert!(!page.text.contains(outside), "{outside} is in the page");
    }
    let links: Vec<&str> =
        page.text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(links, ["data:,", "openapi.json"]);
    for unsafe_way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
        assert!(
            !page.text.contains(unsafe_way),
            "{unsafe_way} is in the page: the contract is put in as text"
        );
    }
}

#[tokio::test]
async fn nothing_but_the_pages_own_script_and_style_can_run_in_it() {
    let page = page().await;
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    let part = |name: &str| {
        let found = policy.split("; ").find_map(|part| part.strip_prefix(name)).unwrap_or_default();
        found.trim().to_owned()
    };
    assert_eq!(part("default-src"), "'none'");
    assert_eq!(part("connect-src"), "'self'");
    assert_eq!(part("frame-ancestors"), "'none'");
    assert_eq!(part("script-src"), digest(inside(&page.text, "script")));
    assert_eq!(part("style-src"), digest(inside(&page.text, "style")));
    assert!(!policy.contains("unsafe"), "{policy}");
}

/// By the rule of the specification (CSP 3, 6.7.3.3), written anew here.
fn digest(text: &str) -> String {
    use base64::Engine;
    use sha2::Digest;
    format!("'sha256-{}'", base64::prelude::BASE64_STANDARD.encode(sha2::Sha256::digest(text)))
}
