"""Reads JSON from outside the engine: from an agent, a browser, a process that died in the middle of a line."""

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text; None if it is not JSON, was cut off, or is nested too deeply to be read."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
