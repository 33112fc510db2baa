"""Regular expressions that are compiled late: all of them are right, and they work like compiled ones."""

import copy
import gc
import importlib
import pkgutil
import re

import pytest

import trued
from trued.support.lazy_regex import LazyRegex, lazy_regex


def test_all_of_them_can_be_compiled() -> None:
    """An error in one of them would show only when somebody needs it."""
    for module in pkgutil.walk_packages(trued.__path__, "trued."):
        if not module.name.endswith("__main__") and not module.name.startswith("trued.proof.probes"):
            importlib.import_module(module.name)
    gc.unfreeze()  # a test that ran a command in this process may have frozen them: then they would not be listed
    found = [one for one in gc.get_objects() if isinstance(one, LazyRegex)]
    assert len(found) > 300
    assert {type(one.groups) for one in found} == {int}


def test_it_works_like_a_compiled_one() -> None:
    word = lazy_regex(r"(?P<first>\w)\w*", re.ASCII)
    assert word.fullmatch("one")
    assert (word.findall("one two"), word.sub("x", "one two"), word.split(" one ")) == (
        ["o", "t"],
        "x x",
        [" ", "o", " "],
    )
    assert (word.pattern, word.groupindex, word.flags) == (r"(?P<first>\w)\w*", {"first": 1}, re.ASCII)
    assert lazy_regex(rb"\d+").findall(b"1 22") == [b"1", b"22"]
    assert copy.copy(word).fullmatch("one")


def test_an_error_shows_at_the_first_use() -> None:
    broken = lazy_regex("(")
    with pytest.raises(re.error):
        broken.search("")
    with pytest.raises(AttributeError):
        _ = lazy_regex("x").nothing  # type: ignore[attr-defined]
