//! `uvx` of uv 0.13. Constraints (`-c`, reference vector 99), overrides and requirements are out: such a file can give the
//! named package another source, which was measured.

use super::options::{Grammar, Kind};
use super::source::Ecosystem;
use super::{Refusal, Word, program};

const UVX: Grammar = Grammar {
    ecosystem: Ecosystem::PyPi,
    switches: &[
        "-q",
        "--quiet",
        "-v",
        "--verbose",
        "--offline",
        "-n",
        "--no-cache",
        "--refresh",
        "--reinstall",
        "-U",
        "--upgrade",
        "--isolated",
        "--no-progress",
        "--no-config",
        "--no-env-file",
        "--no-sources",
        "--no-build",
        "--compile-bytecode",
        "--system-certs",
        "--native-tls",
        "--managed-python",
        "--no-managed-python",
        "--no-python-downloads",
    ],
    values: &[
        ("--from", Kind::Source),
        ("--with", Kind::Beside),
        ("-w", Kind::Beside),
        ("--python", Kind::Python),
        ("-p", Kind::Python),
        ("--index-strategy", Kind::OneOf(&["first-index", "unsafe-first-match", "unsafe-best-match"])),
        (
            "--prerelease",
            Kind::OneOf(&["disallow", "allow", "if-necessary", "explicit", "if-necessary-or-explicit"]),
        ),
        ("--resolution", Kind::OneOf(&["highest", "lowest", "lowest-direct"])),
        ("--link-mode", Kind::OneOf(&["clone", "copy", "hardlink", "symlink"])),
        ("--color", Kind::OneOf(&["auto", "always", "never"])),
        ("--python-preference", Kind::OneOf(&["only-managed", "managed", "system", "only-system"])),
        ("--refresh-package", Kind::Plain),
        ("--reinstall-package", Kind::Plain),
        ("--upgrade-package", Kind::Plain),
        ("-P", Kind::Plain),
        ("--no-build-package", Kind::Plain),
        ("--exclude-newer", Kind::Plain),
        ("--python-platform", Kind::Plain),
        ("--torch-backend", Kind::Plain),
    ],
};

pub(super) fn judge(command: &str, words: &[Word<'_>]) -> Result<usize, Refusal> {
    let region = UVX.region(command, words)?;
    program::judge(command, Ecosystem::PyPi, &region, words)?;
    Ok(region.program_at)
}
