#!/usr/bin/env bash
# Set-up for one purpose (demo, test, check, bench, docs): quick when nothing changed, and it says what it could not do.
set -euo pipefail
cd "$(dirname "$0")/.."
purpose=${1:-test}

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_install() {
  command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@" >/dev/null 2>&1
}

install_package() {
  can_install || return 1
  say "installing $1 …"
  apt install -y --no-install-recommends "$1" || { apt update && apt install -y --no-install-recommends "$1"; }
}

# debian PACKAGE COMMAND WITHOUT: have COMMAND here, or say what will not work WITHOUT it
debian() {
  command -v "$2" >/dev/null || install_package "$1" || true
  command -v "$2" >/dev/null || say "missing: $2 (Debian package $1); $3"
}

system_packages() {
  debian git git "nothing works without it"
  debian bubblewrap bwrap "the sandbox is Landlock instead, and tests of the bubblewrap level fail"
  case $purpose in
    test) debian chromium chromium "the tests that look at the report in a browser fail" ;;
    bench) debian strace strace "syncs cannot be counted" ;;
  esac
}

a_python() {
  for name in python3.13 python3.12 python3.11 python3 python; do
    if "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  die "trued needs Python 3.11 or later on the PATH"
}

# environment FOLDER: an empty virtual environment, and uv in reach
environment() {
  local python
  python=$(a_python)
  if command -v uv >/dev/null; then
    [ -x "$1/bin/python" ] || uv venv --quiet --python "$(command -v "$python")" "$1"
    return
  fi
  if [ ! -x "$1/bin/python" ]; then
    "$python" -m venv "$1" >/dev/null 2>&1 || { install_package python3-venv && "$python" -m venv --clear "$1"; } ||
      die "cannot make a virtual environment: install Debian's python3-venv, or uv"
  fi
  "$1/bin/python" -m pip install --quiet --require-hashes -r requirements/uv.txt
  PATH="$PWD/$1/bin:$PATH"
}

# installed FOLDER LOCK EXTRA…: FOLDER holds exactly what the lock says; a stamp remembers it
installed() {
  local folder=$1 lock=$2 want
  shift 2
  want=$(cat "$lock" pyproject.toml tools/setup.sh | sha256sum | cut -d' ' -f1)
  [ "$(cat "$folder/.stamp" 2>/dev/null)" = "$want $PWD" ] && [ -x "$folder/bin/python" ] && return
  say "setting up $folder …"
  environment "$folder"
  # Bytecode now, once: start-up is measured, and some machines forbid writing it later.
  uv pip install --quiet --python "$folder/bin/python" --compile-bytecode --require-hashes -r "$lock"
  if [ $# -gt 0 ]; then
    uv pip install --quiet --python "$folder/bin/python" --compile-bytecode --no-deps --no-build-isolation "$@"
  fi
  printf '%s %s' "$want" "$PWD" >"$folder/.stamp"
}

case $purpose in
  demo | test | bench) system_packages ;;
esac
case $purpose in
  demo | test | check | bench) installed .venv requirements/dev.txt -e . ;;
esac
case $purpose in
  bench) installed .venv-bench requirements/bench.txt ;;
  docs) installed .venv-docs requirements/docs.txt ;;
esac
# Our own bytecode, wherever Python was told not to write it.
[ ! -d .venv ] || .venv/bin/python -m compileall -q src >/dev/null 2>&1 || true
