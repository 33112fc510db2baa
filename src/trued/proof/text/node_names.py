"""Finds the names that a Node script uses from a module in the same folder. Only reads text. Pure."""

import re

_WORD = re.compile(r"[A-Za-z_$][\w$]*")


def loads_module(text: str, name: str) -> bool:
    """Whether this text loads a module of that name, from any folder of the project."""
    return re.search(rf"""["']\.{{1,2}}/(?:[\w.-]+/)*{re.escape(name)}(?:\.[cm]?[jt]s)?["']""", text) is not None


def names_asked(text: str, module: str) -> set[str]:
    """The names that this text uses from a module beside it: `const { name } = require("./module")`, `module.name`."""
    place = rf"""["']\./{re.escape(module)}(?:\.[cm]?[jt]s)?["']"""
    loaded = rf"(?:await\s+)?(?:require|import)\s*\(\s*{place}\s*\)"
    lists = re.findall(rf"\{{([^{{}}]*)\}}\s*(?:=\s*{loaded}|from\s*{place})", text)
    asked = {word for one in lists for part in one.split(",") for word in _WORD.findall(part)[:1]}
    asked |= {*re.findall(rf"{loaded}\s*\.\s*([A-Za-z_$][\w$]*)", text)}
    known = re.findall(rf"([A-Za-z_$][\w$]*)\s*=\s*{loaded}", text)
    known += re.findall(rf"import\s+(?:\*\s*as\s+)?([A-Za-z_$][\w$]*)\s*(?:,\s*\{{[^{{}}]*\}}\s*)?from\s*{place}", text)
    for one in known:
        asked |= {*re.findall(rf"(?<![\w$.]){re.escape(one)}\s*\.\s*([A-Za-z_$][\w$]*)", text)}
    return asked


def names_mentioned(text: str) -> set[str]:
    """All words of a module that could be exported names, however it exports them."""
    return {*_WORD.findall(text)}
