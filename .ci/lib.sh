# Sourced by the scripts of this folder: pinned tools in git-ignored folders of the checkout. It installs nothing outside of it
# and starts nothing.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }
complain() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# venv NAME LOCKFILE: makes .venv/NAME hold exactly what the lock file says, with hashes checked; prints the folder.
# The stamp is written last, so that an interrupted install is made again instead of being trusted.
venv() {
  local dir=$root/.venv/$1 lock=$2 wanted
  wanted=$(python3 --version && sha256sum <"$lock")
  if [[ ! -f $dir/stamp || $(<"$dir/stamp") != "$wanted" ]]; then
    complain "installing ${lock#"$root"/} into .venv/$1"
    rm -rf "$dir"
    python3 -m venv "$dir" >&2 || return 1
    "$dir/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$lock" >&2 || return 1
    printf '%s\n' "$wanted" >"$dir/stamp"
  fi
  printf '%s\n' "$dir"
}
