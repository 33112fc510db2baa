"""Every public value can be imported from `trued.model`; the names for type checkers are the same."""

import ast
from pathlib import Path

import pytest

from trued import model


def test_names_for_type_checkers_are_those_that_a_program_finds() -> None:
    tree = ast.parse(Path(model.__file__).read_text())
    checked = {
        one.name: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names
    }
    checked = {name: module for name, module in checked.items() if module and module.startswith("trued.model.")}
    found = {name: f"trued.model.{module}" for module, names in vars(model)["NAMES"].items() for name in names.split()}
    assert found == checked
    assert all(hasattr(model, name) for name in found)


def test_a_name_that_is_not_there_is_an_ordinary_error() -> None:
    with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
        exec("from trued.model import Nonsense")
