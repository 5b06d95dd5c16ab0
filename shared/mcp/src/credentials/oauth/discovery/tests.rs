use serde_json::json;

use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn shown(places: Vec<Url>) -> Vec<String> {
    places.into_iter().map(String::from).collect()
}

#[test]
fn well_known_places_keep_the_path_and_drop_credentials() {
    let places = shown(well_known(&url("https://u:p@h:8/a/mcp/?k=v#f"), "x"));
    assert_eq!(places, ["https://h:8/.well-known/x/a/mcp", "https://h:8/.well-known/x"]);
    assert_eq!(shown(well_known(&url("https://h/"), "x")), ["https://h/.well-known/x"]);
    assert_eq!(under(&url("https://h/tenant/"), "y").as_str(), "https://h/tenant/y");
}

#[test]
fn a_resource_covers_its_own_origin_and_what_is_below_its_path() {
    let server = url("https://h/a/mcp");
    for (id, covered) in [
        ("https://h/a/mcp", true),
        ("https://h/a/", true),
        ("https://h", true),
        ("https://H/a/mcp/", true),
        ("https://h/a/mc", false),
        ("https://h/b", false),
        ("https://h:8443/a/mcp", false),
        ("http://h/a/mcp", false),
        ("https://evil/a/mcp", false),
        ("", false),
    ] {
        assert_eq!(covers(id, &server), covered, "{id}");
    }
}

#[test]
fn the_clients_method_follows_what_the_token_server_takes() {
    for (supported, method) in [
        (json!(["client_secret_basic", "client_secret_post"]), AuthMethod::ClientSecretPost),
        (json!(["client_secret_basic"]), AuthMethod::ClientSecretBasic),
        (json!(null), AuthMethod::ClientSecretBasic),
    ] {
        assert_eq!(usual(Some(&supported)), method);
    }
}
