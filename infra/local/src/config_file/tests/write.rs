use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::super::write::{Steps, lock, replace, target};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn refuse() -> io::Error {
    io::Error::from(io::ErrorKind::StorageFull)
}

#[test]
fn vector_16_a_failed_write_leaves_the_old_bytes_and_nothing_else() {
    let steps = Steps::default();
    for broken in [
        Steps { sync: |_| Err(refuse()), ..steps },
        Steps { rename: |_, _| Err(refuse()), ..steps },
        Steps { rename: |_, _| Err(io::ErrorKind::PermissionDenied.into()), ..steps },
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        fs::write(&file, "old").unwrap();
        replace(&file, b"new", broken).unwrap_err();
        assert_eq!(
            (fs::read_to_string(&file).unwrap(), names(folder.path())),
            ("old".into(), vec!["config.json".into()])
        );
        replace(&file, b"new", steps).unwrap();
        assert_eq!(
            (fs::read_to_string(&file).unwrap(), names(folder.path())),
            ("new".into(), vec!["config.json".into()])
        );
    }
}

#[test]
fn a_failed_write_of_a_new_file_leaves_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.json");
    replace(&file, b"new", Steps { sync: |_| Err(refuse()), ..Steps::default() }).unwrap_err();
    assert!(names(folder.path()).is_empty());
    replace(&folder.path().join("none/config.json"), b"new", Steps::default()).unwrap_err();
}

#[test]
fn a_file_that_cannot_be_replaced_is_written_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.json");
    fs::write(&file, "a longer old text").unwrap();
    let busy = Steps { rename: |_, _| Err(io::ErrorKind::ResourceBusy.into()), ..Steps::default() };
    let written = replace(&file, b"new", busy).unwrap();
    assert_eq!((fs::read_to_string(&file).unwrap(), written.len()), ("new".into(), 3));
    assert_eq!(names(folder.path()), ["config.json"]);
}

#[cfg(unix)]
#[test]
fn vector_17_the_mode_is_kept_and_a_new_file_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.json");
    let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    replace(&file, b"1", Steps::default()).unwrap();
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    replace(&file, b"2", Steps::default()).unwrap();
    assert_eq!((mode(), fs::read_to_string(&file).unwrap().as_str()), (0o640, "2"));
}

#[cfg(unix)]
#[test]
fn vector_17_a_link_is_kept_and_its_target_is_written() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("real")).unwrap();
    fs::write(at("real/config.json"), "old").unwrap();
    symlink("real/config.json", at("second")).unwrap();
    symlink(at("second"), at("first")).unwrap();
    symlink("real/none.json", at("dangling")).unwrap();
    symlink(at("loop"), at("loop")).unwrap();
    assert_eq!(target(&at("first")).unwrap(), at("real/config.json"));
    assert_eq!(target(&at("dangling")).unwrap(), at("real/none.json"));
    assert_eq!(target(&at("none")).unwrap(), at("none"));
    target(&at("loop")).unwrap_err();
    replace(&target(&at("first")).unwrap(), b"new", Steps::default()).unwrap();
    assert_eq!(fs::read_to_string(at("real/config.json")).unwrap(), "new");
    assert_eq!(fs::read_link(at("first")).unwrap(), at("second"));
    assert_eq!(names(&at("real")), ["config.json"]);
}

#[test]
fn the_lock_is_beside_the_target_and_held_until_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/config.json");
    let held = lock(&file).unwrap();
    assert_eq!(names(&folder.path().join("new")), [".config.json.lock"]);
    let second = File::options().write(true).open(folder.path().join("new/.config.json.lock")).unwrap();
    assert!(matches!(second.try_lock(), Err(fs::TryLockError::WouldBlock)));
    drop(held);
    second.try_lock().unwrap();
}
