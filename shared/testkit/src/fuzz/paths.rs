//! Paths in what a tool wrote: whatever text.

use std::ops::Range;

/// `data` is the text. What `find` takes for paths lies in order in it, and `replace` touches nothing else: a lookup that
/// knows no path, or calls each by its own name, leaves the text as it is; and it is asked about paths only.
pub fn paths(
    data: &[u8],
    find: impl Fn(&str) -> Vec<Range<usize>>,
    replace: impl Fn(&str, &mut dyn FnMut(&str) -> Option<String>) -> String,
) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let found = find(text);
    let mut outside = String::new();
    let mut done = 0;
    for range in &found {
        assert!(range.start >= done && range.end > range.start, "{found:?} overlap or are out of order");
        assert!(text.get(range.clone()).is_some_and(|token| token.contains('/')), "{range:?} is no path");
        outside.push_str(text.get(done..range.start).expect("the text between two paths"));
        outside.push('!');
        done = range.end;
    }
    outside.push_str(text.get(done..).expect("the text behind the last path"));

    assert_eq!(replace(text, &mut |_| None), text, "nobody knew a path, and the text changed");
    assert_eq!(replace(text, &mut |path| Some(path.to_owned())), text);
    assert_eq!(replace(text, &mut |_| Some("!".to_owned())), outside, "something beside the paths changed");
    replace(text, &mut |asked| {
        let is_one = found.iter().any(|range| text.get(range.clone()) == Some(asked));
        assert!(is_one, "asked about {asked:?}, which is no path of the text");
        None
    });
}
