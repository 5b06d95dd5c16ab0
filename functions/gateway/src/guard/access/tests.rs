//! Which headers show a credential.

use http::HeaderValue;

use super::*;

fn shown(values: &[&'static str]) -> Option<String> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
    }
    credential(&headers).map(str::to_owned)
}

#[test]
fn one_bearer_credential_is_taken_whatever_the_case_of_its_scheme() {
    for value in ["Bearer abc", "bearer abc", "BEARER abc", "bEaReR   abc", "Bearer abc  "] {
        assert_eq!(shown(&[value]).as_deref(), Some("abc"), "{value:?}");
    }
    assert_eq!(shown(&["Bearer a b"]).as_deref(), Some("a b"), "whoever judges it refuses it");
}

#[test]
fn none_two_and_other_schemes_are_no_credential() {
    for values in [
        &[][..],
        &[""],
        &["Bearer"],
        &["Bearer "],
        &["Bearer    "],
        &["abc"],
        &["Basic abc"],
        &["Bearer\tabc"],
        &[" Bearer abc"],
        &["Bearer abc", "Bearer abc"],
        &["Bearer abc", "Basic x"],
        &["Basic x", "Bearer abc"],
        &["Bearer abc", ""],
    ] {
        assert_eq!(shown(values), None, "{values:?}");
    }
}

#[test]
fn what_is_longer_than_any_credential_or_no_text_is_none() {
    let of = |bytes: &[u8]| {
        let value = HeaderValue::from_bytes(&[b"Bearer ", bytes].concat()).unwrap();
        credential(&HeaderMap::from_iter([(header::AUTHORIZATION, value)])).is_some()
    };
    assert!(of(&vec![b'a'; MAX_CREDENTIAL]) && !of(&vec![b'a'; MAX_CREDENTIAL + 1]));
    assert!(!of("ü".as_bytes()) && !of(&[0xff]));
}

#[test]
fn a_key_may_stand_where_agent_clients_show_it_unless_it_is_another() {
    let both = |bearer: Option<&'static str>, keys: &[&'static str]| {
        let mut headers = HeaderMap::new();
        headers.extend(bearer.map(|text| (header::AUTHORIZATION, HeaderValue::from_static(text))));
        for key in keys {
            headers.append(API_KEY, HeaderValue::from_static(key));
        }
        credential(&headers).map(str::to_owned)
    };
    assert_eq!(both(None, &["abc"]).as_deref(), Some("abc"));
    assert_eq!(both(Some("Bearer abc"), &["abc"]).as_deref(), Some("abc"));
    for (bearer, keys) in
        [(Some("Bearer abc"), &["abd"][..]), (Some("Basic x"), &["abc"]), (None, &["a", "a"]), (None, &[""])]
    {
        assert_eq!(both(bearer, keys), None, "{bearer:?} {keys:?}");
    }
}
