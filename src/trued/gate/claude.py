"""Adds the gate's hooks to a settings file of Claude Code and removes them again.

Claude Code calls the hook when a turn or a subagent begins or ends. It also calls the hook when its settings change, so
that the gate can block a change that would remove it from a running session. By default the hooks go into the user's
own settings for the project, because hooks in the shared file run on every colleague's machine, whether trued is
installed there or not.
"""

import json
import re
from pathlib import Path
from typing import Any

from trued.errors import BadInput
from trued.gate import files
from trued.gate.claude_stop import BEGINNINGS, EVENTS
from trued.gate.state import CLAUDE_LOCAL, InstalledFile
from trued.support.located import Located, read_json

SHARED = ".claude/settings.json"
LOCAL = CLAUDE_LOCAL
OURS = "gate hook claude"
BEGIN_S = 60  # timeout of hooks that record a beginning: they are quick, and the user's prompt waits for them
BY_HAND = "fix it by hand; nothing was changed"
SLACK_S = 60  # Claude Code's timeout is this much longer than our own limit: it ends only a hook that hangs


def install(
    root: Path, command: str, within_s: float, known: InstalledFile | None, *, file: str = LOCAL
) -> InstalledFile:
    """Add the gate's hooks to the settings file `file` of the project at `root`, and return what was written.

    All other settings stay; the file is laid out anew, as Claude Code itself does. Installing twice gives the same file
    as installing once. `known`: what an earlier installation wrote, if there was one. Raises BadInput, before anything
    is written, if the file is not usable.
    """
    path = files.resolve_link(root / file, root)
    current = files.read(path)
    located = _read(b"{}" if current is None else current, file)
    _check_hooks(located)
    settings: dict[str, Any] = located.value
    bare = _without_ours(settings, known)
    before = known.before if known and known.path == str(path) and current == known.after else None
    if before is None and current is not None:
        before = current if bare == settings else _text(bare, current)
    hooks = dict(bare.get("hooks", {}))
    for event in EVENTS:
        limit = BEGIN_S if event in BEGINNINGS else int(within_s) + SLACK_S
        group = {"hooks": [{"type": "command", "command": command, "timeout": limit}]}
        hooks[event] = [*hooks.get(event, ()), group]
    after = _text({**bare, "hooks": hooks}, current or b"")
    folders = files.write(path, after) if after != current else ()
    folders = folders or (known.folders if known else ())
    made_by_us = known is not None and known.before is None and current is not None and not bare
    return InstalledFile(path=str(path), before=None if made_by_us else before, after=after, folders=folders)


def remove(installed: InstalledFile) -> None:
    """Remove the gate's hooks. If the settings file is unchanged since the installation, put the former file back;
    otherwise remove only our entries from it."""
    path = Path(installed.path)
    current = files.read(path)
    if current is None:
        return
    if current == installed.after:
        files.restore(installed)
        return
    settings = _read(current, name(installed)).value
    bare = _without_ours(settings, installed)
    if not bare and installed.before is None:
        files.restore(installed)
    elif bare != settings:
        files.write(path, _text(bare, current))


def problem(installed: InstalledFile) -> str:
    """Why Claude Code does not call the gate as it was installed, as one sentence; "" if it does."""
    file, path = name(installed), Path(installed.path)
    current = files.read(path)
    if current is None:
        return f"{file} was removed: Claude Code no longer calls the gate"
    for other in (SHARED, LOCAL):
        content = files.read(path.with_name(Path(other).name))
        if content is not None and _read(content, other).value.get("disableAllHooks"):
            return f"{other} disables all hooks"
    if current == installed.after:
        return ""
    now, wanted = _read(current, file).value, _read(installed.after, file).value
    for event in EVENTS:
        if _ours(now, event) != _ours(wanted, event):
            return f"the gate's {event} hook in {file} was changed or removed after it was installed"
    return ""


def name(installed: InstalledFile) -> str:
    """The settings file that contains the gate's hooks, as a path in the worktree."""
    return LOCAL if Path(installed.path).name == Path(LOCAL).name else SHARED


# -- the settings ------------------------------------------------------------------------------------------------------


def _read(content: bytes, file: str) -> Located:
    """The settings in a file, with their lines. Raises BadInput if the file is not a JSON object."""
    try:
        located = read_json(content.decode(), file)
    except UnicodeDecodeError:
        raise BadInput("the file is not UTF-8", file, BY_HAND) from None
    if not isinstance(located.value, dict):
        raise BadInput("the file is not a JSON object", located.where(), BY_HAND)
    return located


def _check_hooks(located: Located) -> None:
    """Raise BadInput if there is no place for our entries."""
    hooks = located.value.get("hooks", {})
    if not isinstance(hooks, dict):
        raise BadInput("`hooks` is not an object", located.where("hooks"), BY_HAND)
    for event in EVENTS:
        if not isinstance(hooks.get(event, []), list):
            raise BadInput(f"`hooks.{event}` is not a list", located.where("hooks", event), BY_HAND)


def _text(settings: dict[str, Any], like: bytes) -> bytes:
    """The settings as JSON, with the indentation and the line ends of the text `like`."""
    former = like.decode()
    indentation = re.search(r"\n([ \t]+)\S", former)
    text = json.dumps(settings, indent=indentation[1] if indentation else "  ", ensure_ascii=False) + "\n"
    return text.replace("\n", "\r\n" if "\r\n" in former else "\n").encode()


def _ours(settings: dict[str, Any], event: str) -> list[Any]:
    hooks = settings.get("hooks")
    groups = hooks.get(event) if isinstance(hooks, dict) else None
    return [group for group in groups if _is_ours(group)] if isinstance(groups, list) else []


def _is_ours(group: Any) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    commands = [hook.get("command") for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
    return any(isinstance(command, str) and OURS in command for command in commands)


def _without_ours(settings: dict[str, Any], known: InstalledFile | None) -> dict[str, Any]:
    """The settings without our entries, and without the lists that the installation added to hold our entries."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return settings
    former = _read(known.before, LOCAL).value if known and known.before else {}
    former_hooks = former.get("hooks") or {}
    kept = {}
    for event, groups in hooks.items():
        ours = _ours(settings, event)
        others = [group for group in groups if group not in ours] if ours else groups
        if others or not ours or event in former_hooks:
            kept[event] = others
    bare = {**settings, "hooks": kept}
    if known and not kept and "hooks" not in former:
        del bare["hooks"]
    return bare
