"""Adds the gate's hooks to a settings file of Claude Code and removes them again.

Claude Code calls the hook when a turn or a subagent begins or ends. It also calls the hook when its settings change, so
that the gate can block a change that would remove it from a running session. By default the hooks go into the user's
own settings for the project, because hooks in the shared file run on every colleague's machine, whether trued is
installed there or not.
"""

from pathlib import Path
from typing import Any

from trued.errors import BadInput
from trued.gate import files
from trued.gate.claude_stop import BEGINNINGS, EVENTS
from trued.gate.json_edit import JsonText
from trued.gate.state import CLAUDE_LOCAL, InstalledFile

SHARED = ".claude/settings.json"
LOCAL = CLAUDE_LOCAL
OURS = "gate hook claude"
BEGIN_S = 60  # timeout of hooks that record a beginning: they are quick, and the user's prompt waits for them
SLACK_S = 60  # Claude Code's timeout is this much longer than our own limit: it ends only a hook that hangs


def install(
    root: Path, command: str, within_s: float, known: InstalledFile | None, *, file: str = LOCAL
) -> InstalledFile:
    """Add the gate's hooks to the settings file `file` of the project at `root`, and return what was written.

    The rest of the file stays as it is. Installing twice gives the same file as installing once. `known`: what an
    earlier installation wrote, if there was one.
    """
    path = files.resolve_link(root / file, root)
    current = files.read(path)
    text = JsonText.read(current, file) if current is not None else JsonText("{}\n")
    bare = _without_groups(text, known)
    before = known.before if known and known.path == str(path) and current == known.after else None
    if before is None and current is not None:
        before = current if bare is text else bare.bytes()
    after = bare
    for event in EVENTS:
        limit = BEGIN_S if event in BEGINNINGS else int(within_s) + SLACK_S
        after = _with_group(after, event, {"hooks": [{"type": "command", "command": command, "timeout": limit}]}, file)
    folders = files.write(path, after.bytes()) if after.bytes() != current else ()
    folders = folders or (known.folders if known else ())
    made_by_us = known is not None and known.before is None and current is not None and bare.at() == {}
    return InstalledFile(path=str(path), before=None if made_by_us else before, after=after.bytes(), folders=folders)


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
    bare = _without_groups(JsonText.read(current, name(installed)), installed)
    if bare.at() == {} and installed.before is None:
        files.restore(installed)
    elif bare.bytes() != current:
        files.write(path, bare.bytes())


def problem(installed: InstalledFile) -> str:
    """Why Claude Code does not call the gate as it was installed, as one sentence; "" if it does."""
    file, path = name(installed), Path(installed.path)
    current = files.read(path)
    if current is None:
        return f"{file} was removed: Claude Code no longer calls the gate"
    for other in (SHARED, LOCAL):
        content = files.read(path.with_name(Path(other).name))
        if content is not None and JsonText.read(content, other).at("disableAllHooks"):
            return f"{other} disables all hooks"
    if current == installed.after:
        return ""
    text, wanted = JsonText.read(current, file), JsonText(installed.after.decode())
    for event in EVENTS:
        if _ours(text, event) != _ours(wanted, event):
            return f"the gate's {event} hook in {file} was changed or removed after it was installed"
    return ""


def name(installed: InstalledFile) -> str:
    """The settings file that contains the gate's hooks, as a path in the worktree."""
    return LOCAL if Path(installed.path).name == Path(LOCAL).name else SHARED


def _ours(text: JsonText, event: str) -> list[Any]:
    groups = text.at("hooks", event)
    return [group for group in groups if _is_ours(group)] if isinstance(groups, list) else []


def _is_ours(group: Any) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    commands = [hook.get("command") for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
    return any(isinstance(command, str) and OURS in command for command in commands)


def _with_group(text: JsonText, event: str, group: dict[str, Any], file: str) -> JsonText:
    hooks, groups = text.at("hooks"), text.at("hooks", event)
    if hooks is None and "hooks" not in text.at():
        return text.append((), "hooks", {event: [group]})
    if not isinstance(hooks, dict):
        where = f"{file}:{text.line('hooks')}"
        raise BadInput("`hooks` is not an object", where, "fix it by hand; nothing was changed")
    if event not in hooks:
        return text.append(("hooks",), event, [group])
    if not isinstance(groups, list):
        where = f"{file}:{text.line('hooks', event)}"
        raise BadInput(f"`hooks.{event}` is not a list", where, "fix it by hand; nothing was changed")
    return text.append(("hooks", event), None, group)


def _without_groups(text: JsonText, known: InstalledFile | None) -> JsonText:
    """The text without our entries, and without the lists that the installation added to hold our entries."""
    former = JsonText((known.before or b"{}").decode()) if known else JsonText("{}")
    for event in EVENTS:
        groups = text.at("hooks", event)
        for index in reversed(range(len(groups) if isinstance(groups, list) else 0)):
            if _is_ours(groups[index]):
                text = text.drop("hooks", event, index)
        if text.at("hooks", event) == [] != groups and former.at("hooks", event) is None:
            text = text.drop("hooks", event)
    if text.at("hooks") == {} and former.at("hooks") is None and known:
        text = text.drop("hooks")
    return text
