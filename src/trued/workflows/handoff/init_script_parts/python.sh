place() { printf '%s\n' "$(pwd -P) $(python3 --version)"; }
# A copied environment still points to its old place; an environment of another Python cannot be used.
settled() {
  if [ ! -f .venv/.init-place ] || [ "$(cat .venv/.init-place)" = "$(place)" ]; then return 0; fi
  moved "$(cat .venv/.init-place)" "$(place)" || rm -rf -- .venv
}
moved() {
  .venv/bin/python - "$@" <<'END' && place >.venv/.init-place
import pathlib, re, sys
(old, was), (new, now) = (one.rsplit(" Python ", 1) for one in sys.argv[1:])
venv = pathlib.Path(".venv")
inside = ("*.pth", "__editable__*.py", "*/direct_url.json", "*.egg-link")
places = ["pyvenv.cfg", "bin/*", ".tools/bin/*", *(f"lib/*/site-packages/{name}" for name in inside)]
for file in [one for place in places for one in venv.glob(place)] if was == now else sys.exit(1):
    if file.is_file() and not file.is_symlink() and old.encode() in (text := file.read_bytes()):
        file.write_bytes(re.sub(re.escape(old.encode()) + rb"(?![\w.-])", lambda _: new.encode(), text))
END
}
venv() {
  if [ ! -x .venv/bin/python ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python3 -m venv .venv || fail "python3 cannot make a virtual environment: install its venv module"
  fi
}
# Use the program if it is installed; else install it into an environment of its own, apart from the project's packages.
bring() {
  if works "$1"; then return 0; fi
  venv
  brought="$PWD/.venv/.tools/bin/$1"
  if works "$brought"; then return 0; fi
  python3 -m venv .venv/.tools
  .venv/.tools/bin/python -m pip install --quiet "$1" || fail "the lock file needs $1: install it and run init.sh again"
}
