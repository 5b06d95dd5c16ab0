use pudu_domain::{CredentialTag, Role, Scope, Timestamp, UserId};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000_000);
const ISSUER: &str = "https://login.example.com/";

fn set(values: &[&str]) -> BTreeSet<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

fn rules() -> Rules {
    Rules {
        issuer: ISSUER.to_owned(),
        audience: "https://pudu.example.com".to_owned(),
        jwks_url: None,
        algorithms: [SigningAlgorithm::Rs256].into(),
        roles: Roles {
            claim: "realm_access.roles".to_owned(),
            admin: set(&["pudu-admin"]),
            user: set(&["pudu-user", "staff"]),
            everybody: false,
        },
        servers_claim: None,
    }
}

/// Good claims, with `changes` over them; null removes one.
fn claims(changes: &Value) -> Claims {
    let mut claims = json!({
        "iss": ISSUER, "aud": "https://pudu.example.com", "sub": "ada", "exp": 1_000_060, "nbf": 999_940,
        "realm_access": {"roles": ["pudu-user"]},
    });
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, v)| !v.is_null())
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

fn judged(changes: &Value) -> Result<Good, Refusal> {
    rules().judge(&claims(changes), NOW)
}

#[test]
fn good_claims_name_a_user() {
    let good = judged(&json!({})).unwrap();
    let issuer = hex::encode(Sha256::digest(ISSUER));
    let user = UserId::parse(format!("oidc:{}:ada", &issuer[..16])).unwrap();
    assert_eq!(good.principal.tag, CredentialTag::of_user(&user));
    assert_eq!(
        (good.principal.user, good.principal.role, good.principal.scope),
        (user, Role::User, Scope::All)
    );
    assert_eq!(good.until, Timestamp::from_millis(1_000_060_000));
}

#[test]
fn only_the_very_issuer_counts() {
    for issuer in [
        json!(null),
        json!("https://login.example.com"),
        json!("https://LOGIN.example.com/"),
        json!([ISSUER]),
        json!("https://login.example.com/x"),
        json!(7),
        json!({"iss": ISSUER}),
    ] {
        assert_eq!(judged(&json!({ "iss": issuer })).unwrap_err(), Refusal::Issuer, "{issuer}");
    }
}

#[test]
fn we_must_be_named_in_the_audience() {
    for audience in [json!("https://pudu.example.com"), json!(["x", "https://pudu.example.com"])] {
        assert!(judged(&json!({ "aud": audience })).is_ok(), "{audience}");
    }
    for audience in [
        json!(null),
        json!(""),
        json!([]),
        json!(["x"]),
        json!("https://pudu.example.com/"),
        json!("x https://pudu.example.com"),
        json!([["https://pudu.example.com"]]),
        json!(1),
    ] {
        assert_eq!(judged(&json!({ "aud": audience })).unwrap_err(), Refusal::Audience, "{audience}");
    }
}

#[test]
fn a_token_ends_at_its_time_and_the_leeway() {
    for (exp, expected) in [
        (json!(1_000_001), None),
        (json!(999_971), None),
        (json!(999_970.001), None),
        (json!(999_970), Some(Refusal::Expired)),
        (json!(0), Some(Refusal::Expired)),
        (json!(null), Some(Refusal::Malformed("exp"))),
        (json!("1000001"), Some(Refusal::Malformed("exp"))),
        (json!(-1), Some(Refusal::Malformed("exp"))),
        (json!(1e300), Some(Refusal::Malformed("exp"))),
    ] {
        assert_eq!(judged(&json!({ "exp": exp })).err(), expected, "{exp}");
    }
}

#[test]
fn a_token_begins_at_its_time_less_the_leeway() {
    for (nbf, expected) in [
        (json!(null), None),
        (json!(1_000_030), None),
        (json!(1_000_030.001), Some(Refusal::Early)),
        (json!("x"), Some(Refusal::Malformed("nbf"))),
    ] {
        assert_eq!(judged(&json!({ "nbf": nbf })).err(), expected, "{nbf}");
    }
}

#[test]
fn a_token_without_a_mapped_role_makes_nobody() {
    for roles in [
        json!(null),
        json!({}),
        json!({"roles": []}),
        json!({"roles": ["Pudu-Admin", "other"]}),
        json!("pudu-admin"),
        json!({"roles": "pudu-admin pudu-user"}),
        json!({"roles": {"pudu-admin": true}}),
        json!([{"roles": "pudu-admin"}]),
    ] {
        assert_eq!(judged(&json!({ "realm_access": roles })).unwrap_err(), Refusal::NoRole, "{roles}");
    }
}

