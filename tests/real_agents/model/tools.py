"""A step of the script as a call of the tool that this agent has for it."""

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from .script import Answer, Ask, Call, Edit, Read, Run, Say, Script, Write
from .turn import FREEFORM, Act, Called, Spoken, Turn

# What agents call their tools, and the arguments of those. The first that is offered is taken.
READ = ("Read", "read_file", "read")
WRITE = ("Write", "write_file", "write")
EDIT = ("Edit", "edit_file", "replace", "edit")
SHELL = ("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "local_shell", "run_command")
PATCH = ("apply_patch",)
CODE = ("exec",)  # it runs JavaScript that calls the other tools
ANSWER = ("StructuredOutput", "structured_output", "final_result")
ASK = ("AskUserQuestion", "ask_user", "question", "request_user_input")
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "path": ("file_path", "filePath", "path", "absolute_path"),
    "content": ("content", "contents", "text"),
    "old": ("old_string", "oldString", "old_text", "old_str", "old"),
    "new": ("new_string", "newString", "new_text", "new_str", "new"),
    "command": ("command", "cmd"),
}
END = "AS_THE_SCRIPT_SAYS"
FILLED = {"boolean": False, "integer": 0, "number": 0, "array": [], "object": {}}


class NoTool(LookupError):
    """The agent offers nothing that this step could be done with."""


def act(turn: Turn, script: Script) -> Act:
    if not turn.tools:
        return Spoken(_aside(turn))
    typed = _offered(turn, ANSWER)
    step = script.step(turn, typed=bool(typed))
    match step:
        case Say(text):
            return Spoken(text)
        case Answer(value):
            return Called(typed, dict(value)) if typed else Spoken(_json(value))
        case Ask(question):
            return _question(turn, question)
        case Call(name, arguments):
            return Called(name, dict(arguments))
    return _work(step, turn, script)


def _work(step: Read | Write | Edit | Run, turn: Turn, script: Script) -> Called:
    match step:
        case Read(path):
            return _called(turn, READ, path=script.path(path)) or _shell(turn, f"cat '{script.path(path)}'")
        case Write(path, content):
            where = script.path(path)
            return (
                _called(turn, WRITE, path=where, content=content)
                or _patched(turn, f"*** Add File: {where}\n{_prefixed('+', content)}")
                or _shell(turn, f"{_room(where)}cat > '{where}' <<'{END}'\n{content.rstrip()}\n{END}")
            )
        case Edit(path, old, new):
            where = script.path(path)
            swap = f"import pathlib; p = pathlib.Path({where!r}); p.write_text(p.read_text().replace({old!r}, {new!r}))"
            return (
                _called(turn, EDIT, path=where, old=old, new=new)
                or _patched(turn, f"*** Update File: {where}\n@@\n{_prefixed('-', old)}{_prefixed('+', new)}")
                or _shell(turn, f"python3 - <<'{END}'\n{swap}\n{END}")
            )
        case Run(command):
            return _shell(turn, command)


def _room(path: str) -> str:
    """Tools that write files make the folder, too; a shell does not."""
    folder = PurePosixPath(path).parent
    return "" if folder in (PurePosixPath(), PurePosixPath("/")) else f"mkdir -p '{folder}' && "


def _called(turn: Turn, names: tuple[str, ...], **given: str) -> Called | None:
    name = _offered(turn, names)
    if not name:
        return None
    known = turn.tools[name].get("properties") or {}
    arguments: dict[str, Any] = {_spelled(what, known): value for what, value in given.items()}
    for one in turn.tools[name].get("required") or []:
        arguments.setdefault(one, filled(known.get(one) or {}))
    return Called(name, arguments)


def _spelled(what: str, known: Mapping[str, Any]) -> str:
    return next((one for one in ARGUMENTS[what] if one in known), ARGUMENTS[what][0])


def _shell(turn: Turn, command: str) -> Called:
    called = _called(turn, SHELL, command=command) or _coded(turn, "exec_command", {"cmd": command})
    if called is None:
        raise NoTool(f"the agent offers no shell: {sorted(turn.tools)}")
    if isinstance(called.arguments, str):
        return called
    known = turn.tools[called.name].get("properties") or {}
    key = _spelled("command", known)
    if (known.get(key) or {}).get("type") == "array":
        called.arguments[key] = ["bash", "-c", command]
    if "yield_time_ms" in known:  # Codex goes on without a command that takes longer
        called.arguments["yield_time_ms"] = 30_000
    return called


def _patched(turn: Turn, change: str) -> Called | None:
    name, patch = _offered(turn, PATCH), f"*** Begin Patch\n{change}*** End Patch"
    if not name:
        return _coded(turn, "apply_patch", patch)
    if turn.tools[name].get(FREEFORM):
        return Called(name, patch)
    known = turn.tools[name].get("properties") or {"input": {}}
    return Called(name, {next(iter(known)): patch})


def _coded(turn: Turn, name: str, given: object) -> Called | None:
    code = _offered(turn, CODE)
    if not code or name not in turn.tools[code].get("about", ""):
        return None
    return Called(code, f"text(await tools.{name}({json.dumps(given)}));")


def _question(turn: Turn, question: str) -> Act:
    name = _offered(turn, ASK)
    if not name:
        return Spoken(question)
    arguments = filled(turn.tools[name])
    return Called(name, _with_question(arguments, turn.tools[name], question))


def _with_question(value: Any, schema: Mapping[str, Any], question: str) -> Any:
    """The same value, with the question in every field of that name; lists have one item, answers two."""
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items") or {}
        count = 2 if items.get("type") == "object" and "label" in (items.get("properties") or {}) else 1
        return [_with_question(filled(items), items, question) for _ in range(count)]
    if kind == "object":
        known = schema.get("properties") or {}
        return {
            name: question if name == "question" else _with_question(one, known.get(name) or {}, question)
            for name, one in value.items()
        }
    return value


def _offered(turn: Turn, names: tuple[str, ...]) -> str:
    return next((one for one in names if one in turn.tools), "")


def _prefixed(sign: str, text: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.splitlines())


def _aside(turn: Turn) -> str:
    """Without tools it is asked on the side: for a title, a topic, what to do next."""
    return _json(filled(turn.schema)) if turn.schema else "ok"


def filled(schema: Mapping[str, Any]) -> Any:
    """The dullest value that fits a schema."""
    if options := schema.get("enum") or schema.get("anyOf"):
        first = options[0]
        return filled(first) if isinstance(first, dict) else first
    kind = str(schema.get("type", "object" if "properties" in schema else "string")).lower()
    if kind == "object":
        known = schema.get("properties") or {}
        return {name: filled(known.get(name) or {}) for name in schema.get("required") or known}
    return FILLED.get(kind, "as the script says")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
