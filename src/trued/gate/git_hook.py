"""Installs the gate as git's pre-push hook. An existing hook is moved aside and still runs first."""

import os
from pathlib import Path

from trued.errors import BadInput
from trued.gate import files
from trued.gate.state import InstalledFile

NAME = "pre-push"
ASIDE = "pre-push.before-trued"
OURS = "gate hook git"
SCRIPT = """\
#!/bin/sh
# Checks what is pushed. `trued gate remove git` removes this hook and restores the former one.
refs=$(cat; printf .)
hooks=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
if [ -x "$hooks/{aside}" ]; then
  # The former hook may depend on its name and on the files beside it. So run it as {name}, from a temporary folder with
  # links to those files.
  beside=$(mktemp -d "$hooks.XXXXXX") || exit 1
  trap 'rm -rf -- "$beside"' EXIT
  trap 'exit 1' HUP INT TERM
  echo '*' >"$beside/.gitignore"
  for one in "$hooks"/*; do
    [ "${{one##*/}}" = {name} ] || ln -s -- "$one" "$beside"
  done
  ln -s -- "$hooks/{aside}" "$beside/{name}" || exit 1
  printf '%s' "${{refs%.}}" | "$beside/{name}" "$@" || exit $?
fi
printf '%s' "${{refs%.}}" | {command} "$@"
"""


def script(command: str) -> bytes:
    return SCRIPT.format(aside=ASIDE, name=NAME, command=command).encode()


def install(hooks: Path, command: str, known: InstalledFile | None) -> InstalledFile:
    """Write the hook into the folder `hooks`, and return what was written. If somebody else's hook is there, it is
    first renamed to ASIDE. Raises BadInput if there is a file ASIDE already. `known`: what an earlier installation
    wrote, if there was one."""
    path, aside = hooks / NAME, hooks / ASIDE
    after = script(command)
    content = files.read(path)
    if known and known.path == str(path) and content is not None and _is_ours(content):
        if content != after:
            files.write(path, after, 0o755)
        return known.model_copy(update={"after": after})
    if content is not None and _is_ours(content):  # not known, but ours: left by a gate whose private state is lost
        moved = str(aside) if os.path.lexists(aside) else ""
        folders = files.write(path, after, 0o755)
        return InstalledFile(path=str(path), after=after, folders=folders, moved=moved)
    if content is not None and os.path.lexists(aside):
        raise BadInput(f"{aside} already exists", then="look at it and move it away")
    if content is not None:
        path.rename(aside)
    folders = files.write(path, after, 0o755)
    moved = str(aside) if content is not None else ""
    return InstalledFile(path=str(path), after=after, folders=folders, moved=moved)


def remove(installed: InstalledFile) -> None:
    """Remove the hook and put the former one back. Raises BadInput if somebody replaced the hook."""
    path, content = Path(installed.path), files.read(Path(installed.path))
    if content is not None and not _is_ours(content):
        what = f"{path} was replaced after the gate was installed"
        raise BadInput(what, then=f"if it still calls `trued {OURS}`, remove that line by hand")
    path.unlink(missing_ok=True)
    if installed.moved and os.path.lexists(installed.moved):
        Path(installed.moved).rename(path)
    files.remove_empty_folders(installed.folders)


def problem(installed: InstalledFile, hooks: Path) -> str:
    """What is wrong with the hook, as one sentence; "" if nothing is. `hooks`: where git looks for hooks now."""
    path = Path(installed.path)
    content = files.read(path)
    if os.path.realpath(hooks) != os.path.realpath(path.parent):
        return f"git looks for hooks in {hooks} now (core.hooksPath): it no longer calls {path}"
    if content is None:
        return f"{path} was removed: git no longer calls the gate"
    if content != installed.after:
        return f"{path} was changed after it was installed"
    if not os.access(path, os.X_OK):
        return f"{path} is not executable: git ignores it"
    return ""


def _is_ours(content: bytes) -> bool:
    return OURS.encode() in content
