"""What one command line starts, and when only the shell knows it."""

import pytest

from trued.proof.room.started_files import hides_program
from trued.proof.text.command_parser import scripts_started
from trued.proof.text.given_code import may_load


@pytest.mark.parametrize(
    "line",
    [
        "$CMD",
        "$CMD $ARGS",
        "python3 $f",
        "for t in tests/*.t; do $t || exit 1; done",
        "for t in tests/*.t; do ./$t; done",
        "if $CMD; then echo ok; fi",
        "exec $CMD",
        "env A=1 $CMD",
    ],
)
def test_a_program_that_only_the_shell_knows(line: str) -> None:
    assert hides_program(line)


@pytest.mark.parametrize(
    "line",
    [
        "pytest > $OUT",
        "echo ok >> $GITHUB_STEP_SUMMARY",
        "tmp=$(mktemp); ./bin/tool > $tmp; diff want $tmp",
        "python -m pytest $ARGS",
        "${PYTHON:-python3} tools/check.py",
        'if [ -z "$V" ]; then echo no; fi',
        "$(MAKE) -C sub check",
    ],
)
def test_a_program_that_the_line_names(line: str) -> None:
    assert not hides_program(line)


@pytest.mark.parametrize("line", ["npm test -- test/start/a.js", "npm test -- --grep=start"])
def test_a_part_of_a_path_or_an_option_is_no_script(line: str) -> None:
    scripts = {"test": "node --test", "start": "node src/index.js"}
    assert [*scripts_started(scripts, line)] == ["test"]
    assert [*scripts_started(scripts, "npm run start&&npm run test")] == ["test", "start"]


@pytest.mark.parametrize("name", ["../lib", "../lib/index.js", "../lib/index"])
def test_a_test_that_loads_the_main_module_of_a_folder_makes_it_the_product(name: str) -> None:
    assert may_load("node", f"const {{ rate }} = require('{name}')", "lib/index.js")
    assert not may_load("node", "const { rate } = require('./other.js')", "lib/index.js")
