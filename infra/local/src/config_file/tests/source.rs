use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use pudu_app::ports::{ConfigError, ConfigSource};
use pudu_config::Document;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use super::super::FileSource;
use super::super::signature::{read, read_with};
use super::super::write::{Steps, lock};

const NAME: &str = "extensions_config.json";

fn with_servers(names: &[&str]) -> Value {
    let entry = |name: &&str| {
        ((*name).to_owned(), json!({"type": "http", "url": "http://h/mcp", "headers": {"A": "$GH"}}))
    };
    json!({"skills": {"s": {"enabled": false}}, "mcpServers": names.iter().map(entry).collect::<serde_json::Map<_, _>>(), "own": [1]})
}

fn file(content: &Value) -> (TempDir, FileSource) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    fs::write(&path, content.to_string()).unwrap();
    (folder, FileSource::new(path))
}

async fn names(source: &FileSource) -> Vec<String> {
    source.load().await.unwrap().document.servers().iter().map(|server| server.name.clone()).collect()
}

fn at(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

#[tokio::test]
async fn vector_13_other_bytes_are_another_config_also_with_an_older_time() {
    let (_folder, source) = file(&with_servers(&["a"]));
    at(source.path(), 2_000_000_000);
    let first = source.version().await.unwrap();
    assert_eq!(source.version().await.unwrap(), first, "untouched");
    fs::write(source.path(), with_servers(&["b"]).to_string()).unwrap();
    at(source.path(), 1_000_000_000);
    assert_ne!(source.version().await.unwrap(), first);
    assert_eq!(names(&source).await, ["b"]);
    // The same time and size, other bytes.
    let second = source.version().await.unwrap();
    fs::write(source.path(), with_servers(&["c"]).to_string()).unwrap();
    at(source.path(), 1_000_000_000);
    assert_ne!(source.version().await.unwrap(), second);
    assert_eq!(names(&source).await, ["c"]);
}

#[cfg(unix)]
#[tokio::test]
async fn vector_13_a_link_that_is_switched_to_an_older_file_is_another_config() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let (old, new, link) = (folder.path().join("old"), folder.path().join("new"), folder.path().join(NAME));
    fs::write(&old, with_servers(&["old"]).to_string()).unwrap();
    fs::write(&new, with_servers(&["new"]).to_string()).unwrap();
    at(&old, 1_000_000_000);
    symlink(&new, &link).unwrap();
    let source = FileSource::new(&link);
    assert_eq!(names(&source).await, ["new"]);
    fs::remove_file(&link).unwrap();
    symlink(&old, &link).unwrap();
    assert_eq!(names(&source).await, ["old"]);
}

#[tokio::test]
async fn vector_13_what_was_good_stays_in_force_when_the_file_is_gone_or_broken() {
    let (_folder, source) = file(&with_servers(&["a"]));
    let good = source.version().await.unwrap();
    for broken in ["", "{", "[]", r#"{"mcpServers": {"x": {"enabled": "maybe"}}}"#] {
        fs::write(source.path(), broken).unwrap();
        assert_eq!((source.version().await.unwrap(), names(&source).await), (good.clone(), vec!["a".into()]));
    }
    fs::remove_file(source.path()).unwrap();
    assert_eq!((source.version().await.unwrap(), names(&source).await), (good.clone(), vec!["a".into()]));
    fs::write(source.path(), with_servers(&["b"]).to_string()).unwrap();
    assert_eq!(names(&source).await, ["b"]);
    assert_ne!(source.version().await.unwrap(), good);
}

#[tokio::test]
async fn a_file_that_never_was_good_is_an_error_without_its_values() {
    let folder = tempfile::tempdir().unwrap();
    let source = FileSource::new(folder.path().join(NAME));
    assert!(matches!(source.load().await.unwrap_err(), ConfigError::File { act: "read", .. }));
    fs::write(source.path(), r#"{"mcpServers": {"x": {"headers": {"A": "CANARY\n"}}}}"#).unwrap();
    let error = source.load().await.unwrap_err().to_string();
    assert!(error.contains("mcpServers.x.headers.A") && !error.contains("CANARY"), "{error}");
    fs::write(source.path(), "{\"a\": CANARY}").unwrap();
    let error = source.version().await.unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains(NAME) && !error.contains("CANARY"), "{error}");
}

