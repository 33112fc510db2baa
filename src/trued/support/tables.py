"""Reads tables of TOML, JSON and INI from other programs and people. For a text that is no table,
`parse_toml` returns None; all other functions return an empty table."""

import configparser
import tomllib
from typing import Any

from trued.support.foreign_json import parse_json


def parse_toml(text: str) -> dict[str, Any] | None:
    """The table that a TOML text defines; None if it is not TOML, or is nested too deeply to be read."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def toml_table(text: str) -> dict[str, Any]:
    return parse_toml(text) or {}


def json_table(text: str | bytes) -> dict[str, Any]:
    return table_at(parse_json(text))


def ini_tables(text: str) -> dict[str, dict[str, str]]:
    """Section → its settings."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {section: dict(parser.items(section)) for section in parser.sections()}


def table_at(value: Any, *keys: str) -> dict[str, Any]:
    """The table below these keys; empty if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
