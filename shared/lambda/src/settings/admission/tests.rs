use std::collections::BTreeMap;

use super::*;

type Pairs<'a> = [(&'static str, &'a str)];

/// Enough for tokens to be taken.
const TOKENS: [(&str, &str); 3] = [
    (OIDC_ISSUER, "https://login.example.com/"),
    (OIDC_AUDIENCE, "https://pudu.example.com"),
    (OIDC_USER_VALUES, "staff"),
];

fn read(pairs: &Pairs<'_>) -> Result<Admission, SettingError> {
    Admission::read(&pairs.iter().copied().collect::<BTreeMap<_, _>>(), CLOUD_RATE)
}

fn tokens(more: &Pairs<'_>) -> Result<Rules, SettingError> {
    read(&[&TOKENS, more].concat()).map(|admission| admission.tokens.unwrap())
}

#[test]
fn nothing_is_open_that_was_not_opened() {
    let admission = read(&[]).unwrap();
    assert_eq!(admission, Admission { tokens: None, rate: Rate::new(50, 100), origins: Vec::new() });
    let machine = Admission::read(&BTreeMap::new(), 0).unwrap();
    assert_eq!(machine.rate, None);
}

#[test]
fn an_issuer_takes_an_audience_and_somebody_with_a_role() {
    let rules = tokens(&[]).unwrap();
    assert_eq!((rules.issuer.as_str(), rules.audience.as_str()), (TOKENS[0].1, TOKENS[1].1));
    assert_eq!(rules.algorithms, [SigningAlgorithm::Rs256].into());
    assert_eq!((rules.roles.claim.as_str(), rules.roles.everybody), ("roles", false));
    assert_eq!((rules.jwks_url, rules.servers_claim), (None, None));
    assert_eq!(read(&TOKENS[..1]).unwrap_err().name, OIDC_AUDIENCE);
    assert_eq!(read(&TOKENS[..2]).unwrap_err().name, OIDC_USER_VALUES);
    let everybody = read(&[&TOKENS[..2], &[(OIDC_DEFAULT_ROLE, "user")]].concat()).unwrap();
    assert!(everybody.tokens.unwrap().roles.everybody);
}

#[test]
fn each_setting_of_tokens_is_read_from_its_name() {
    let rules = tokens(&[
        (OIDC_JWKS_URL, "https://keys.example.com/jwks"),
        (OIDC_ALGORITHMS, "ES256, EdDSA,"),
        (OIDC_ROLE_CLAIM, "realm_access.roles"),
        (OIDC_ADMIN_VALUES, "pudu admins, root"),
        (OIDC_SERVERS_CLAIM, "servers"),
    ])
    .unwrap();
    assert_eq!(rules.jwks_url.as_deref(), Some("https://keys.example.com/jwks"));
    assert_eq!(rules.algorithms, [SigningAlgorithm::Es256, SigningAlgorithm::EdDsa].into());
    assert_eq!(rules.roles.claim, "realm_access.roles");
    assert_eq!(rules.roles.admin, ["pudu admins".to_owned(), "root".to_owned()].into());
    assert_eq!(rules.roles.user, ["staff".to_owned()].into());
    assert_eq!(rules.servers_claim.as_deref(), Some("servers"));
}

#[test]
fn wrong_settings_of_tokens_are_named() {
    for (name, value) in [
        (OIDC_ISSUER, "login.example.com"),
        (OIDC_ISSUER, "http://login.example.com"),
        (OIDC_ISSUER, "http://127.0.0.1.example.com"),
        (OIDC_ISSUER, "ftp://127.0.0.1"),
        (OIDC_ISSUER, "https://user:secret@login.example.com"),
        (OIDC_JWKS_URL, "http://keys.example.com"),
        (OIDC_ALGORITHMS, "none"),
        (OIDC_ALGORITHMS, "RS256,HS256"),
        (OIDC_ALGORITHMS, "rs256"),
        (OIDC_DEFAULT_ROLE, "admin"),
    ] {
        let error = tokens(&[(name, value)]).unwrap_err();
        assert_eq!(error.name, name, "{value}");
        assert!(!error.to_string().contains("secret"));
    }
    for here in ["http://127.0.0.1:9000", "http://[::1]:9000/realm", "http://localhost"] {
        assert!(tokens(&[(OIDC_ISSUER, here)]).is_ok(), "{here}");
    }
}

#[test]
fn settings_of_tokens_without_an_issuer_are_a_mistake() {
    for name in [OIDC_AUDIENCE, OIDC_JWKS_URL, OIDC_ADMIN_VALUES, OIDC_USER_VALUES, OIDC_SERVERS_CLAIM] {
        assert_eq!(read(&[(name, "x")]).unwrap_err().name, name);
    }
}

#[test]
fn a_rate_is_a_number_and_zero_is_none() {
    assert_eq!(read(&[(RATE_PER_SECOND, "7"), (RATE_BURST, "9")]).unwrap().rate, Rate::new(7, 9));
    assert_eq!(read(&[(RATE_PER_SECOND, "0")]).unwrap().rate, None);
    for (name, value) in
        [(RATE_PER_SECOND, "-1"), (RATE_PER_SECOND, "10001"), (RATE_BURST, "0"), (RATE_BURST, "many")]
    {
        assert_eq!(read(&[(name, value)]).unwrap_err().name, name, "{value}");
    }
}

#[test]
fn origins_are_written_as_browsers_write_them() {
    let origins = |text| read(&[(CORS_ORIGINS, text)]).map(|admission| admission.origins);
    assert_eq!(
        origins("https://app.example.com, http://localhost:5173").unwrap(),
        ["https://app.example.com", "http://localhost:5173"]
    );
    for bad in [
        "*",
        "null",
        "https://app.example.com/",
        "https://app.example.com/x",
        "https://APP.example.com",
        "app.example.com",
        "https://app.example.com:443",
        "https://*.example.com",
        "https://app.example.com,*",
        "file:///x",
        "data:x",
    ] {
        assert_eq!(origins(bad).unwrap_err().name, CORS_ORIGINS, "{bad}");
    }
}
