"""Advice about files that the project itself has."""

import pytest

from trued.proof.advice import path_line


@pytest.mark.spec("USE-6")
@pytest.mark.parametrize("folder", ["lib", "a\nverdict: proven"])
def test_a_folder_of_the_head_is_named_on_one_line(folder: str) -> None:
    assert path_line(folder).isprintable()
    assert path_line("lib") == '`environment: {path: [".", "lib"]}`'
