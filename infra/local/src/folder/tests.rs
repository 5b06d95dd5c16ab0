//! The run file and the remembered port.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::{DataFolder, RunFile};

fn folder() -> (TempDir, DataFolder) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = DataFolder::new(temporary.path());
    (temporary, folder)
}

fn run(key: &str) -> RunFile {
    RunFile { pid: 7, address: ([127, 0, 0, 1], 8080).into(), key: key.to_owned() }
}

#[test]
fn the_run_file_is_private_and_goes_with_its_process() {
    let (temporary, folder) = folder();
    assert_eq!(folder.announced(), None);
    let announced = folder.announce(&run("k")).unwrap();
    assert_eq!(folder.announced(), Some(run("k")));
    let mode = fs::metadata(temporary.path().join("pudu.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(announced);
    assert_eq!(folder.announced(), None);
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn what_a_killed_process_left_is_replaced() {
    let (temporary, folder) = folder();
    std::mem::forget(folder.announce(&run("old")).unwrap());
    let half = temporary.path().join("pudu.new");
    fs::write(&half, "{").unwrap();
    fs::set_permissions(&half, fs::Permissions::from_mode(0o644)).unwrap();
    let _announced = folder.announce(&run("new")).unwrap();
    assert_eq!(folder.announced(), Some(run("new")));
    let mode = fs::metadata(temporary.path().join("pudu.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_run_file_that_is_not_ours_says_nothing() {
    let (temporary, folder) = folder();
    for text in ["", "{", "null", r#"{"address":"nowhere"}"#] {
        fs::write(temporary.path().join("pudu.json"), text).unwrap();
        assert_eq!(folder.announced(), None, "{text}");
    }
}

#[test]
fn the_key_of_a_run_file_is_not_printed() {
    assert!(!format!("{:?}", run("s3cret")).contains("s3cret"));
}

#[test]
fn the_example_port_is_remembered_and_nonsense_is_not() {
    let (temporary, folder) = folder();
    assert_eq!(folder.example_port(), None);
    folder.remember_example_port(9001).unwrap();
    folder.remember_example_port(9002).unwrap();
    assert_eq!(folder.example_port(), Some(9002));
    for text in ["0", "x", "65536", ""] {
        fs::write(temporary.path().join("example-port"), text).unwrap();
        assert_eq!(folder.example_port(), None, "{text}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let (temporary, _) = folder();
    let gone = DataFolder::new(temporary.path().join("gone"));
    let error = gone.remember_example_port(1).unwrap_err().to_string();
    assert!(error.contains("gone/example-port"), "{error}");
}

#[test]
fn the_admin_key_is_private_and_reads_back() {
    let (temporary, folder) = folder();
    assert!(folder.admin_key().unwrap().is_none());
    let key = pudu_domain::ApiKey::new([7; 40]);
    folder.keep_admin_key(&key).unwrap();
    let mode = fs::metadata(temporary.path().join("admin.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(folder.admin_key().unwrap().unwrap().expose(), key.expose());
    fs::write(temporary.path().join("admin.key"), "pudu_half").unwrap();
    let error = folder.admin_key().unwrap_err().to_string();
    assert!(error.contains("admin.key") && !error.contains("pudu_half"), "{error}");
}
