//! What kind of address an address is (the registries of special-purpose addresses, RFC 6890 and what came after).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A kind of address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Anybody's, on the internet.
    Public,
    /// This machine.
    Loopback,
    /// This link: `169.254/16`, `fe80::/10`.
    LinkLocal,
    /// RFC 1918.
    Private,
    /// Between a provider and its customers: `100.64/10`.
    Shared,
    /// `fc00::/7`.
    UniqueLocal,
    /// `fec0::/10`, long deprecated.
    SiteLocal,
    /// "This host" and "this network": systems take it for the machine itself.
    Unspecified,
    /// Many hosts.
    Multicast,
    /// All hosts of a link.
    Broadcast,
    /// For documentation, benchmarks, protocols, or not given to anybody.
    Reserved,
    /// Where a cloud hands credentials to whoever asks.
    Metadata,
}

use Class::{
    Broadcast, LinkLocal, Loopback, Metadata, Multicast, Private, Public, Reserved, Shared, SiteLocal,
    UniqueLocal, Unspecified,
};

/// Networks by their first address and the length of the prefix; the first that holds an address decides.
const V4: [(Ipv4Addr, u32, Class); 24] = [
    (v4(169, 254, 169, 254), 32, Metadata), // EC2, Azure, Google, OpenStack
    (v4(169, 254, 170, 2), 32, Metadata),   // ECS tasks
    (v4(169, 254, 170, 23), 32, Metadata),  // EKS pods
    (v4(100, 100, 100, 200), 32, Metadata), // Alibaba
    (v4(168, 63, 129, 16), 32, Metadata),   // Azure's wire server
    (v4(192, 0, 0, 192), 32, Metadata),     // Oracle
    (v4(0, 0, 0, 0), 8, Unspecified),
    (v4(10, 0, 0, 0), 8, Private),
    (v4(100, 64, 0, 0), 10, Shared),
    (v4(127, 0, 0, 0), 8, Loopback),
    (v4(169, 254, 0, 0), 16, LinkLocal),
    (v4(172, 16, 0, 0), 12, Private),
    (v4(192, 0, 0, 0), 24, Reserved),    // protocol assignments
    (v4(192, 0, 2, 0), 24, Reserved),    // documentation
    (v4(192, 31, 196, 0), 24, Reserved), // AS112
    (v4(192, 52, 193, 0), 24, Reserved), // AMT
    (v4(192, 88, 99, 0), 24, Reserved),  // 6to4 relays
    (v4(192, 168, 0, 0), 16, Private),
    (v4(198, 18, 0, 0), 15, Reserved),   // benchmarks
    (v4(198, 51, 100, 0), 24, Reserved), // documentation
    (v4(203, 0, 113, 0), 24, Reserved),  // documentation
    (v4(224, 0, 0, 0), 4, Multicast),
    (v4(255, 255, 255, 255), 32, Broadcast),
    (v4(240, 0, 0, 0), 4, Reserved),
];

/// The same. Only `2000::/3` is given to anybody: what is not there and not named here is reserved.
const V6: [(Ipv6Addr, u32, Class); 14] = [
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]), 128, Metadata), // EC2
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23]), 128, Metadata),  // EKS pods
    (v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254]), 128, Metadata),  // Google
    (v6([0, 0, 0, 0, 0, 0, 0, 0]), 128, Unspecified),
    (v6([0, 0, 0, 0, 0, 0, 0, 1]), 128, Loopback),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0]), 10, LinkLocal),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0]), 10, SiteLocal),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0]), 7, UniqueLocal),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0]), 8, Multicast),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0]), 32, Reserved), // documentation
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0]), 20, Reserved),     // documentation
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0]), 23, Reserved),     // protocol assignments
    (v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0]), 48, Reserved), // AS112
    (v6([0x2000, 0, 0, 0, 0, 0, 0, 0]), 3, Public),
];

/// The addresses at which a packet to `address` may end, each with its class: the IPv4 address that an IPv6 one carries
/// stands for it, and where it only may carry one (ISATAP) both count.
pub(super) fn meanings(address: IpAddr) -> impl Iterator<Item = (IpAddr, Class)> {
    let (whole, carried) = match address {
        IpAddr::V4(_) => (Some(address), None),
        IpAddr::V6(v6) => match carried(v6) {
            Some(v4) => (None, Some(v4)),
            None => (Some(address), isatap(v6)),
        },
    };
    whole.into_iter().chain(carried.map(IpAddr::V4)).map(|address| (address, class(address)))
}

fn class(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(address) => {
            let within = |net: Ipv4Addr, length| (address.to_bits() ^ net.to_bits()) >> (32 - length) == 0;
            V4.iter().find(|(net, length, _)| within(*net, *length)).map_or(Public, |(_, _, class)| *class)
        }
        IpAddr::V6(address) => {
            let within = |net: Ipv6Addr, length| (address.to_bits() ^ net.to_bits()) >> (128 - length) == 0;
            V6.iter().find(|(net, length, _)| within(*net, *length)).map_or(Reserved, |(_, _, class)| *class)
        }
    }
}

/// The IPv4 address that an address of a transition mechanism stands for.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let pair = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // Compatible (RFC 4291), mapped, translated (RFC 2765), NAT64 (RFC 6052; 64:ff9b:1::/48 of RFC 8215 at its
        // usual length), and 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0 | 0xffff, a, b]
        | [0, 0, 0, 0, 0xffff, 0, a, b]
        | [0x64, 0xff9b, 0, 0, 0, 0, a, b]
        | [0x64, 0xff9b, 1, _, _, _, a, b]
        | [0x2002, a, b, ..] => Some(pair(a, b)),
        // Teredo (RFC 4380), whose client stands there inverted.
        [0x2001, 0, _, _, _, _, a, b] => Some(pair(!a, !b)),
        _ => None,
    }
}

/// The IPv4 address in an interface identifier of ISATAP (RFC 5214), which any prefix may have.
fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [_, _, _, _, 0 | 0x200, 0x5efe, a, b] => Some(Ipv4Addr::from_bits(u32::from(a) << 16 | u32::from(b))),
        _ => None,
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, d)
}

const fn v6(segments: [u16; 8]) -> Ipv6Addr {
    Ipv6Addr::from_segments(segments)
}

impl Class {
    /// Whether an allowlist can open it: one host of some network.
    pub(super) const fn is_unicast(self) -> bool {
        !matches!(self, Unspecified | Multicast | Broadcast | Metadata)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Public => "a public address",
            Loopback => "a loopback address",
            LinkLocal => "a link-local address",
            Private => "an address of a private network",
            Shared => "an address of a provider's shared network",
            UniqueLocal => "a unique local address",
            SiteLocal => "a site-local address",
            Unspecified => "an unspecified address",
            Multicast => "a multicast address",
            Broadcast => "a broadcast address",
            Reserved => "a reserved address",
            Metadata => "a cloud's metadata address",
        })
    }
}
