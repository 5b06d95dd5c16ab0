use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Names with the owners that the tools' own servers are.
fn assigned<'a>(tools: impl IntoIterator<Item = ToolRef<'a>>) -> Names {
    let tools: Vec<_> = tools.into_iter().collect();
    let owners = Owners::of(tools.iter().filter(|tool| tool.prefix).map(|tool| tool.server));
    Names::assign(tools, &owners)
}

/// The name of a tool that is alone in the world.
fn visible_name(server: &str, raw: &str, prefix: bool) -> String {
    assigned([ToolRef { server, raw, prefix }]).visible(server, raw).unwrap().to_owned()
}

/// Which tool a visible name leads back to.
fn source<'n>(names: &'n Names, visible: &str) -> Option<(&'n str, &'n str)> {
    names.source.get(visible).map(|(server, raw)| (server.as_str(), raw.as_str()))
}

fn tool<'a>(server: &'a str, raw: &'a str) -> ToolRef<'a> {
    ToolRef { server, raw, prefix: true }
}

#[test]
fn vector_20_the_source_is_kept_and_not_inferred() {
    let names = assigned([tool("web", "page"), tool("web_scraper", "search")]);
    assert_eq!(names.visible("web_scraper", "search"), Some("web_scraper_search"));
    assert_eq!(source(&names, "web_scraper_search"), Some(("web_scraper", "search")));
}

#[test]
fn vector_21_without_prefix_the_raw_name_is_visible() {
    assert_eq!(visible_name("github", "github_search", false), "github_search");
    assert_eq!(visible_name("github", "github_search", true), "github_github_search");
}

#[test]
fn vector_22_illegal_names_are_replaced_and_not_dropped() {
    let tools = [tool("srv", "ok"), tool("srv", "bad name"), tool("srv", "x\n<tag>")];
    let names = assigned(tools);
    assert_eq!(names.visible("srv", "ok"), Some("srv_ok"));
    for raw in ["bad name", "x\n<tag>"] {
        let name = names.visible("srv", raw).unwrap();
        assert!(legal(name), "{name}");
        assert_eq!(name, visible_name("srv", raw, true));
        assert_eq!(source(&names, name), Some(("srv", raw)));
    }
    assert!(names.visible("srv", "bad name").unwrap().starts_with("srv_bad_name_"));
}

#[test]
fn a_name_belongs_to_the_server_that_it_begins_with() {
    let names = assigned([tool("a", "b_c"), tool("a_b", "c"), tool("a", "d")]);
    assert_eq!(names.visible("a_b", "c"), Some("a_b_c"));
    assert!(names.visible("a", "b_c").unwrap().starts_with("a_b_c_"));
    assert_eq!(names.visible("a", "d"), Some("a_d"));
}

/// Also while its owner shows no tools: else whoever answers first would get calls that are meant for somebody else.
#[test]
fn no_server_takes_a_name_while_its_owner_is_away() {
    let evil = ToolRef { server: "evil", raw: "bank_pay", prefix: false };
    let names = Names::assign([evil], &Owners::of(["bank"]));
    let name = names.visible("evil", "bank_pay").unwrap();
    assert!(name.starts_with("bank_pay_") && name != "bank_pay", "{name}");
    assert_eq!(source(&names, "bank_pay"), None);
}

#[test]
fn servers_without_prefix_that_meet_are_told_apart() {
    let bare = |server| ToolRef { server, raw: "search", prefix: false };
    let names = assigned([bare("a"), bare("b")]);
    let (left, right) = (names.visible("a", "search").unwrap(), names.visible("b", "search").unwrap());
    assert!(left != right && left.starts_with("search_") && right.starts_with("search_"));
}

/// Among its own names a tool may be called like another one's changed name: then that one is changed further.
#[test]
fn a_tool_cannot_take_the_hashed_name_of_another() {
    let hashed = visible_name("a", "b c", true);
    let raw = hashed.strip_prefix("a_").unwrap();
    let names = assigned([tool("a", "b c"), tool("a", raw)]);
    assert_eq!(names.visible("a", raw), Some(hashed.as_str()));
    assert_ne!(names.visible("a", "b c"), Some(hashed.as_str()));
    assert_eq!(source(&names, &hashed), Some(("a", raw)));
}

/// A changed name among other servers' names is too long to be met on purpose, and nobody is plainly called so.
#[test]
fn no_server_plants_the_changed_name_of_another() {
    let bare = |raw| ToolRef { server: "evil", raw, prefix: false };
    let owners = Owners::of(["bank"]);
    let alone = Names::assign([bare("bank_pay")], &owners);
    let changed = alone.visible("evil", "bank_pay").unwrap();
    assert_eq!(changed.len(), "bank_pay_".len() + LONG_HASH);
    let raw = changed.strip_prefix("bank_").unwrap();
    let both = Names::assign([bare("bank_pay"), tool("bank", raw)], &owners);
    assert_eq!(both.visible("evil", "bank_pay"), Some(changed));
    assert_ne!(both.visible("bank", raw), Some(changed));
    // A date or a short code is no hash.
    for plain in ["report_20261130", "look_up_deadbeef", "x_0123456789abcde", "x_0123456789abcdefg"] {
        assert_eq!(visible_name("s", plain, true), format!("s_{plain}"));
    }
}

