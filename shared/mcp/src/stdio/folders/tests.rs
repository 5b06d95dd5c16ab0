use pudu_domain::{ThreadId, UserId};

use super::*;

fn thread(user: &str, thread: &str) -> ThreadKey {
    ThreadKey {
        user: UserId::parse(user).expect("a user"),
        thread: ThreadId::parse(thread).expect("a thread"),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it exists").permissions().mode() & 0o777
}

#[test]
fn vector_38_the_folder_for_temporary_files_is_for_its_owner_only() {
    let base = tempfile::tempdir().expect("a folder");
    let folders = Folders::prepare(base.path(), &thread("local:a/b", "t-1"), true).expect("folders");
    let root = base.path().join("users/local%3Aa%2Fb/threads/t-1/user-data");
    let temporary = root.join("workspace/.mcp/tmp");
    assert_eq!(folders.root, root);
    assert_eq!(folders.temporary.as_ref(), Some(&temporary));
    assert_eq!(mode(&temporary), 0o700);
    for folder in ["workspace", "uploads", "outputs"] {
        assert!(root.join(folder).is_dir(), "{folder}");
    }
    fs::set_permissions(&temporary, Permissions::from_mode(0o755)).expect("rights");
    let again = Folders::prepare(base.path(), &thread("local:a/b", "t-1"), true).expect("folders");
    assert_eq!((again, mode(&temporary)), (folders, 0o700));
}

#[test]
fn no_name_leaves_its_folder() {
    assert_eq!(name("."), "%2E");
    assert_eq!(name(".."), "%2E.");
    assert_eq!(name("%2E"), "%252E");
    assert_eq!(name("a.b"), "a.b");
    assert_eq!(name("../x"), "%2E.%2Fx");
}

#[test]
fn what_stands_in_the_way_is_an_error_only_where_it_must_be() {
    let base = tempfile::tempdir().expect("a folder");
    let elsewhere = tempfile::tempdir().expect("a folder");
    fs::set_permissions(elsewhere.path(), Permissions::from_mode(0o755)).expect("rights");
    let key = thread("local:u", "t");
    let folders = Folders::prepare(base.path(), &key, true).expect("folders");
    fs::remove_dir_all(folders.workspace.join(".mcp")).expect("removed");
    std::os::unix::fs::symlink(elsewhere.path(), folders.workspace.join(".mcp")).expect("a link");

    let lenient = Folders::prepare(base.path(), &key, false).expect("folders");
    assert_eq!(lenient.temporary, None);
    let strict = Folders::prepare(base.path(), &key, true).expect_err("strict");
    assert!(strict.to_string().contains("'workspace/.mcp/tmp'"), "{strict}");
    assert_eq!(mode(elsewhere.path()), 0o755, "nothing behind the link was touched");
    assert_eq!(fs::read_dir(elsewhere.path()).expect("a folder").count(), 0);
}