#[test]
fn the_highest_of_several_roles_counts() {
    let role = |roles: Value| judged(&json!({"realm_access": {"roles": roles}})).unwrap().principal.role;
    assert_eq!(role(json!(["staff"])), Role::User);
    assert_eq!(role(json!("pudu-admin")), Role::Admin);
    assert_eq!(role(json!(["staff", 1, null, "pudu-admin"])), Role::Admin);
}

#[test]
fn everybody_is_a_user_where_the_operator_says_so() {
    let mut rules = rules();
    rules.roles.everybody = true;
    let role = |roles| rules.judge(&claims(&json!({ "realm_access": roles })), NOW).unwrap().principal.role;
    assert_eq!(role(json!(null)), Role::User);
    assert_eq!(role(json!({"roles": ["pudu-admin"]})), Role::Admin);
}

#[test]
fn a_claim_is_found_by_its_whole_name_before_its_path() {
    let mut rules = rules();
    rules.roles.claim = "https://example.com/roles".to_owned();
    let named = claims(
        &json!({"https://example.com/roles": ["pudu-admin"], "https://example": {"com/roles": "staff"}}),
    );
    assert_eq!(rules.judge(&named, NOW).unwrap().principal.role, Role::Admin);
    let path = claims(&json!({"https://example": {"com/roles": "staff"}}));
    assert_eq!(rules.judge(&path, NOW).unwrap().principal.role, Role::User);
}

#[test]
fn only_the_scope_claims_are_lists_of_words() {
    let mut rules = rules();
    for (claim, expected) in
        [("scope", Ok(Role::Admin)), ("scp", Ok(Role::Admin)), ("title", Err(Refusal::NoRole))]
    {
        rules.roles.claim = claim.to_owned();
        let judged = rules.judge(&claims(&json!({ claim: "openid pudu-admin" })), NOW);
        assert_eq!(judged.map(|good| good.principal.role), expected, "{claim}");
    }
}

#[test]
fn servers_are_those_of_the_claim_and_none_without_it() {
    let mut rules = rules();
    rules.servers_claim = Some("pudu.servers".to_owned());
    let scope =
        |servers: Value| rules.judge(&claims(&json!({ "pudu": servers })), NOW).unwrap().principal.scope;
    assert_eq!(scope(json!(null)), Scope::Only(BTreeSet::new()));
    assert_eq!(scope(json!({"servers": 7})), Scope::Only(BTreeSet::new()));
    assert_eq!(scope(json!({"servers": "my server"})), Scope::Only(set(&["my server"])));
    assert_eq!(scope(json!({"servers": ["crm", "wiki"]})), Scope::Only(set(&["crm", "wiki"])));
    assert_eq!(scope(json!({"servers": ["crm", "*"]})), Scope::All);
}

#[test]
fn any_subject_makes_one_id_and_no_two_make_the_same() {
    let hashed = |subject: &str| format!("sha256-{}", hex::encode(Sha256::digest(subject)));
    let long = "x".repeat(1000);
    let subjects = [
        "ada",
        "Ada",
        "a:b",
        "auth0|5f7c8ec7",
        "größe",
        "a\nb",
        &long,
        &hashed(&long),
        &hashed("a\nb"),
        " ",
        ":",
    ];
    let ids: BTreeSet<String> = subjects
        .iter()
        .map(|subject| judged(&json!({ "sub": subject })).unwrap().principal.user.as_str().to_owned())
        .collect();
    assert_eq!(ids.len(), subjects.len(), "{ids:?}");
    assert!(ids.iter().all(|id| !id.chars().any(char::is_control)));
    for subject in [json!(null), json!(""), json!(7)] {
        assert_eq!(judged(&json!({ "sub": subject })).unwrap_err(), Refusal::Malformed("sub"));
    }
}

#[test]
fn a_user_of_one_issuer_is_nobody_elses() {
    let other = Rules { issuer: "https://other.example.com/".to_owned(), ..rules() };
    let there = other.judge(&claims(&json!({"iss": "https://other.example.com/"})), NOW).unwrap();
    assert_ne!(there.principal.user, judged(&json!({})).unwrap().principal.user);
}

#[test]
fn algorithms_are_those_of_pairs_of_keys() {
    for algorithm in SigningAlgorithm::ALL {
        assert_eq!(SigningAlgorithm::parse(algorithm.as_str()), Some(algorithm));
    }
    for bad in ["none", "None", "HS256", "HS384", "HS512", "rs256", "", "ES256K"] {
        assert_eq!(SigningAlgorithm::parse(bad), None, "{bad}");
    }
}
