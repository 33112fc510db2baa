"""Finds the names that a Node script uses from a module in the same folder. Only reads text."""

import re

from trued.support.lazy_regex import lazy_regex

_WORD = lazy_regex(r"[A-Za-z_$][\w$]*")


def loads_module(text: str, name: str) -> bool:
    """Whether this text loads a module of that name, from any folder of the project."""
    return re.search(rf"""["']\.{{1,2}}/(?:[\w.-]+/)*{re.escape(name)}(?:\.[cm]?[jt]s)?["']""", text) is not None


def names_asked(text: str, module: str) -> set[str]:
    """The names that this text uses from a module beside it: `const { name } = require("./module")`, `module.name`."""
    module_path = rf"""["']\./{re.escape(module)}(?:\.[cm]?[jt]s)?["']"""
    loading = rf"(?:await\s+)?(?:require|import)\s*\(\s*{module_path}\s*\)"
    lists = re.findall(rf"\{{([^{{}}]*)\}}\s*(?:=\s*{loading}|from\s*{module_path})", text)
    used_names = {word for name_list in lists for entry in name_list.split(",") for word in _WORD.findall(entry)[:1]}
    used_names |= {*re.findall(rf"{loading}\s*\.\s*([A-Za-z_$][\w$]*)", text)}
    aliases = re.findall(rf"([A-Za-z_$][\w$]*)\s*=\s*{loading}", text)
    aliases += re.findall(
        rf"import\s+(?:\*\s*as\s+)?([A-Za-z_$][\w$]*)\s*(?:,\s*\{{[^{{}}]*\}}\s*)?from\s*{module_path}", text
    )
    for alias in aliases:
        used_names |= {*re.findall(rf"(?<![\w$.]){re.escape(alias)}\s*\.\s*([A-Za-z_$][\w$]*)", text)}
    return used_names


def names_mentioned(text: str) -> set[str]:
    """All words of a module that could be exported names, however it exports them."""
    return {*_WORD.findall(text)}
