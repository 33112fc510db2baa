digest() { if works sha256sum; then sha256sum; else shasum -a 256; fi | cut -c 1-64; }
# What is installed depends on the interpreter, this script and these files.
stamp() { { printf '%s\n' "$1"; shift; cat -- "$script" "$@"; } | digest; }
kept() { cat -- "$1/.init-stamp" 2>/dev/null || true; }
own() { if [ -L "$1" ]; then fail "$1 is a link out of the project: remove it"; fi; }
ignored() {
  if [ ! -d .git ] || [ -L .git ] || [ -L .git/info ] || [ -L .git/info/exclude ]; then return 0; fi
  mkdir -p .git/info
  if [ -s .git/info/exclude ] && [ -n "$(tail -c 1 .git/info/exclude)" ]; then printf '\n' >>.git/info/exclude; fi
  for name in "$@"; do
    if ! grep -qxF -- "$name" .git/info/exclude 2>/dev/null; then printf '%s\n' "$name" >>.git/info/exclude; fi
  done
}
