use super::*;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs.iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect()
}

fn passes(pairs: &[(&'static str, &'static str)]) -> bool {
    loopback(&Uri::from_static("/x"), &headers(pairs), &Origins::default()).is_ok()
}

#[test]
fn only_this_machine_passes() {
    for host in ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "127.9.9.9"] {
        assert!(passes(&[("host", host)]), "{host}");
    }
    for host in
        ["pudu.example", "localhost.evil.example", "10.0.0.1", "[::2]", "127.0.0.1.evil.example", "x@y z", ""]
    {
        assert!(!passes(&[("host", host)]), "{host}");
    }
    assert!(!passes(&[]));
}

#[test]
fn a_page_of_another_origin_is_refused() {
    assert!(passes(&[("host", "localhost"), ("origin", "http://127.0.0.1:3000")]));
    for origin in ["https://evil.example", "null", "http://127.0.0.1.evil.example"] {
        assert!(!passes(&[("host", "localhost"), ("origin", origin)]), "{origin}");
    }
}

#[test]
fn a_page_of_a_named_origin_passes() {
    let origins = Origins::new(&["https://app.example.com".to_owned()]);
    let passes = |host: &'static str, origin: &'static str| {
        let headers = headers(&[("host", host), ("origin", origin)]);
        loopback(&Uri::from_static("/x"), &headers, &origins).is_ok()
    };
    assert!(passes("localhost", "https://app.example.com") && passes("localhost", "http://localhost:3000"));
    for other in
        ["https://app.example.com:8443", "http://app.example.com", "https://app.example.com.evil.example"]
    {
        assert!(!passes("localhost", other), "{other}");
    }
    assert!(!passes("app.example.com", "https://app.example.com"), "a name that leads here is no page");
}

#[test]
fn a_second_header_does_not_pass_behind_a_good_one() {
    let both = |name: &'static str, values: [&'static str; 2]| {
        let mut all = headers(&[("host", "localhost")]);
        all.remove(name);
        for value in values {
            all.append(name, value.parse().unwrap());
        }
        loopback(&Uri::from_static("/x"), &all, &Origins::default()).is_ok()
    };
    assert!(!both("host", ["localhost", "evil.example"]));
    assert!(!both("origin", ["http://localhost", "http://evil.example"]));
    assert!(both("origin", ["http://localhost", "http://127.0.0.1"]));
}

#[test]
fn writes_are_json() {
    let write = |pairs: &[_]| json_only(&Method::POST, &headers(pairs)).is_ok();
    assert!(write(&[("content-type", "application/json; charset=utf-8"), ("content-length", "2")]));
    assert!(write(&[]));
    assert!(write(&[("content-length", "0")]));
    assert!(!write(&[("content-length", "2")]));
    assert!(!write(&[("content-type", "text/plain"), ("content-length", "2")]));
    assert!(!write(&[("transfer-encoding", "chunked")]));
    assert!(json_only(&Method::GET, &headers(&[("content-type", "text/plain")])).is_ok());
}
