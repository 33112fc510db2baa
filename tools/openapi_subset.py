"""Cut a vendor's OpenAPI description to a few operations: `openapi_subset.py FILE ROOT "GET /path" …` prints JSON."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Words for people; what is checked is in the other keys.
PROSE = ("description", "summary", "example", "examples", "externalDocs", "tags", "deprecated", "xml", "title")
NAMES = ("properties", "schemas", "parameters", "responses", "headers", "patternProperties")  # keys below are names


def subset(whole: dict[str, Any], root: str, operations: list[str]) -> dict[str, Any]:
    """The operations, and all that they refer to."""
    paths: dict[str, Any] = {}
    for operation in operations:
        verb, path = operation.split(" ", 1)
        item = whole["paths"][path]
        kept = paths.setdefault(path, {key: item[key] for key in ("parameters",) if key in item})
        kept[verb.lower()] = item[verb.lower()]
    found: dict[str, Any] = {}
    todo = list(references(paths))
    while todo:
        reference = todo.pop()
        if reference in found:
            continue
        found[reference] = part_of(whole, reference)
        todo += references(found[reference])
    components: dict[str, dict[str, Any]] = {}
    for reference in sorted(found):
        _, _, kind, name = reference.split("/", 3)
        components.setdefault(kind, {})[name.replace("~1", "/").replace("~0", "~")] = found[reference]
    info = {key: whole["info"][key] for key in ("title", "version", "license") if key in whole["info"]}
    cut: dict[str, Any] = without_prose({"paths": paths, "components": components})
    for item in cut["paths"].values():
        for operation in item.values():
            if isinstance(operation, dict):
                operation.pop("security", None)  # the server checks tokens by itself
    return {"openapi": whole["openapi"], "info": info, "servers": [{"url": root}], **cut}


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for key, value in part.items():
            if key not in ("example", "examples"):
                yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def part_of(whole: dict[str, Any], reference: str) -> Any:
    part: Any = whole
    for key in reference.removeprefix("#/").split("/"):
        part = part[key.replace("~1", "/").replace("~0", "~")]
    return part


def without_prose(part: Any, names: bool = False) -> Any:
    if isinstance(part, dict):
        kept = part if names else {key: value for key, value in part.items() if key not in PROSE and key[:2] != "x-"}
        cut = {key: without_prose(value, not names and key in NAMES) for key, value in kept.items()}
        if "responses" in cut and not names:  # a response without a description is none
            cut["responses"] = {code: {"description": "", **value} for code, value in cut["responses"].items()}
        return cut
    return [without_prose(value) for value in part] if isinstance(part, list) else part


if __name__ == "__main__":
    print(
        json.dumps(subset(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2], sys.argv[3:]), separators=(",", ":"))
    )
