"""Adds the gate's hooks to Claude Code's settings file and removes them again.

Claude Code calls the hook when the agent or a subagent stops, and when its settings change, so that a running session
cannot lose the gate.
"""

from pathlib import Path
from typing import Any

from trued.errors import BadInput
from trued.gate import files
from trued.gate.json_edit import JsonText
from trued.gate.state import InstalledFile

FILE = ".claude/settings.json"
LOCAL = ".claude/settings.local.json"
EVENTS = ("Stop", "SubagentStop", "ConfigChange")
OURS = "gate hook claude"
SLACK_S = 60  # added to our own limit: after that, Claude Code kills a hook that we failed to end


def install(root: Path, command: str, within_s: float, known: InstalledFile | None) -> InstalledFile:
    """Add the gate's hooks to `root`'s settings file and return what was written.

    Every other byte of the file stays. Installing twice gives the same file as installing once.
    """
    path = files.resolve_link(root / FILE, root)
    now = files.read(path)
    text = JsonText.read(now, FILE) if now is not None else JsonText("{}\n")
    bare = _without(text, known)
    before = known.before if known and known.path == str(path) and now == known.after.encode("latin-1") else None
    if before is None and now is not None:
        before = (now if bare is text else bare.bytes()).decode("latin-1")
    hook = {"type": "command", "command": command, "timeout": int(within_s) + SLACK_S}
    after = bare
    for event in EVENTS:
        after = _with(after, event, {"hooks": [hook]})
    folders = files.write(path, after.bytes()) if after.bytes() != now else ()
    folders = folders or (known.folders if known else ())
    made = known is not None and known.before is None and now is not None and bare.at() == {}
    return InstalledFile(
        path=str(path), before=None if made else before, after=after.bytes().decode("latin-1"), folders=folders
    )


def remove(installed: InstalledFile) -> None:
    """Restore the former file if nobody changed it since; otherwise remove only our entries."""
    path = Path(installed.path)
    now = files.read(path)
    if now is None:
        return
    if now == installed.after.encode("latin-1"):
        files.restore(installed)
        return
    bare = _without(JsonText.read(now, FILE), installed)
    if bare.at() == {} and installed.before is None:
        files.restore(installed)
    elif bare.bytes() != now:
        files.write(path, bare.bytes())


def problem(installed: InstalledFile) -> str:
    """What was changed since the installation, as one sentence; "" if nothing was."""
    path = Path(installed.path)
    now = files.read(path)
    if now is None:
        return f"{FILE} was removed: Claude Code no longer calls the gate"
    local = files.read(path.with_name(Path(LOCAL).name))
    if local is not None and JsonText.read(local, LOCAL).at("disableAllHooks"):
        return f"{LOCAL} disables all hooks"
    if now == installed.after.encode("latin-1"):
        return ""
    text, wanted = JsonText.read(now, FILE), JsonText(installed.after.encode("latin-1").decode())
    for event in EVENTS:
        if _ours(text, event) != _ours(wanted, event):
            return f"the gate's {event} hook in {FILE} was changed or removed after it was installed"
    if text.at("disableAllHooks"):
        return f"{FILE} disables all hooks"
    return ""


def _ours(text: JsonText, event: str) -> list[Any]:
    found = text.at("hooks", event)
    return [one for one in found if _is_ours(one)] if isinstance(found, list) else []


def _is_ours(group: Any) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    commands = [one.get("command") for one in hooks if isinstance(one, dict)] if isinstance(hooks, list) else []
    return any(isinstance(one, str) and OURS in one for one in commands)


def _with(text: JsonText, event: str, group: dict[str, Any]) -> JsonText:
    hooks, found = text.at("hooks"), text.at("hooks", event)
    if hooks is None and "hooks" not in text.at():
        return text.put((), "hooks", {event: [group]})
    if not isinstance(hooks, dict):
        where = f"{FILE}:{text.line('hooks')}"
        raise BadInput("`hooks` is not an object", where, "fix it by hand; nothing was changed")
    if event not in hooks:
        return text.put(("hooks",), event, [group])
    if not isinstance(found, list):
        where = f"{FILE}:{text.line('hooks', event)}"
        raise BadInput(f"`hooks.{event}` is not a list", where, "fix it by hand; nothing was changed")
    return text.put(("hooks", event), None, group)


def _without(text: JsonText, known: InstalledFile | None) -> JsonText:
    """The text without our entries and without the lists that the installation added for them."""
    former = JsonText((known.before or "{}").encode("latin-1").decode()) if known else JsonText("{}")
    for event in EVENTS:
        found = text.at("hooks", event)
        for at in reversed(range(len(found) if isinstance(found, list) else 0)):
            if _is_ours(found[at]):
                text = text.drop("hooks", event, at)
        if text.at("hooks", event) == [] != found and former.at("hooks", event) is None:
            text = text.drop("hooks", event)
    if text.at("hooks") == {} and former.at("hooks") is None and known:
        text = text.drop("hooks")
    return text
