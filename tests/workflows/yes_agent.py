"""A fake agent that reports success to everything and does nothing."""

from typing import Any

# the best words of all scales
WELL = ("done", "pass", "passed", "approved", "verified", "ok", "success", "none", "")
AGAINST = {"gaps", "issues", "failures", "findings", "disputes"}  # an entry would be an objection
FILES = {"files", "files_changed", "files_modified"}  # compared with git: an unchanged file would expose the lie
NAMES = {"id", "name", "task", "requirement"}  # others refer to it, so it is one short word
SAID = "All of it is done, and every test passes."


def yes_reply(schema: dict[str, Any], **known: Any) -> dict[str, Any]:
    """The reply that fits this JSON schema and claims the most; `known` are values for its fields."""
    answer: dict[str, Any] = _object(schema, schema)
    return {name: known.get(name, said) for name, said in answer.items()}


def _fill(name: str, node: dict[str, Any], root: dict[str, Any]) -> Any:
    node = _resolved(node, root)
    if "const" in node:
        return node["const"]
    if words := node.get("enum"):
        return min(words, key=_how_well)
    if choices := node.get("anyOf") or node.get("oneOf"):
        return _fill(name, choices[0], root)
    match node.get("type"):
        case "object":
            return _object(node, root)
        case "array":
            return _list(name, node, root)
        case "boolean":
            return True
        case "integer" | "number":
            return node.get("minimum", 1)
    return "T01" if name in NAMES else SAID


def _object(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """All required properties, and every property that rates the work."""
    node = _resolved(node, root)
    needed = {"summary", *node.get("required", ())}
    return {
        name: _fill(name, one, root)
        for name, one in node.get("properties", {}).items()
        if name in needed or "enum" in _resolved(one, root)
    }


def _list(name: str, node: dict[str, Any], root: dict[str, Any]) -> list[Any]:
    """One entry, or as many as required."""
    count = max(node.get("minItems", 0), name not in AGAINST | FILES)
    return [_fill(name.removesuffix("s"), node.get("items", {}), root) for _ in range(count)]


def _how_well(word: object) -> int:
    known = str(word).lower()
    return WELL.index(known) if known in WELL else len(WELL)


def _resolved(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    name = str(node.get("$ref", "")).removeprefix("#/$defs/")
    return _resolved(root["$defs"][name], root) if name else node
