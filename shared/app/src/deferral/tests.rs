use pudu_config::{Mode, Routing};

use super::*;

const SEARCH: ToolSearch = ToolSearch { enabled: true, auto_promote_top_k: 3 };

fn function(name: &str, description: &str) -> Function {
    Function::new(name, description, None)
}

fn plain(name: &str) -> (Function, Routed) {
    (function(name, ""), Routed { name: name.to_owned(), routing: Routing::default() })
}

fn routed(name: &str, priority: u8, keywords: &[&str]) -> (Function, Routed) {
    let keywords = keywords.iter().map(|keyword| (*keyword).to_owned()).collect();
    let routing = Routing { mode: Mode::Prefer, priority, keywords };
    (function(name, ""), Routed { name: name.to_owned(), routing })
}

fn deferred(tools: impl IntoIterator<Item = (Function, Routed)>) -> Deferred {
    Deferred::new(SEARCH, tools).unwrap()
}

fn said(origin: Origin, text: &str) -> Message<'_> {
    Message { origin, text, original: None }
}

fn visible(of: &Visible<'_>) -> Vec<String> {
    of.functions().map(|function| function.name.clone()).collect()
}

fn found(query: &str, functions: &[Function]) -> Vec<String> {
    Query::parse(query).find(functions).into_iter().map(|function| function.name.clone()).collect()
}

#[test]
fn vector_28_the_grammar_of_queries() {
    let mut tools: Vec<Function> = (1..=8).map(|n| function(&format!("tool_{n}"), "adds numbers")).collect();
    tools.push(function("calc", "gives sum(a, b) of two"));
    let all = "select:tool_8,tool_7, tool_6 ,tool_5,tool_4,tool_3,tool_2,tool_1,gone,";
    assert_eq!(found(all, &tools), (1..=8).map(|n| format!("tool_{n}")).collect::<Vec<_>>(), "all, in order");
    assert_eq!(found("+tool_", &tools), ["tool_1", "tool_2", "tool_3", "tool_4", "tool_5"]);
    assert_eq!(found("+TOOL_7", &tools), ["tool_7"]);
    assert_eq!(found("sum(", &tools), ["calc"], "no expression is taken as it is written");
    for nothing in ["+", "+ tool", "", "  \n", "select:", "select:calc2"] {
        assert_eq!(found(nothing, &tools), Vec::<String>::new(), "{nothing:?}");
    }
}

#[test]
fn hits_in_names_come_before_hits_in_descriptions() {
    let tools = [
        function("a", "sends mail"),
        function("b", "nothing"),
        function("mail_read", ""),
        function("c", "MAIL, mail"),
        function("mail_send", ""),
    ];
    assert_eq!(found("mail", &tools), ["mail_read", "mail_send", "a", "c"]);
    assert_eq!(found("^mail|nothing$", &tools), ["mail_read", "mail_send", "b", "c"]);
}

#[test]
fn of_a_named_search_those_with_most_hits_come_first() {
    let tools = [
        function("git_a", "one issue"),
        function("git_b", "an issue about an issue and an issue"),
        function("other", "issue issue issue issue"),
        function("git_c", "nothing"),
    ];
    assert_eq!(found("+git issue", &tools), ["git_b", "git_a", "git_c"]);
    assert_eq!(found("+git  iss(ue", &tools), ["git_a", "git_b", "git_c"], "a literal without hits");
}

/// Expressions that take other engines for ever, or much memory, or match everywhere.
#[test]
fn no_query_takes_long() {
    let long = "a".repeat(100_000);
    let tools: Vec<Function> = (0..200).map(|n| function(&format!("t{n}"), &long)).collect();
    for query in [
        "(a+)+$b",
        "(a|a)*b",
        "a{1000}{1000}{1000}",
        r"(\w{50}){50}!",
        "+t .*",
        "+t (a|aa|aaa)*",
        "+t ",
        &"(".repeat(10_000),
        &"a?".repeat(5_000),
    ] {
        found(query, &tools);
    }
    assert_eq!(found("x*", &tools).len(), MOST_RANKED);
}

/// What a query reads of all tools together is bounded, and names come before descriptions.
#[test]
fn a_very_long_list_is_searched_by_its_names_to_the_end() {
    let filler = "x".repeat(2_000);
    let mut tools: Vec<Function> = (0..1_000).map(|n| function(&format!("t{n}"), &filler)).collect();
    tools.insert(1, function("early", "zebra"));
    tools.push(function("late", "zebra"));
    tools.push(function("zebra_late", ""));
    assert_eq!(found("zebra", &tools), ["zebra_late", "early"]);
    assert_eq!(found("+late zebra", &tools), ["late", "zebra_late"], "few are read to the end");
}

#[test]
fn a_search_promotes_what_it_shows() {
    let deferred = deferred([plain("a_tool"), plain("b")]);
    let found = deferred.search("select:a_tool");
    let shown: Value = serde_json::from_str(&found.text).unwrap();
    assert_eq!(
        shown,
        json!([{"name": "a_tool", "description": "", "parameters": {"type": "object", "properties": {}}}])
    );
    let promotion = found.promotion.unwrap();
    assert_eq!(
        (&promotion.catalog_hash, promotion.names.as_slice()),
        (deferred.hash(), &["a_tool".to_owned()][..])
    );
    let nothing = deferred.search("zebra");
    assert!(nothing.text.contains("No deferred tool fits") && nothing.promotion.is_none());
}

