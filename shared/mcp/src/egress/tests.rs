//! The rule's table of addresses. Redirects, event streams and token requests under it: `wire/tests.rs`.

use super::Class::*;
use super::*;

fn cloud(open: &str) -> Egress {
    Egress::cloud(open, Some("127.0.0.1:9001")).unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn judged(egress: &Egress, address: &str) -> Result<(), Refusal> {
    egress.address(ip(address), Some(443))
}

/// Every special-purpose network with its first and last address, and the neighbours that are public.
const TABLE: &[(&str, Class)] = &[
    ("0.0.0.0", Unspecified),
    ("0.255.255.255", Unspecified),
    ("1.0.0.0", Public),
    ("9.255.255.255", Public),
    ("10.0.0.0", Private),
    ("10.255.255.255", Private),
    ("11.0.0.0", Public),
    ("100.63.255.255", Public),
    ("100.64.0.0", Shared),
    ("100.127.255.255", Shared),
    ("100.128.0.0", Public),
    ("100.100.100.200", Metadata),
    ("126.255.255.255", Public),
    ("127.0.0.0", Loopback),
    ("127.0.0.1", Loopback),
    ("127.255.255.255", Loopback),
    ("128.0.0.0", Public),
    ("168.63.129.16", Metadata),
    ("169.253.255.255", Public),
    ("169.254.0.0", LinkLocal),
    ("169.254.169.253", LinkLocal),
    ("169.254.169.254", Metadata),
    ("169.254.170.2", Metadata),
    ("169.254.170.23", Metadata),
    ("169.254.255.255", LinkLocal),
    ("169.255.0.0", Public),
    ("172.15.255.255", Public),
    ("172.16.0.0", Private),
    ("172.31.255.255", Private),
    ("172.32.0.0", Public),
    ("192.0.0.0", Reserved),
    ("192.0.0.192", Metadata),
    ("192.0.1.0", Public),
    ("192.0.2.1", Reserved),
    ("192.31.196.1", Reserved),
    ("192.52.193.1", Reserved),
    ("192.88.99.1", Reserved),
    ("192.167.255.255", Public),
    ("192.168.0.0", Private),
    ("192.168.255.255", Private),
    ("192.169.0.0", Public),
    ("198.17.255.255", Public),
    ("198.18.0.0", Reserved),
    ("198.19.255.255", Reserved),
    ("198.20.0.0", Public),
    ("198.51.100.7", Reserved),
    ("203.0.113.7", Reserved),
    ("223.255.255.255", Public),
    ("224.0.0.1", Multicast),
    ("239.255.255.255", Multicast),
    ("240.0.0.0", Reserved),
    ("255.255.255.254", Reserved),
    ("255.255.255.255", Broadcast),
    ("::", Unspecified),
    ("::1", Loopback),
    ("100::1", Reserved),
    ("2000::1", Public),
    ("2001:1::1", Reserved),
    ("2001:db8::1", Reserved),
    ("2001:4860:4860::8888", Public),
    ("2606:4700::1111", Public),
    ("2620:4f:8000::1", Reserved),
    ("3fff::1", Reserved),
    ("3fff:fff::1", Reserved),
    ("4000::1", Reserved),
    ("5f00::1", Reserved),
    ("fbff::1", Reserved),
    ("fc00::1", UniqueLocal),
    ("fd00:ec2::253", UniqueLocal),
    ("fd00:ec2::254", Metadata),
    ("fd00:ec2::23", Metadata),
    ("fd20:ce::254", Metadata),
    ("fe80::1", LinkLocal),
    ("febf::1", LinkLocal),
    ("fec0::1", SiteLocal),
    ("feff::1", SiteLocal),
    ("ff02::1", Multicast),
];

#[test]
fn the_cloud_calls_public_addresses_and_no_others() {
    for (address, class) in TABLE {
        let expected = match class {
            Public => Ok(()),
            Metadata | Unspecified | Multicast | Broadcast => Err(Refusal::Never(*class)),
            closed => Err(Refusal::Closed(*closed)),
        };
        assert_eq!(judged(&cloud(""), address), expected, "{address}");
    }
}

#[test]
fn one_machine_calls_everything_but_metadata_addresses() {
    for (address, class) in TABLE {
        let expected = if *class == Metadata { Err(Refusal::Never(Metadata)) } else { Ok(()) };
        assert_eq!(judged(&Egress::machine(), address), expected, "{address}");
    }
}

#[test]
fn an_ipv4_address_inside_an_ipv6_one_is_judged_as_itself() {
    for (inner, class) in TABLE.iter().filter(|(address, _)| !address.contains(':')) {
        let IpAddr::V4(v4) = ip(inner) else { unreachable!() };
        let [a, b, c, d] = v4.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let forms = [
            format!("::ffff:{inner}"),
            format!("::{inner}"),
            format!("::ffff:0:{inner}"),
            format!("64:ff9b::{inner}"),
            format!("64:ff9b:1::{inner}"),
            format!("2002:{high:x}:{low:x}::1"),
            format!("2001:0:4136:e378:8000:63bf:{:x}:{:x}", !high, !low),
            format!("2606:4700::5efe:{inner}"),
            format!("2606:4700::200:5efe:{inner}"),
        ];
        for form in forms {
            if ["::", "::1"].contains(&ip(&form).to_string().as_str()) {
                continue;
            }
            assert_eq!(judged(&cloud(""), &form), judged(&cloud(""), inner), "{form} is {inner}, {class:?}");
            let machine = Egress::machine();
            assert_eq!(judged(&machine, &form), judged(&machine, inner), "{form}");
        }
    }
}

#[test]
fn an_isatap_address_counts_as_both_of_its_addresses() {
    assert_eq!(judged(&cloud(""), "fe80::5efe:8.8.8.8"), Err(Refusal::Closed(LinkLocal)));
    assert_eq!(judged(&cloud("10.0.0.0/8"), "fe80::5efe:10.0.0.1"), Err(Refusal::Closed(LinkLocal)));
}

#[test]
fn the_allowlist_opens_its_networks_and_no_others() {
    let egress = cloud("10.1.0.0/16, fd12::/16\n100.64.0.7 127.0.0.0/8");
    for open in
        ["10.1.0.1", "10.1.255.255", "::ffff:10.1.0.1", "2002:a01:1::1", "fd12::1", "100.64.0.7", "127.0.0.1"]
    {
        assert_eq!(judged(&egress, open), Ok(()), "{open}");
    }
    for closed in ["10.0.255.255", "10.2.0.0", "fd13::1", "100.64.0.8", "192.168.0.1", "::1"] {
        assert!(matches!(judged(&egress, closed), Err(Refusal::Closed(_))), "{closed}");
    }
}

#[test]
fn no_allowlist_opens_what_is_never_called() {
    let egress = cloud("0.0.0.0/0, ::/0");
    for (address, class) in TABLE {
        let never = !class.is_unicast();
        assert_eq!(judged(&egress, address).is_err(), never, "{address}");
    }
    for form in ["::ffff:169.254.169.254", "64:ff9b::169.254.170.2", "2002:a9fe:a9fe::1"] {
        assert_eq!(judged(&egress, form), Err(Refusal::Never(Metadata)), "{form}");
    }
}

#[test]
fn the_runtime_api_is_never_called_whatever_is_open() {
    let everything = Egress::cloud("0.0.0.0/0, ::/0", Some("169.254.100.1:9005")).unwrap();
    for (address, port, expected) in [
        ("127.0.0.1", Some(9001), Err(Refusal::RuntimeApi)),
        ("127.9.9.9", Some(9001), Err(Refusal::RuntimeApi)),
        ("::1", Some(9001), Err(Refusal::RuntimeApi)),
        ("::ffff:127.0.0.1", Some(9001), Err(Refusal::RuntimeApi)),
        ("169.254.100.1", Some(9005), Err(Refusal::RuntimeApi)),
        ("::ffff:169.254.100.1", Some(9005), Err(Refusal::RuntimeApi)),
        ("127.0.0.1", Some(8080), Ok(())),
        ("169.254.100.1", Some(80), Ok(())),
        ("169.254.100.2", Some(9005), Ok(())),
        // What a name stands for is judged before its port is known.
        ("127.0.0.1", None, Err(Refusal::RuntimeApi)),
        ("169.254.100.1", None, Err(Refusal::RuntimeApi)),
        ("8.8.8.8", None, Ok(())),
    ] {
        assert_eq!(everything.address(ip(address), port), expected, "{address} {port:?}");
    }
    assert!(Egress::cloud("", Some("localhost:9001")).is_ok());
}

/// All that a URL can write for one address comes to the same judgement.
#[test]
fn odd_spellings_of_an_address_are_that_address() {
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "0x7f.0.0.0x1",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "127。0。0。1",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:7f00:1]",
        "[::ffff:127.0.0.1]",
        "user:pass@127.0.0.1",
        "127.0.0.1:8080",
        "[::1]:8080",
    ] {
        for scheme in ["http", "https"] {
            let url = Url::parse(&format!("{scheme}://{host}/mcp")).unwrap();
            assert_eq!(cloud("").url(&url), Err(Refusal::Closed(Loopback)), "{url}");
            assert_eq!(Egress::machine().url(&url), Ok(()), "{url}");
        }
    }
    for host in ["169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:a9fe:a9fe]"] {
        let url = Url::parse(&format!("http://{host}/latest/meta-data")).unwrap();
        for egress in [Egress::machine(), cloud("0.0.0.0/0")] {
            assert_eq!(egress.url(&url), Err(Refusal::Never(Metadata)), "{url}");
        }
    }
}