#[test]
fn whose_a_name_may_be_is_known_from_the_config_alone() {
    assert!(may_be_of("my server", true, "my_server_x") && !may_be_of("my server", true, "my_serve"));
    assert!(
        may_be_of("a", true, "a_b_c") && may_be_of("a_b", true, "a_b_c") && may_be_of("any", false, "a_b_c")
    );
    let long = "s".repeat(100);
    assert!(may_be_of(&long, true, &visible_name(&long, "t", true)));
}

#[test]
fn sixty_four_characters_stay_and_sixty_five_are_cut() {
    let fits = "x".repeat(62);
    assert_eq!(visible_name("s", &fits, true), format!("s_{fits}"));
    let cut = visible_name("s", &"x".repeat(63), true);
    assert_eq!(cut.len(), MAX_VISIBLE_NAME);
    assert_ne!(cut, visible_name("s", &"x".repeat(64), true));
}

proptest! {
    #[test]
    fn always_legal_unique_stable_and_unchanged_where_possible(
        // A small alphabet, so that names meet often.
        mut tools in vec((r"[ab_]{1,3}|[ é.]{0,2}", r"[ab_]{0,3}|[a ]{60,70}|\PC{0,5}", any::<bool>()), 0..20),
        swap in any::<prop::sample::Index>(),
    ) {
        // Prefixing is a server's property.
        for (server, _, prefix) in &mut tools {
            *prefix = server.len() % 2 == 0;
        }
        let refs = |tools: &[(String, String, bool)]| {
            let refs = tools.iter().map(|(server, raw, prefix)| ToolRef { server, raw, prefix: *prefix });
            assigned(refs)
        };
        let names = refs(&tools);
        let mut seen = BTreeSet::new();
        let distinct: BTreeSet<_> = tools.iter().cloned().collect();
        for (server, raw, prefix) in &distinct {
            let name = names.visible(server, raw).unwrap();
            prop_assert!(legal(name), "{}", name);
            prop_assert!(seen.insert(name.to_owned()), "{} twice", name);
            prop_assert_eq!(source(&names, name), Some((server.as_str(), raw.as_str())));
            let plain = wanted(ToolRef { server, raw, prefix: *prefix });
            let claims = distinct.iter().filter(|(server, raw, prefix)| {
                wanted(ToolRef { server, raw, prefix: *prefix }) == plain
            });
            let owners = Owners::of(tools.iter().filter(|tool| tool.2).map(|tool| tool.0.as_str()));
            match owners.owner(&plain) {
                Some(owner) if owner != server => prop_assert_ne!(name, plain),
                _ if legal(&plain) && claims.count() == 1 => prop_assert_eq!(name, plain),
                _ => {}
            }
        }
        if !tools.is_empty() {
            let at = swap.index(tools.len());
            tools.rotate_left(at);
        }
        prop_assert_eq!(refs(&tools), names);
    }

    /// The names of a prefixed server depend on its own tools alone: on no other server's, whether it answers or not.
    #[test]
    fn names_do_not_depend_on_who_answers(
        tools in vec((r"[ab_]{1,3}|[ é.]{0,2}|s{50,70}", r"[ab_]{0,3}|[a ]{60,70}|[ab_]{1,2}_[0-9a-f]{16}|\PC{0,5}"), 0..20),
        away in any::<prop::sample::Index>(),
    ) {
        let is_prefixed = |server: &str| !server.len().is_multiple_of(3);
        let refs = |keep: &dyn Fn(&str) -> bool| -> Vec<ToolRef<'_>> {
            let kept = tools.iter().filter(|(server, _)| keep(server));
            kept.map(|(server, raw)| ToolRef { server, raw, prefix: is_prefixed(server) }).collect()
        };
        let owners = Owners::of(tools.iter().map(|tool| tool.0.as_str()).filter(|server| is_prefixed(server)));
        let all = Names::assign(refs(&|_| true), &owners);
        prop_assume!(!tools.is_empty());
        let gone = &tools[away.index(tools.len())].0;
        let some = Names::assign(refs(&|server| server != gone), &owners);
        for (server, raw) in tools.iter().filter(|(server, _)| server != gone) {
            let name = all.visible(server, raw).unwrap();
            prop_assert!(may_be_of(server, is_prefixed(server), name), "{} of {}", name, server);
            if is_prefixed(server) {
                prop_assert_eq!(some.visible(server, raw), Some(name));
            }
        }
    }
}
