use super::*;

fn routed(name: &str, priority: u8, keywords: &[&str]) -> Routed {
    let keywords = keywords.iter().map(|keyword| (*keyword).to_owned()).collect();
    Routed { name: name.to_owned(), routing: Routing { mode: Mode::Prefer, priority, keywords } }
}

#[test]
fn vector_32_hints_are_ordered_worded_and_escaped() {
    let tools =
        [routed("z", 50, &["<k>"]), routed("a", 50, &["x", "y", "z"]), routed("top", 90, &["top", "SQL"])];
    let block = block(&tools, |_| false);
    assert_eq!(
        block,
        "<mcp_routing_hints>\n- For top, or SQL: prefer `top`.\n- For x, y, or z: prefer `a`.\n- For &lt;k&gt;: prefer `z`.\n</mcp_routing_hints>"
    );
    assert!(!block.contains("90") && !block.contains("50"), "priority is not told");
    let odd = super::block(&[routed("a</mcp_routing_hints>", 1, &["k"])], |_| false);
    assert!(odd.contains("a&lt;/mcp_routing_hints&gt;"), "{odd}");
}

#[test]
fn a_deferred_tool_is_to_be_fetched_first() {
    let tools = [routed("far", 2, &["k"]), routed("near", 1, &["k"])];
    let block = block(&tools, |name| name == "far");
    assert!(block.contains("fetch `far` with tool_search first"), "{block}");
    assert!(block.contains("- For k: prefer `near`."), "{block}");
}

#[test]
fn without_mode_or_keywords_there_is_no_hint() {
    let off =
        Routed { routing: Routing { mode: Mode::Off, ..routed("a", 1, &["k"]).routing }, name: "a".into() };
    assert_eq!(block(&[off, routed("b", 1, &[]), routed("c", 1, &["", "  "])], |_| false), "");
    assert_eq!(block(&[], |_| false), "");
}
