"""Plays a scripted agent in a separate process. It is started by path, so it imports nothing from this package."""

import json
import os
import sys
import traceback
import types
from pathlib import Path
from typing import Any


def main(script: str, name: str) -> int:
    """Read the order from stdin, call the function `name` of the script with it, and print the reply as JSON. Return
    the exit code."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of the script goes to the log
    order: dict[str, Any] = json.load(sys.stdin)
    turn = _count_turn(order["session"])
    usage: dict[str, Any] = {}
    order |= {"turn": turn, "resumed": bool(order["resume"]) and turn > 1, "usage": usage.update}
    try:
        play = getattr(_load_script(script), name, None)
        if not callable(play):
            print(f"{script} has no function {name}(order, folder); write one", file=sys.stderr)
            return 2
        reply = play(order, Path.cwd())
    except Exception as error:  # noqa: BLE001 (a script can raise anything)
        print(_error_line(error), file=sys.stderr)
        return 1
    json.dump({"reply": reply, "usage": usage, "resumed": order["resumed"]}, answers)
    answers.close()
    return 0


def _error_line(error: Exception) -> str:
    """An error of the script in one line, with the places in the script that led to it."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first frame is the call of the script
    way = ", ".join(f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames)
    return f"{way}: {type(error).__name__}: {error}" if way else f"{type(error).__name__}: {error}"


def _count_turn(session: str) -> int:
    """Count this turn of the session in a file in HOME, and return its number. The first turn is 1."""
    file = Path.home() / ".scripted" / f"{session}.json"
    turn = json.loads(file.read_text())["turns"] + 1 if file.exists() else 1
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_suffix(".new")
    aside.write_text(json.dumps({"turns": turn}))
    aside.replace(file)
    return int(turn)


def _load_script(script: str) -> types.ModuleType:
    module = types.ModuleType(Path(script).stem)
    module.__file__ = script
    sys.modules[module.__name__] = module
    exec(compile(Path(script).read_bytes(), script, "exec"), module.__dict__)  # noqa: S102 (that is its purpose)
    return module


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
