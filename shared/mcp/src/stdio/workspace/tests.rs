use std::os::unix::fs::symlink;

use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A thread's folder with `temp/a.png` and `shot.png` in the workspace, `o.pdf` in the outputs, and secrets beside it.
struct Tree {
    base: TempDir,
    files: Files,
}

const A: &str = "/mnt/user-data/workspace/temp/a.png";

fn tree() -> Tree {
    let base = tempfile::tempdir().expect("a folder");
    let root = base.path().join("user-data");
    let workspace = root.join("workspace");
    for folder in ["workspace/temp", "workspace/.mcp/tmp", "outputs"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    for file in ["workspace/temp/a.png", "workspace/shot.png", "workspace/p%20q.png", "outputs/o.pdf"] {
        fs::write(root.join(file), "x").expect("a file");
    }
    fs::write(base.path().join("secret.txt"), "s").expect("a file");
    let before = walk(&workspace, MAX_ENTRIES);
    let folders = Folders { root, workspace: workspace.clone(), temporary: None };
    Tree { base, files: Files { folders, cwd: workspace, before } }
}

impl Tree {
    fn text(&self, text: &str) -> String {
        let result = self.files.translate(json!({"content": [{"type": "text", "text": text}]}));
        result["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    fn path(&self, inside: &str) -> String {
        self.files.folders.root.join(inside).to_str().expect("text").to_owned()
    }

    fn write(&self, inside: &str) {
        let path = self.files.folders.root.join(inside);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, "made by the call").expect("a file");
    }
}

#[test]
fn vector_43_a_path_in_a_text_is_shown_as_its_reader_knows_it() {
    assert_eq!(tree().text("Saved as temp/a.png."), format!("Saved as {A}."));
}

#[test]
fn every_measured_example_is_met_on_real_files() {
    let tree = tree();
    let absolute = tree.path("workspace/temp/a.png");
    let cases = [
        ("[x](./temp/a.png)".to_owned(), format!("[x]({A})")),
        ("../outputs/o.pdf".to_owned(), "/mnt/user-data/outputs/o.pdf".to_owned()),
        ("path=temp/a.png".to_owned(), format!("path={A}")),
        (format!("{absolute}?x=1"), format!("{A}?x=1")),
        (format!("file://{absolute}"), A.to_owned()),
        (
            format!("file://{}", tree.path("workspace/p%2520q.png")),
            "/mnt/user-data/workspace/p%20q.png".to_owned(),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(tree.text(&text), expected);
    }
    for text in [
        "../../secret.txt",
        "https://h/temp/a.png",
        "temp/a.png:12",
        "~/temp/a.png",
        "temp\\a.png",
        "a\\shot.png",
        "слитноtemp/a.png",
        "shot.png",
        "temp/",
        "./temp",
    ] {
        assert_eq!(tree.text(text), text);
    }
}

#[test]
fn vector_44_what_lies_outside_or_is_missing_stays() {
    let tree = tree();
    let secret = tree.base.path().join("secret.txt");
    symlink(&secret, tree.path("workspace/inner")).expect("a link");
    symlink(tree.path("workspace/temp/a.png"), tree.path("workspace/good")).expect("a link");
    for text in ["./inner", "../../secret.txt", "https://h/x", "./missing.png"] {
        assert_eq!(tree.text(text), text);
    }
    let outside = format!("see {}", secret.display());
    assert_eq!(tree.text(&outside), outside);
    assert_eq!(tree.text("./good"), A, "a link inside shows what it points to");
}

#[test]
fn vector_45_a_bare_name_counts_if_this_call_made_exactly_one_such_file() {
    let tree = tree();
    tree.write("workspace/deep/page.yml");
    let page = "/mnt/user-data/workspace/deep/page.yml";
    assert_eq!(tree.text("wrote page.yml"), format!("wrote {page}"));
    assert_eq!(tree.text("page.yml.bak, Page.yml"), "page.yml.bak, Page.yml");
    assert_eq!(tree.text("shot.png"), "shot.png", "this call did not touch it");
    tree.write("workspace/other/page.yml");
    assert_eq!(tree.text("wrote page.yml"), "wrote page.yml");
}

#[test]
fn a_bare_name_of_a_file_that_was_changed_counts() {
    let tree = tree();
    tree.write("workspace/shot.png");
    assert_eq!(tree.text("`shot.png`"), "`/mnt/user-data/workspace/shot.png`");
}

#[test]
fn temporary_files_are_no_results_but_can_be_pointed_at() {
    let tree = tree();
    tree.write("workspace/.mcp/tmp/part.bin");
    assert_eq!(tree.text("part.bin"), "part.bin");
    assert_eq!(tree.text(".mcp/tmp/part.bin"), "/mnt/user-data/workspace/.mcp/tmp/part.bin");
}

#[test]
fn vector_46_references_that_no_system_takes_stay() {
    let tree = tree();
    for text in [format!("OR/ICU{}", "x".repeat(400)), "//[::1/foo".to_owned(), "/a\0/b".to_owned()] {
        assert_eq!(tree.text(&text), text);
    }
}

#[test]
fn links_and_embedded_texts_are_translated_and_all_else_passes() {
    let tree = tree();
    let absolute = tree.path("workspace/temp/a.png");
    let result = json!({
        "content": [
            {"type": "resource_link", "uri": format!("file://{absolute}"), "name": "temp/a.png"},
            {"type": "resource_link", "uri": "https://h/temp/a.png"},
            {"type": "resource", "resource": {"uri": "temp/a.png", "text": "see temp/a.png", "x": 1}},
            {"type": "resource", "resource": {"uri": "temp/a.png", "blob": "dGVtcC9hLnBuZw=="}},
            {"type": "image", "data": "temp/a.png", "mimeType": "image/png"},
            {"type": "hologram", "text": "temp/a.png"},
            {"type": "text", "text": 7},
            "temp/a.png",
        ],
        "structuredContent": {"path": "temp/a.png"},
        "isError": true,
        "path": "temp/a.png",
    });
    let mut expected = result.clone();
    expected["content"][0]["uri"] = json!(A);
    expected["content"][2]["resource"]["uri"] = json!(A);
    expected["content"][2]["resource"]["text"] = json!(format!("see {A}"));
    expected["content"][3]["resource"]["uri"] = json!(A);
    assert_eq!(tree.files.translate(result), expected);
    for odd in [json!({}), json!({"content": "temp/a.png"}), json!(null)] {
        assert_eq!(tree.files.translate(odd.clone()), odd);
    }
}

#[test]
fn relative_paths_are_those_of_the_folder_that_the_server_works_in() {
    let mut tree = tree();
    tree.files.cwd = tree.files.folders.root.join("outputs");
    assert_eq!(tree.text("./o.pdf temp/a.png"), "/mnt/user-data/outputs/o.pdf temp/a.png");
}

#[test]
fn past_the_bounds_nothing_is_translated_and_nothing_fails() {
    let tree = tree();
    assert!(walk(&tree.files.folders.workspace, 5).is_some(), "temp, a.png, shot.png, p%20q.png, .mcp");
    assert!(walk(&tree.files.folders.workspace, 4).is_none());
    assert_eq!(walk(&tree.base.path().join("missing"), 4), Some(Seen::new()));

    let many: String = (0..=MAX_LOOKUPS).fold(String::new(), |text, n| text + &format!("x/{n} "));
    assert_eq!(tree.text(&format!("{many}temp/a.png")), format!("{many}temp/a.png"));
    let long = format!("temp/a.png {}", "x".repeat(MAX_TEXT));
    assert_eq!(tree.text(&long), long);
}

#[test]
fn without_a_look_before_bare_names_do_not_count() {
    let mut tree = tree();
    tree.files.before = None;
    tree.write("workspace/page.yml");
    assert_eq!(tree.text("page.yml temp/a.png"), format!("page.yml {A}"));
}
