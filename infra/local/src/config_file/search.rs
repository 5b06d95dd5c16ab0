//! Which file is the config: the one that is named, or the one that lies where it is expected (reference 1.11).
//!
//! The reference looks beside its own installation after that, for installs older than the rule; Pudu has none.

use std::path::{Path, PathBuf};

use pudu_lambda::env::Source;

/// What the file is called in the project's folder; the first that is there.
pub const FILE_NAMES: [&str; 2] = ["extensions_config.json", "mcp_config.json"];
/// What names the file: ours, then that of existing installs.
const FILE_VARIABLES: [&str; 2] = ["PUDU_EXTENSIONS_CONFIG_PATH", "DEER_FLOW_EXTENSIONS_CONFIG_PATH"];
/// What names the project's folder.
const ROOT_VARIABLE: &str = "DEER_FLOW_PROJECT_ROOT";
const OPTION: &str = "--config-file";

/// What was named is not there. Nothing else is used in its place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The file.
    #[error("the config file {} that {named_by} names is not there: create it, or name another", path.display())]
    File {
        /// Who named it.
        named_by: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The project's folder.
    #[error("the folder {} that {ROOT_VARIABLE} names is not there: correct or unset it", path.display())]
    Root {
        /// The folder.
        path: PathBuf,
    },
}

/// The config file: `given` by its option, else named by the environment, else in the project's folder, which is `here`
/// unless the environment names it. None when there is none: then the config is in the table.
pub fn find(given: Option<&Path>, env: &dyn Source, here: &Path) -> Result<Option<PathBuf>, SearchError> {
    let by_option = given.map(|path| (OPTION, path.to_owned()));
    let by_variable =
        || FILE_VARIABLES.into_iter().find_map(|name| env.get(name).map(|path| (name, PathBuf::from(path))));
    if let Some((named_by, path)) = by_option.or_else(by_variable) {
        let path = here.join(path);
        return if path.is_file() { Ok(Some(path)) } else { Err(SearchError::File { named_by, path }) };
    }
    let root = match env.get(ROOT_VARIABLE) {
        Some(root) => {
            let path = here.join(root);
            if !path.is_dir() {
                return Err(SearchError::Root { path });
            }
            path
        }
        None => here.to_owned(),
    };
    Ok(FILE_NAMES.iter().map(|name| root.join(name)).find(|path| path.is_file()))
}