#[test]
fn vector_29_a_promotion_of_other_tools_shows_nothing() {
    let old = deferred([plain("a"), plain("b")]);
    let kept = old.search("select:a").promotion.unwrap();
    let now = old.promoted(SEARCH, Some(&kept), std::iter::empty());
    assert_eq!(visible(&now), ["a"]);
    assert_eq!(now.admit("a"), Ok(()));
    assert_eq!(now.admit("elsewhere"), Ok(()), "what is not deferred is not of our concern");

    let new = deferred([plain("a"), plain("b"), plain("c")]);
    let now = new.promoted(SEARCH, Some(&kept), std::iter::empty());
    assert_eq!(visible(&now), Vec::<String>::new());
    let refused = now.admit("a").unwrap_err().to_string();
    assert!(refused.contains("tool_search") && refused.contains("select:a"), "{refused}");
}

#[test]
fn promotions_of_the_same_tools_are_united_in_order_and_others_are_replaced() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let of =
        |hash: &str, of: &[&str]| Promotion { catalog_hash: CatalogHash(hash.to_owned()), names: names(of) };
    assert_eq!(of("1", &["b", "a"]).merged(of("1", &["c", "a", "d"])), of("1", &["b", "a", "c", "d"]));
    assert_eq!(of("1", &["b"]).merged(of("2", &["c"])), of("2", &["c"]));
    let stored = json!({"catalog_hash": "1", "names": ["b"]});
    assert_eq!(serde_json::to_value(of("1", &["b"])).unwrap(), stored);
}

#[test]
fn the_hash_is_of_names_and_schemas_whatever_their_order() {
    let (a, b) = (function("a", "d"), function("b", "d"));
    let hash = CatalogHash::of(&[a.clone(), b.clone()]);
    assert_eq!(hash.as_str().len(), 16);
    assert!(hash.as_str().bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(hash, CatalogHash::of(&[b.clone(), a.clone()]));
    let schema = json!({"type": "object", "required": ["x"]});
    for other in [function("c", "d"), function("a", "e"), Function::new("a", "d", Some(&schema))] {
        assert_ne!(hash, CatalogHash::of(&[other, b.clone()]));
    }
}

#[test]
fn vector_31_only_what_the_user_wrote_last_promotes() {
    let deferred = deferred([routed("db", 1, &["sql"])]);
    let promoted = |messages: &[Message<'_>]| {
        deferred.promoted(SEARCH, None, messages.iter().copied()).promotion.map(|promotion| promotion.names)
    };
    let (user, other) = (said(Origin::User, "run some SQL"), said(Origin::User, "thanks"));
    assert_eq!(promoted(&[user]), Some(vec!["db".to_owned()]));
    assert_eq!(promoted(&[user, other]), None, "an older message");
    for origin in [Origin::Summary, Origin::Hidden, Origin::Other] {
        assert_eq!(promoted(&[other, said(origin, "sql")]), None, "{origin:?}");
        assert_eq!(
            promoted(&[user, said(origin, "nothing")]),
            Some(vec!["db".to_owned()]),
            "{origin:?} is skipped"
        );
    }
    let decorated =
        Message { origin: Origin::User, text: "thanks. <context>sql</context>", original: Some("thanks") };
    assert_eq!(promoted(&[decorated]), None, "the user's own words count");
    assert_eq!(promoted(&[]), None);
}

#[test]
fn the_most_important_are_promoted_and_no_more_than_wanted() {
    let tools = [
        routed("b", 50, &["report"]),
        routed("a", 50, &["REPORT"]),
        routed("top", 90, &["other", "port"]),
        routed("blank", 99, &["", " "]),
        routed("unfit", 99, &["zebra"]),
        (
            function("off", ""),
            Routed {
                name: "off".into(),
                routing: Routing { mode: Mode::Off, ..routed("", 99, &["report"]).1.routing },
            },
        ),
    ];
    let deferred = deferred(tools);
    for (top, expected) in [(1, vec!["top"]), (2, vec!["top", "a"]), (3, vec!["top", "a", "b"])] {
        let search = ToolSearch { enabled: true, auto_promote_top_k: top };
        let message = said(Origin::User, "a Report, please");
        let now = deferred.promoted(search, None, [message].into_iter());
        assert_eq!(now.promotion.as_ref().unwrap().names, expected);
        assert_eq!(visible(&now).len(), expected.len(), "they are visible in this very call");
    }
}

#[test]
fn keywords_fit_without_case_in_every_script() {
    let deferred = deferred([routed("t", 1, &["STRASSE", "ÜBER"])]);
    for text in ["in der Straße", "über", "Überall"] {
        let now = deferred.promoted(SEARCH, None, [said(Origin::User, text)].into_iter());
        assert!(now.promotion.is_some(), "{text}");
    }
}

#[test]
fn nothing_is_deferred_without_the_switch_or_without_tools() {
    assert!(Deferred::new(ToolSearch::default(), [plain("a")]).is_none());
    assert!(Deferred::new(SEARCH, []).is_none());
}

#[test]
fn the_block_lists_every_name_sorted_and_escaped() {
    assert_eq!(
        deferred([plain("b"), plain("a<c>")]).block(),
        "<available-deferred-tools>\na&lt;c&gt;\nb\n</available-deferred-tools>"
    );
}
