//! Tool names: whatever servers and tools are called.

use std::collections::{BTreeMap, BTreeSet};

use pudu_config::{MAX_VISIBLE_NAME, Names, Owners, ToolRef};

/// `data` is lines `+server tool` (prefixed) or `-server tool`. Every tool has a name that every provider takes, no two have
/// the same, each leads back to its tool, and the order in which servers answer changes nothing.
pub fn names(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // A server has one prefix setting: the first line that names it decides.
    let mut prefixes: BTreeMap<&str, bool> = BTreeMap::new();
    let mut tools = BTreeSet::new();
    for line in text.lines() {
        let (prefix, rest) = match (line.strip_prefix('+'), line.strip_prefix('-')) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => continue,
        };
        let (server, raw) = rest.split_once(' ').unwrap_or((rest, ""));
        let prefix = *prefixes.entry(server).or_insert(prefix);
        tools.insert(ToolRef { server, raw, prefix });
    }
    let owners = Owners::of(prefixes.iter().filter(|(_, prefix)| **prefix).map(|(server, _)| *server));
    let names = Names::assign(tools.iter().copied(), &owners);
    assert_eq!(names, Names::assign(tools.iter().rev().copied(), &owners), "the order of tools matters");

    let mut back = BTreeMap::new();
    for tool in &tools {
        let name = names.visible(tool.server, tool.raw).expect("every tool has a name");
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(!name.is_empty() && name.len() <= MAX_VISIBLE_NAME && name.chars().all(legal), "{name:?}");
        if let Some(other) = back.insert(name, tool) {
            panic!("{name} is the name of {tool:?} and of {other:?}");
        }
        // A name that was left as it is belongs to its server, and to nobody whom it looks like.
        let plain = if tool.prefix { format!("{}_{}", tool.server, tool.raw) } else { tool.raw.to_owned() };
        if name == plain {
            assert!(owners.owner(name).is_none_or(|owner| owner == tool.server), "{tool:?} took {name}");
        }
    }
}
