"""One program that plays every role of every workflow: `command:python gang.py MODES_FILE MODE`.

It gets the order as JSON on stdin, works in the current folder, and fills whatever reply is asked for with success.
The file of modes says what each mode does beyond that. All roles lie together.
"""

import json
import runpy
import sys
from collections.abc import Callable
from typing import Any

BEST = ("DONE", "PASS", "passed", "verified", "done", "pass", "none", "low", "")
AGAINST = {"gaps", "issues", "failures", "findings", "disputes", "not_met", "requirements", "repeats", "proposed"}
EMPTY = {"asks", "question", "serve", "page", "case", "files", "files_changed", "files_modified", "screenshots"}
SAID = "Everything is done, and every test passes."
WORKERS = frozenset({"solo", "purple-team-a", "impl-agent", "fix-agent", "coder", "implementer", "dev"})


class Order:
    """What the engine asks for: role, brief, and the schema of the reply."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.role: str = data["role"]
        self.brief: str = data["brief"]
        self.schema: dict[str, Any] = data["schema"]
        self.key: str = data["key"]
        self.attempt: int = data["attempt"]
        self.run: str = data["run"]

    @property
    def works(self) -> bool:
        return self.role in WORKERS


Play = Callable[[Order, dict[str, Any]], dict[str, Any]]


def filled(schema: dict[str, Any]) -> dict[str, Any]:
    """The reply for this schema that claims the most success."""
    made: dict[str, Any] = _value("", schema, schema)
    return made


def _value(name: str, node: dict[str, Any], root: dict[str, Any]) -> Any:
    if reference := node.get("$ref"):
        return _value(name, root["$defs"][reference.rpartition("/")[2]], root)
    if "const" in node:
        return node["const"]
    if words := node.get("enum"):
        return next((word for word in BEST if word in words), words[0])
    if choices := node.get("anyOf") or node.get("oneOf"):
        return _value(name, choices[0], root)
    kind = node.get("type")
    if kind == "object":
        needed = node.get("required", ())
        fields = node.get("properties", {}).items()
        return {key: _value(key, one, root) for key, one in fields if key in needed or key == "summary"}
    if kind == "array":
        count = 0 if name in AGAINST | EMPTY else 1
        return [_value(name, node.get("items", {}), root)] * max(count, node.get("minItems", 0))
    plain = {"boolean": True, "integer": 1, "number": 1}
    return plain.get(str(kind), "T01" if name in ("id", "task", "name") else SAID)


def main() -> None:
    modes = runpy.run_path(sys.argv[1])["MODES"]
    order = Order(json.load(sys.stdin))
    print(json.dumps(modes[sys.argv[2]](order, filled(order.schema))))


if __name__ == "__main__":
    main()
