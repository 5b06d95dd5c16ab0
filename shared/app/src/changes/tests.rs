use super::*;

#[test]
fn a_mark_holds_until_its_server_changes() {
    let changes = ListChanges::default();
    let (a, b) = (changes.mark("a"), changes.mark("b"));
    changes.clone().changed("a");
    assert_ne!(changes.mark("a"), a);
    assert_eq!(changes.mark("b"), b, "another server's list is as fresh as before");
    let again = changes.mark("a");
    assert_eq!(changes.mark("a"), again);
    changes.changed("a");
    assert_ne!(changes.mark("a"), again);
}

/// However many servers there are, no change is missed and no mark comes back.
#[test]
fn forgetting_servers_voids_all_marks_and_revives_none() {
    let changes = ListChanges::default();
    changes.changed("first");
    let before = [changes.mark("first"), changes.mark("quiet")];
    for number in 0..MAX_SERVERS {
        changes.changed(&number.to_string());
    }
    for (digest, mark) in ["first", "quiet"].into_iter().zip(before) {
        assert_ne!(changes.mark(digest), mark, "{digest}");
    }
}
