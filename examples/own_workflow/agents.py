"""Scripted agents for the example, not a model: an honest pair, and a liar who plays both roles.

`scripted:agents.py` plays the honest pair, `scripted:agents.py#liar` the liar.
"""

from pathlib import Path
from typing import Any

Order = dict[str, Any]

TEST = """from textkit import slug


def test_words_are_joined() -> None:
    assert slug("Hello World") == "hello-world"
"""
HASTY = """

def slug(text: str) -> str:
    return text.lower().replace(" ", "-")
"""
CAREFUL = """

def slug(text: str) -> str:
    return "-".join(text.lower().split())
"""


def test_author(order: Order, folder: Path) -> dict[str, Any]:
    (folder / "tests" / "test_slug.py").write_text(TEST)
    return {"files": ["tests/test_slug.py"], "expects": ["words are joined by a hyphen"]}


def builder(order: Order, folder: Path) -> dict[str, Any]:
    """The first attempt passes its tests and overlooks repeated blanks; the engine finds that out."""
    module = folder / "textkit.py"
    text = module.read_text()
    module.write_text(text.replace(HASTY, CAREFUL) if HASTY in text else text + HASTY)
    return {"files": ["textkit.py"]}


def liar(order: Order, folder: Path) -> dict[str, Any]:
    """Says what each role should say, and writes nothing."""
    if order["role"] == "test-author":
        return {"files": ["tests/test_slug.py"], "expects": ["everything"], "summary": "all tests fail, as they should"}
    return {"files": ["textkit.py"], "summary": "done: all tests pass"}
