use super::*;

fn of(lines: &[&str]) -> Option<Vec<String>> {
    let lines = lines.iter().map(|line| (IF_MATCH, line.parse().unwrap()));
    tags(&lines.collect(), &IF_MATCH, |_| None)
}

#[test]
fn tags_are_read_from_every_line_and_without_their_quotes() {
    assert_eq!(of(&[]), None);
    assert_eq!(of(&["*"]), None);
    assert_eq!(of(&[" \"a\" "]), Some(vec!["a".into()]));
    assert_eq!(of(&["\"a\", b", "\"c\""]), Some(vec!["a".into(), "b".into(), "c".into()]));
}

#[test]
fn what_is_no_strong_tag_lets_nobody_write() {
    for line in ["W/\"a\"", "", "\"", "\"a", "*, \"a\"", "é"] {
        let read = of(&[line]).expect(line);
        assert!(!read.is_empty() || line.starts_with("W/"), "{line}");
        assert_eq!(read.contains(&"a".to_owned()), line == "*, \"a\"", "{line}: {read:?}");
    }
}

#[test]
fn a_weak_tag_is_enough_for_who_has_it_already() {
    let headers: HeaderMap = [(IF_NONE_MATCH, "W/\"a\"".parse().unwrap())].into_iter().collect();
    let read = IfNoneMatch(tags(&headers, &IF_NONE_MATCH, |weak| weak.strip_prefix("W/")));
    assert!(read.has("a") && !read.has("b"));
}
