use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::super::{SearchError, find};

type Env = BTreeMap<&'static str, &'static str>;

fn folder(files: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}").unwrap();
    }
    folder
}

fn found(folder: &TempDir, given: Option<&str>, env: &[(&'static str, &'static str)]) -> Option<String> {
    let env: Env = env.iter().copied().collect();
    let given = given.map(PathBuf::from);
    let found = find(given.as_deref(), &env, folder.path()).unwrap()?;
    Some(found.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned())
}

#[test]
fn the_first_place_that_says_something_wins() {
    let all =
        ["a.json", "b.json", "c.json", "root/mcp_config.json", "extensions_config.json", "mcp_config.json"];
    let folder = folder(&all);
    let ours = ("PUDU_EXTENSIONS_CONFIG_PATH", "b.json");
    let theirs = ("DEER_FLOW_EXTENSIONS_CONFIG_PATH", "c.json");
    let root = ("DEER_FLOW_PROJECT_ROOT", "root");
    for (given, env, expected) in [
        (Some("a.json"), vec![ours, theirs, root], "a.json"),
        (None, vec![ours, theirs, root], "b.json"),
        (None, vec![theirs, root], "c.json"),
        (None, vec![("PUDU_EXTENSIONS_CONFIG_PATH", ""), theirs], "c.json"),
        (None, vec![root], "root/mcp_config.json"),
        (None, vec![], "extensions_config.json"),
    ] {
        assert_eq!(found(&folder, given, &env).as_deref(), Some(expected));
    }
}

#[test]
fn vector_11_what_is_named_must_be_there_and_nothing_anywhere_is_no_error() {
    let folder = folder(&["mcp_config.json", "folder/extensions_config.json"]);
    let fails = |given: Option<&str>, env: &[(&'static str, &'static str)]| {
        let env: Env = env.iter().copied().collect();
        find(given.map(PathBuf::from).as_deref(), &env, folder.path()).unwrap_err()
    };
    for (error, named_by) in [
        (fails(Some("none.json"), &[]), "--config-file"),
        // A folder is no file.
        (fails(Some("folder"), &[]), "--config-file"),
        (fails(None, &[("PUDU_EXTENSIONS_CONFIG_PATH", "none.json")]), "PUDU_EXTENSIONS_CONFIG_PATH"),
        (
            fails(None, &[("DEER_FLOW_EXTENSIONS_CONFIG_PATH", "none.json")]),
            "DEER_FLOW_EXTENSIONS_CONFIG_PATH",
        ),
    ] {
        assert!(error.to_string().contains(named_by), "{error}");
    }
    let root = fails(None, &[("DEER_FLOW_PROJECT_ROOT", "none")]);
    assert_eq!(root, SearchError::Root { path: folder.path().join("none") });
    assert_eq!(found(&folder, None, &[]).as_deref(), Some("mcp_config.json"));
    assert_eq!(found(&tempfile::tempdir().unwrap(), None, &[]), None);
}
