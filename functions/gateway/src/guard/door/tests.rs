use super::*;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs.iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect()
}

fn passes(pairs: &[(&'static str, &'static str)]) -> bool {
    loopback(&Uri::from_static("/x"), &headers(pairs)).is_ok()
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
fn a_second_header_does_not_pass_behind_a_good_one() {
    let both = |name: &'static str, values: [&'static str; 2]| {
        let mut all = headers(&[("host", "localhost")]);
        all.remove(name);
        for value in values {
            all.append(name, value.parse().unwrap());
        }
        loopback(&Uri::from_static("/x"), &all).is_ok()
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
