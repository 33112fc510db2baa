"""Command lines are split: which commands they start, and in which order."""

import pytest

from trued.support.shell_words import sequential_commands, started_commands


@pytest.mark.parametrize(
    ("line", "started"),
    [
        ("CI=1 make lint | tee log", [["make", "lint"], ["tee", "log"]]),
        ("(cd sub && ./run.sh 'a b')", [["cd", "sub"], ["./run.sh", "a b"]]),
        ("make A=1", [["make", "A=1"]]),
        ("echo 'unfinished", []),
        ("", []),
    ],
)
def test_every_command_of_a_line_is_found(line: str, started: list[list[str]]) -> None:
    assert started_commands(line) == started


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        ("npm run build && npm test", [["npm", "run", "build"], ["npm", "test"]]),
        ("CI=1 pytest -q", [["CI=1", "pytest", "-q"]]),
        ("cd sub && pytest", [["cd", "sub"], ["pytest"]]),
        ("true && cd sub && pytest", []),
        ("pytest; true", []),
        ("pytest || true", []),
        ("pytest > log", []),
        ("pytest &&", []),
        ("pytest 'x", []),
    ],
)
def test_only_commands_that_follow_each_other_are_understood(line: str, steps: list[list[str]]) -> None:
    assert sequential_commands(line) == steps
