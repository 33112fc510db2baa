#!/usr/bin/env bash
# Set-up for one purpose (demo, test, check, bench, docs): quick when nothing changed, and it says what it could not do.
set -euo pipefail
cd "$(dirname "$0")/.."
purpose=${1:-test}

# Behind a proxy that inspects TLS only the system's certificates know its issuer; pip reads them by itself.
export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-true}

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

# unpacked COMMAND WITHOUT PACKAGE…: have COMMAND here, below .venv/debian, from Debian packages that are not installed:
# installing this one would start a server
unpacked() {
  local command=$1 without=$2 place=$PWD/.venv/debian
  shift 2
  if [ -x "/usr/$command" ] || [ -x "$place/usr/$command" ]; then return; fi
  mkdir -p "$place"
  if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
    (cd "$place" && { apt-get -qq download "$@" || { can_install && apt update && apt-get -qq download "$@"; }; }) >/dev/null 2>&1 || true
    for file in "$place"/*.deb; do [ ! -f "$file" ] || dpkg-deb -x "$file" "$place" || rm -f "$file"; done
  fi
  [ -x "$place/usr/$command" ] || say "missing: $command (Debian packages $*); $without"
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

# stamp_of FOLDER LOCK: what the stamp of FOLDER says when it holds what LOCK names
stamp_of() { printf '%s %s' "$(cat "$2" pyproject.toml tools/setup.sh | sha256sum | cut -d' ' -f1)" "$PWD"; }

# holds FOLDER LOCK: whether FOLDER was set up with LOCK, as it is now
holds() { [ "$(cat "$1/.stamp.$(basename "$2" .txt)" 2>/dev/null)" = "$(stamp_of "$1" "$2")" ] && [ -x "$1/bin/python" ]; }

# installed FOLDER LOCK EXTRA…: FOLDER holds all that the lock says; a stamp remembers it
installed() {
  local folder=$1 lock=$2
  shift 2
  if holds "$folder" "$lock"; then return; fi
  [ -x "$folder/bin/python" ] || say "making a virtual environment in $folder …"
  environment "$folder"
  say "installing $(grep -c == "$lock") packages into $folder, from $lock …"
  # Bytecode now, once: start-up is measured, and some machines forbid writing it later.
  uv pip install --quiet --python "$folder/bin/python" --compile-bytecode --require-hashes -r "$lock"
  if [ $# -gt 0 ]; then
    uv pip install --quiet --python "$folder/bin/python" --compile-bytecode --no-deps --no-build-isolation "$@"
  fi
  stamp_of "$folder" "$lock" >"$folder/.stamp.$(basename "$lock" .txt)"
}

case $purpose in
  demo | test | bench) system_packages ;;
esac
case $purpose in
  demo) holds .venv requirements/dev.txt || installed .venv requirements/demo.txt -e . ;;
  test | check | bench) installed .venv requirements/dev.txt -e . ;;
esac
case $purpose in
  test) unpacked sbin/sshd "the tests of a store by ssh fail" openssh-server libwrap0 ;;
  bench) installed .venv-bench requirements/bench.txt ;;
  docs) installed .venv-docs requirements/docs.txt ;;
esac
# Our own bytecode, wherever Python was told not to write it.
[ ! -d .venv ] || .venv/bin/python -m compileall -q src >/dev/null 2>&1 || true
