"""Reads YAML 1.2 into plain values with their line numbers. Refuses tags, merge keys, duplicate keys, and anchors that
expand too far."""

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from trued.errors import BadInput
from trued.support.located.spots import DEPTH_LIMIT, YAML_NODE_LIMIT, Spot

PREFIX = "tag:yaml.org,2002:"
SCALARS = {"null", "bool", "int", "float", "str", "timestamp", "value"}


def yaml_value(text: str, file: str, first: int) -> tuple[Any, dict[Spot, int]]:
    """The value, and the line of every part. The text's nodes are converted here, because ruamel's own loader accepts
    tags and merge keys."""
    parser = YAML(typ="safe", pure=True)
    parser.composer.warn_double_anchors = False  # the later anchor counts, as in the YAML specification
    try:
        node = parser.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = (mark.line if mark else 0) + first
        what = str(error.problem or error.context or "it cannot be read").replace("\n", " ")
        raise BadInput(f"this is not YAML: {what[:200]}", f"{file}:{line}", "fix that line") from error
    except (YAMLError, RecursionError, ValueError) as error:
        what = " ".join(str(error).split()) or "nested too deeply"
        raise BadInput(f"this is not YAML: {what[:200]}", f"{file}:{first}", "fix it") from error
    if node is None:
        return None, {(): first}
    reader = _Yaml(file, first)
    return reader.value(node, ()), reader.lines


class _Yaml:
    def __init__(self, file: str, first: int) -> None:
        self.file, self.first, self.count = file, first, 0
        self.lines: dict[Spot, int] = {}

    def value(self, node: Node, spot: Spot) -> Any:
        line = node.start_mark.line + self.first
        self.lines.setdefault(spot, line)
        self.count += 1
        if self.count > YAML_NODE_LIMIT or len(spot) > DEPTH_LIMIT:
            raise BadInput(
                "anchors or nesting make this file too large", f"{self.file}:{line}", "write it out plainly, or as JSON"
            )
        kind = self._yaml_type(node, line)
        if isinstance(node, MappingNode):
            return self._mapping(node, spot)
        if isinstance(node, SequenceNode):
            return [self.value(part, (*spot, number)) for number, part in enumerate(node.value)]
        return self._scalar(node, kind, line)

    def _yaml_type(self, node: Node, line: int) -> str:
        """The type that YAML resolves the value to. Raises BadInput for any tag but those of plain values."""
        known = {"map"} if isinstance(node, MappingNode) else {"seq"} if isinstance(node, SequenceNode) else SCALARS
        kind = str(node.tag).removeprefix(PREFIX)
        if not str(node.tag).startswith(PREFIX) or kind not in known:
            what = "merge keys are" if kind == "merge" else f"the tag {node.tag} is"
            raise BadInput(f"{what} not supported", f"{self.file}:{line}", "write the value out plainly")
        return kind

    def _mapping(self, node: MappingNode, spot: Spot) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, part in node.value:
            line = name.start_mark.line + self.first
            if str(name.tag).endswith(":merge"):
                raise BadInput("merge keys are not supported", f"{self.file}:{line}", "write the values out plainly")
            if not isinstance(name, ScalarNode):
                raise BadInput("a key is a list or a mapping", f"{self.file}:{line}", "use a word as key")
            self._yaml_type(name, line)
            key = _whole(str(name.value))
            if key in values:
                raise BadInput(f'"{key}" occurs twice', f"{self.file}:{line}", "keep one of them")
            self.lines[(*spot, key)] = line
            values[key] = self.value(part, (*spot, key))
        return values

    def _scalar(self, node: Node, kind: str, line: int) -> Any:
        text = str(node.value)
        try:
            if kind == "null":
                return None
            if kind == "bool":
                return _truth(text)
            if kind == "int":
                digits = text.replace("_", "")
                return int(digits, 0) if digits.lstrip("+-")[:2].lower() in ("0x", "0o", "0b") else int(digits)
            if kind == "float":
                return float(text.replace("_", "").replace(".inf", "inf").replace(".Inf", "inf").replace(".nan", "nan"))
        except ValueError as error:
            what = f"{text[:40]} is not a {'truth value' if kind == 'bool' else 'number'}"
            raise BadInput(what, f"{self.file}:{line}", "write it as YAML 1.2 does") from error
        return _whole(text)


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _whole(text: str) -> str:
    """The text with escaped surrogate pairs, as JSON writes them, joined into characters."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