#[test]
fn vector_14_what_changes_while_it_is_read_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    fs::write(&path, "old").unwrap();
    let mut readings = 0;
    let (signature, bytes) = read_with(&path, |path| {
        readings += 1;
        let bytes = fs::read(path)?;
        if readings == 1 {
            fs::write(path, "newer")?;
        }
        Ok(bytes)
    })
    .unwrap();
    assert_eq!((readings, bytes.as_slice()), (2, &b"newer"[..]));
    assert_eq!(signature, read(&path).unwrap().0);
    let always = read_with(&path, |path| {
        let bytes = fs::read(path)?;
        fs::write(path, [&bytes[..], b"x"].concat())?;
        Ok(bytes)
    });
    assert_eq!(always.unwrap_err().kind(), io::ErrorKind::Other);
}

#[tokio::test]
async fn vector_19_a_write_changes_what_was_meant_and_keeps_everything_else() {
    let (folder, source) = file(&with_servers(&["a"]));
    let loaded = source.load().await.unwrap();
    let mut raw = loaded.document.expose_raw().clone();
    raw["skills"]["s"]["enabled"] = json!(true);
    let document = Document::parse(raw.clone()).unwrap();
    let version = source.replace(&loaded.version, &document, None).await.unwrap().unwrap();
    let text = fs::read_to_string(source.path()).unwrap();
    assert_eq!(text, format!("{raw:#}\n"));
    assert!(text.contains("\"$GH\"") && text.find("skills") < text.find("mcpServers"));
    assert_eq!(source.version().await.unwrap(), version, "its own write is no news");
    let beside: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(beside.len(), 2, "the file and its lock: {beside:?}");
}

#[tokio::test]
async fn a_write_over_what_somebody_edited_meanwhile_is_not_made() {
    let (_folder, source) = file(&with_servers(&["a"]));
    let read = source.version().await.unwrap();
    let document = Document::parse(with_servers(&["mine"])).unwrap();
    fs::write(source.path(), with_servers(&["theirs"]).to_string()).unwrap();
    assert_eq!(source.replace(&read, &document, None).await.unwrap(), None);
    assert_eq!(names(&source).await, ["theirs"]);
    fs::write(source.path(), "{ half an edit").unwrap();
    let now = source.version().await.unwrap();
    assert!(matches!(source.replace(&now, &document, None).await.unwrap_err(), ConfigError::Invalid { .. }));
    assert_eq!(fs::read_to_string(source.path()).unwrap(), "{ half an edit", "nobody's work is lost");
    fs::remove_file(source.path()).unwrap();
    assert!(
        source.replace(&now, &document, None).await.unwrap().is_some(),
        "a file that is gone is made again"
    );
    assert_eq!(names(&source).await, ["mine"]);
}

#[tokio::test]
async fn two_processes_write_one_after_the_other_and_one_of_them_merges_again() {
    let (_folder, first) = file(&with_servers(&["a"]));
    let second = FileSource::new(first.path());
    let (seen, also_seen) = (first.version().await.unwrap(), second.version().await.unwrap());
    let document = |name: &str| Document::parse(with_servers(&[name])).unwrap();
    let (one, two) = (document("one"), document("two"));
    let (one, two) = tokio::join!(first.replace(&seen, &one, None), second.replace(&also_seen, &two, None));
    let written = [one.unwrap(), two.unwrap()].into_iter().flatten().count();
    assert_eq!(written, 1, "the other one is told to read again");
}

#[tokio::test]
async fn a_lock_that_another_process_keeps_holds_up_writers_and_no_reader() {
    let (_folder, source) = file(&with_servers(&["a"]));
    let version = source.version().await.unwrap();
    let held = lock(source.path()).unwrap();
    let document = Document::parse(with_servers(&["b"])).unwrap();
    let reading = async {
        // Often enough that the writer has come to the lock long before the last one.
        for _ in 0..200 {
            let read = timeout(Duration::from_secs(20), source.version()).await;
            assert_eq!(read.expect("a reader waits for the lock").unwrap(), version);
        }
        drop(held);
    };
    let (written, ()) = tokio::join!(source.replace(&version, &document, None), reading);
    assert!(written.unwrap().is_some());
    assert_eq!(names(&source).await, ["b"]);
}

#[tokio::test]
async fn a_write_that_fails_is_an_error_and_the_old_config_stays() {
    let (_folder, healthy) = file(&with_servers(&["a"]));
    let steps = Steps { rename: |_, _| Err(io::ErrorKind::StorageFull.into()), ..Steps::default() };
    let source = FileSource::with_steps(healthy.path(), steps);
    let version = source.version().await.unwrap();
    let document = Document::parse(with_servers(&["b"])).unwrap();
    let error = source.replace(&version, &document, None).await.unwrap_err();
    assert!(matches!(error, ConfigError::File { act: "written", .. }));
    assert_eq!((source.version().await.unwrap(), names(&source).await), (version, vec!["a".into()]));
}