#[test]
fn only_http_and_https_are_called() {
    for url in ["ftp://example.com/", "file:///etc/passwd", "gopher://x/", "ws://x/", "data:,x", "unix:/x"] {
        let url = Url::parse(url).unwrap();
        assert_eq!(Egress::machine().url(&url), Err(Refusal::Scheme), "{url}");
    }
    for url in ["http://example.com/", "https://8.8.8.8/", "https://[2606:4700::1111]:8443/"] {
        assert_eq!(cloud("").url(&Url::parse(url).unwrap()), Ok(()), "{url}");
    }
}

#[test]
fn settings_that_cannot_be_read_are_named() {
    for bad in ["10.0.0.0/33", "10.0.0", "private", "fd00::/129", "10.0.0.0/8;11.0.0.0/8"] {
        assert_eq!(Egress::cloud(bad, None), Err(EgressError::Network(bad.to_owned())));
    }
    assert_eq!(Egress::cloud("", Some("api")), Err(EgressError::RuntimeApi("api".to_owned())));
}

#[test]
fn a_refusal_names_the_kind_of_address_only() {
    let said = judged(&cloud(""), "10.11.12.13").unwrap_err().to_string();
    assert!(
        said.contains("private network") && said.contains("allowlist") && !said.contains("10."),
        "{said}"
    );
}
