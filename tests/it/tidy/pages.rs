//! What a source file may look like.

use super::{none, root, sources};

/// Most lines of a file; what a reader holds in the head is about 400.
const LINES: usize = 450;
/// Most lines of a function's main.
const MAIN_LINES: usize = 60;

#[test]
fn ai_7_a_function_is_a_library_and_a_thin_main() {
    let mut findings = Vec::new();
    for entry in std::fs::read_dir(root().join("functions")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if !folder.join("src/lib.rs").exists() {
            findings.push(format!("functions/{name} has no library"));
        }
        match std::fs::read_to_string(folder.join("src/main.rs")) {
            Ok(main) if main.lines().count() > MAIN_LINES => {
                findings.push(format!("functions/{name}/src/main.rs has {} lines", main.lines().count()));
            }
            Ok(_) => {}
            Err(error) => findings.push(format!("functions/{name}/src/main.rs: {error}")),
        }
    }
    none(&findings);
}

#[test]
fn ai_8_no_file_is_long() {
    let long = sources().into_iter().map(|source| (source.text.lines().count(), source.path));
    let findings: Vec<String> = long
        .filter(|(lines, _)| *lines > LINES)
        .map(|(lines, path)| format!("{path} has {lines} lines"))
        .collect();
    none(&findings);
}

#[test]
fn ai_9_a_shared_lib_is_a_table_of_contents() {
    let libs =
        sources().into_iter().filter(|s| s.path.starts_with("shared/") && s.path.ends_with("/src/lib.rs"));
    let findings: Vec<String> = libs
        .flat_map(|source| {
            let code = code_in_contents(&source.text);
            code.into_iter().map(|line| format!("{}: {line}", source.path)).collect::<Vec<_>>()
        })
        .collect();
    none(&findings);
}

/// Lines that are neither documentation, nor an attribute, nor a module, nor a use.
fn code_in_contents(text: &str) -> Vec<String> {
    let mut inside_use = false;
    let mut code = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let begins_use = line.starts_with("pub use ") || line.starts_with("use ");
        let contents = line.starts_with("//")
            || line.starts_with('#')
            || (line.ends_with(';') && (line.starts_with("mod ") || line.starts_with("pub mod ")));
        if !(inside_use || begins_use || contents) {
            code.push(line.to_owned());
        }
        inside_use = (inside_use || begins_use) && !line.ends_with(';');
    }
    code
}

#[test]
fn code_is_told_from_contents() {
    let contents =
        "//! A crate.\n\npub mod a;\nmod b;\n\npub use a::{\n    X, Y,\n};\n#[cfg(test)]\nmod tests;\n";
    assert_eq!(code_in_contents(contents), Vec::<String>::new());
    assert_eq!(code_in_contents("mod a;\nfn f() {}\n"), ["fn f() {}"]);
    assert_eq!(code_in_contents("mod a {\n}\n"), ["mod a {", "}"]);
}
