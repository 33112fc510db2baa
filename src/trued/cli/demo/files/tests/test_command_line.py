"""What the command line promises."""

import pytest
from textkit.__main__ import main


def test_squeeze_prints_the_squeezed_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["squeeze", "a   b"]) == 0
    assert capsys.readouterr().out == "a b\n"


def test_an_unknown_command_gets_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sqeeze", "a"]) == 2
    assert "usage: python -m textkit" in capsys.readouterr().err
