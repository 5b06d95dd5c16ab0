//! What the policy says, beside the reference (`vectors`), real launchers (`corpus`) and public servers (`servers`).

mod corpus;
mod property;
mod servers;
mod vectors;

use super::*;

/// Whether a line is accepted by the policy of an operator who added the commands `more`.
pub(super) fn with(more: &str, command: &str, args: &[&str], env: &[&str]) -> Result<Approved, Refusal> {
    LaunchPolicy::parse(more).unwrap().judge(Some(command), args, env)
}

pub(super) fn npx(args: &[&str]) -> Result<Approved, Refusal> {
    with("", "npx", args, &[])
}

pub(super) fn uvx(args: &[&str]) -> Result<Approved, Refusal> {
    with("", "uvx", args, &[])
}

/// The flag that a refusal names.
pub(super) fn flag(verdict: Result<Approved, Refusal>) -> String {
    match verdict.unwrap_err().why {
        Why::RunsCode { flag, .. } | Why::Option { flag, .. } => flag,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refusal_names_the_flag_and_never_a_value() {
    let lines: [(&str, &[&str], &[&str]); 9] = [
        ("npx", &["--call=CANARY"], &[]),
        ("npx", &["-cCANARY"], &[]),
        ("npx", &["-p", "/CANARY", "x"], &[]),
        ("npx", &["/CANARY"], &[]),
        ("uvx", &["--index-url", "https://u:CANARY@h/simple", "x"], &[]),
        ("uvx", &["-iCANARY", "x"], &[]),
        ("python", &["-cCANARY"], &[]),
        ("CANARY /x", &[], &[]),
        ("npx", &["-y", "x"], &["A=CANARY"]),
    ];
    for (command, args, env) in lines {
        let refusal = with("python", command, args, env).unwrap_err();
        assert!(!format!("{refusal} {refusal:?}").contains("CANARY"), "{refusal:?}");
    }
    let told = npx(&["--node-options=--require=/x", "pkg"]).unwrap_err().to_string();
    assert!(told.contains("'--node-options'") && told.contains("'npx'") && told.contains("arbitrary code"));
}

#[test]
fn a_variable_stands_only_where_it_cannot_change_what_runs() {
    assert!(npx(&["-y", "server", "--key", "$KEY"]).is_ok());
    assert!(uvx(&["--from", "server-mcp", "server", "$KEY"]).is_ok());
    for args in [&["$FLAG", "server"][..], &["-y", "$PACKAGE"], &["-p", "$PACKAGE", "x"], &["-p", "x", "$X"]]
    {
        assert!(matches!(npx(args).unwrap_err().why, Why::Variable { .. }), "{args:?}");
    }
    assert!(with("python", "python", &["$SCRIPT"], &[]).is_err());
    assert!(with("python", "python", &["server.py", "$KEY"], &[]).is_ok());
    // Two dollars are a literal one, in both readings no option.
    assert!(npx(&["$$c", "x"]).is_err());
}

#[test]
fn the_allowlist_only_grows_and_takes_names_only() {
    assert_eq!(LaunchPolicy::parse(" , "), Ok(LaunchPolicy::default()));
    let told = LaunchPolicy::parse("").unwrap().judge(Some("docker"), &["run"], &[]).unwrap_err().to_string();
    assert!(told.contains("'docker'") && told.contains("npx, uvx") && told.contains(SETTING), "{told}");
    assert!(with(" docker ,python", "docker", &["run", "-i", "image"], &[]).is_ok());
    assert!(with("docker", "npx", &["-y", "server"], &[]).is_ok());
    // Exactly, with case, but its rules without.
    assert!(with("docker", "Docker", &[], &[]).is_err());
    assert!(with("NPX", "NPX", &["-c", "x"], &[]).is_err());
    assert!(with("npx.cmd", "npx.cmd", &["-yc", "x"], &[]).is_err());
    for wrong in ["/bin/sh", "a b", "npx -y", "a;b", "-x", "$X"] {
        assert_eq!(LaunchPolicy::parse(wrong), Err(NotAName), "{wrong}");
    }
}

#[test]
fn without_a_package_nothing_is_started() {
    for args in [&[][..], &["-y"], &["--"], &["-y", "--"], &["-p", "pkg"], &["--package=pkg", "--"]] {
        assert!(matches!(npx(args).unwrap_err().why, Why::NoPackage { .. }), "{args:?}");
    }
    assert!(matches!(uvx(&["--from", "pkg"]).unwrap_err().why, Why::NoPackage { .. }));
}

#[test]
fn programs_of_the_machine_are_no_command_of_a_package() {
    for program in ["sh", "bash", "env", "npx", "BASH", "bash.exe", "perl5.36", "uv", "docker"] {
        assert!(npx(&["-p", "server", program, "-c", "x"]).is_err(), "{program}");
        assert!(uvx(&["--from", "server", program, "-c", "x"]).is_err(), "{program}");
        assert!(npx(&["-y", program, "-c", "x"]).is_err(), "{program}");
        assert!(uvx(&[program, "-c", "x"]).is_err(), "{program}");
    }
    assert!(
        npx(&["-p", "cross-env-mcp", "env", "sh"]).is_err(),
        "a word in common does not help a known program"
    );
    assert!(matches!(npx(&["-p", "server", "localprogram", "x"]).unwrap_err().why, Why::Unrelated { .. }));
    let apart =
        uvx(&["--from", "git+https://github.com/owner/tides", "git-shell", "-c", "x"]).unwrap_err().why;
    assert!(matches!(apart, Why::Unrelated { .. }), "the words of a host are no name: {apart:?}");
    assert!(npx(&["-p", "server", "localprogram"]).is_ok() && uvx(&["--from", "server", "main.py"]).is_err());
    for (package, command) in [
        ("@scope/report-server", "report"),
        ("mcp-alpha", "alpha_mcp"),
        ("git+https://github.com/owner/tides.git", "tides"),
        ("owner-tools", "anything-mcp"),
        ("awslabs.eks-mcp-server@latest", "awslabs.eks-mcp-server.exe"),
    ] {
        let judged = if package.starts_with('@') {
            npx(&["-p", package, command, "serve"])
        } else {
            uvx(&["--from", package, command, "serve"])
        };
        assert!(judged.is_ok(), "{package} {command}: {judged:?}");
    }
}

#[test]
fn an_interpreter_that_a_launcher_starts_runs_a_module_and_nothing_else() {
    assert_eq!(flag(uvx(&["python", "-Ic", "x"])), "-c");
    assert_eq!(flag(uvx(&["python@3.12", "-c", "x"])), "-c");
    assert_eq!(flag(uvx(&["--from", "server", "python3.12", "-W", "ignore", "-c", "x"])), "-c");
    assert_eq!(flag(uvx(&["--from", "server", "python", "-m", "timeit", "x"])), "-m");
    assert!(uvx(&["--from", "server", "python", "-m", "server", "-c", "x"]).is_ok());
    assert!(matches!(uvx(&["python"]).unwrap_err().why, Why::Input { .. }));
    assert!(matches!(uvx(&["python", "/srv/server.py"]).unwrap_err().why, Why::Program { .. }));
    for args in [
        &["-y", "node", "-e", "x"][..],
        &["-y", "tsx@4", "/srv/server.ts"],
        &["-p", "server", "node", "server.js"],
    ] {
        assert!(matches!(npx(args).unwrap_err().why, Why::Program { .. }), "{args:?}");
    }
}

#[test]
fn npm_packages_are_named_and_never_a_place_on_this_machine() {
    for good in [
        "pkg",
        "Pkg",
        "@s/p",
        "@s/p@1.0.0",
        "pkg@latest",
        "pkg@^1.2",
        "github:owner/repo",
        "owner/repo#v1",
        "git+https://github.com/o/r.git#main",
        "https://github.com/o/r/archive/main.tar.gz",
    ] {
        assert!(npx(&["-y", good]).is_ok(), "{good}");
        assert!(npx(&["-y", "-p", good, "an-mcp"]).is_ok(), "{good}");
    }
    for bad in [
        "",
        ".",
        "./x",
        "../x",
        "/x",
        "~/x",
        "a/b/c",
        "@s",
        "@s/",
        "@/p",
        "@s/p/q",
        "file:x",
        "FILE:x",
        "pkg@file:x",
        "pkg@./x",
        "pkg@.",
        "pkg@x.tgz",
        "x.tgz",
        "npm:x",
        "pkg@npm:x",
        "git+ssh://git@h.x/r",
        "git://h.x/a/r",
        "http://h.x/r.tgz",
        "https://u:p@h.x/a/r",
        "https://127.0.0.1/a/r",
        "https://localhost/a/r",
        "https://h/a/r",
        "https://h.x:8443/a/r",
        "https://h.x/a/r?x",
        "C:x",
        " pkg",
        "pkg ",
        "-pkg",
        "$(x)",
        "`x`",
        "a;b",
        "a b",
        "pkg@1 || x",
        "git+file:///x",
        "pkg@",
        "pkg\n-c",
    ] {
        assert!(npx(&["-y", bad]).is_err(), "{bad}");
        assert!(npx(&["-y", &format!("--package={bad}"), "an-mcp"]).is_err(), "{bad}");
    }
}

#[test]
fn python_packages_are_named_and_never_a_place_on_this_machine() {
    for good in [
        "pkg",
        "pkg@1.0",
        "pkg@latest",
        "pkg==1.0",
        "pkg>=1,<2",
        "pkg[a,b]",
        "pkg[a]>=1",
        "p.k_g",
        "git+https://github.com/o/r",
        "git+https://github.com/o/r.git@v1#subdirectory=a/b",
        "pkg @ git+https://github.com/o/r",
    ] {
        assert!(uvx(&["--from", good, "an-mcp"]).is_ok(), "{good}");
    }
    for bad in [
        "",
        ".",
        "./x",
        "/x",
        "~/x",
        "x/y",
        "x.whl",
        "x.py",
        "pkg@./x",
        "pkg@/x",
        "pkg@x.whl",
        "file:x",
        "pkg @ file:///x",
        "git+ssh://git@h.x/r",
        "git+http://h.x/o/r",
        "git+https://h.x/o/r#subdirectory=../x",
        "pkg; x",
        "pkg[",
        "[a]",
        "pkg@",
        "pkg==",
        "-pkg",
        "pkg,other",
        "a b",
        "git+file:///x",
        "C:x",
    ] {
        assert!(uvx(&["--from", bad, "an-mcp"]).is_err(), "{bad}");
        assert!(uvx(&[bad]).is_err(), "{bad}");
    }
}

#[test]
fn a_version_of_python_is_no_program() {
    for (version, fits) in [
        ("3", true),
        ("3.12", true),
        ("3.13t", true),
        ("python3.12", true),
        ("cpython@3.12", true),
        ("pypy", true),
        (">=3.10,<3.13", true),
        ("==3.12.*", true),
        ("/usr/bin/python", false),
        ("evil", false),
        ("python-evil", false),
        ("3.12/x", false),
        ("", false),
        (".venv", false),
    ] {
        assert_eq!(uvx(&["-p", version, "pkg"]).is_ok(), fits, "{version}");
    }
}

#[test]
fn where_packages_come_from_is_not_the_callers_choice() {
    for index in ["https://packages.example/simple", "http://packages.example", "/srv/links"] {
        for flag in ["--index", "--default-index", "--index-url", "-i", "--extra-index-url", "--find-links"] {
            assert!(uvx(&[flag, index, "pkg"]).is_err(), "{flag} {index}");
        }
        assert!(npx(&["--registry", index, "pkg"]).is_err(), "{index}");
        assert!(npx(&[&format!("--registry={index}"), "pkg"]).is_err(), "{index}");
    }
}

#[test]
fn environment_names_are_judged_without_case_and_by_their_shape() {
    let judge = |name: &str| with("", "npx", &["-y", "server"], &[name]);
    for good in [
        "API_KEY",
        "GITHUB_TOKEN",
        "PYTHONUNBUFFERED",
        "PYTHON_API",
        "UV_LINK_MODE",
        "ProgramFiles(x86)",
        "GIT_TOKEN",
        "HOMEPAGE",
        "LD_API_KEY",
        "NODE_ENV",
        "NODE_EXTRA_CA_CERTS",
        "HTTPS_PROXY",
        "a.b-c",
    ] {
        assert!(judge(good).is_ok(), "{good}");
    }
    for bad in [
        "PYTHONWARNINGS",
        "pythonuserbase",
        "PYTHON_PRESITE",
        "UV_PYTHON",
        "uv_index_url",
        "UV_SOMETHING_NEW",
        "PIP_INDEX_URL",
        "HOME",
        "PATH",
        "Path",
        "GIT_SSH_COMMAND",
        "GIT_CONFIG_COUNT",
        "BASH_FUNC_ls%%",
        "BASH_FUNC_ls",
        "DYLD_FRAMEWORK_PATH",
        " NODE_OPTIONS ",
        "",
        " ",
        "A=B",
        "NODE_OPTIONS=x",
        "A\0B",
        "A B",
        "Ä",
    ] {
        assert!(judge(bad).is_err(), "{bad}");
    }
}
