"""Cases with command lines: the project's programs, their input, and missing programs."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, only
from trued.model import Contract, ExamplesCheck, Grade, Outcomes
from trued.proof.checks.examples import run_examples
from trued.proof.room.bench import CaseSelection, Fact
from trued.proof.room.clean_room import clean_room
from trued.proof.room.interpreter import find_interpreter

TOOL = "#!/usr/bin/env python3\nimport sys\nprint(len(sys.stdin.read()), *sys.argv[1:])\n"
FILES: dict[str, str | None] = {
    "kit/__init__.py": "",
    "kit/__main__.py": "import sys\nprint('kit', *sys.argv[1:])\nsys.exit(3 if 'bad' in sys.argv else 0)\n",
    "cli.js": "process.stdout.write(process.argv.slice(2).join('+')); process.exitCode = 4;\n",
    "show.py": "import glob, json, os\n"
    "print(json.dumps([glob.glob(os.environ['HOME'] + '/*'), os.path.exists('kit')]))\n",
    "needy.py": "import flask\n",
    "wants.js": "require('express');\n",
}


def executable(folder: Path) -> None:
    for name, content in FILES.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content or "")
    (folder / "bin").mkdir()
    (folder / "bin" / "tool").write_text(TOOL)
    (folder / "bin" / "tool").chmod(0o755)


async def shown(place: Path, *cases: dict[str, Any]) -> Fact:
    trial = Trial(place, executable, [{"id": "a", "text": "b"}])
    await trial.workspace.begin()
    contract = Contract(base=trial.workspace.base, requirements=())
    async with clean_room(trial.workspace, contract, contract.base, await find_interpreter()) as (bench, _):
        return await run_examples(ExamplesCheck.model_validate({"cases": list(cases)}), bench, CaseSelection())


@pytest.mark.spec("LAW-7")
@pytest.mark.skipif(shutil.which("node") is None, reason="no Node on the path")
async def test_programs_of_the_project_are_run_where_it_lies(tmp_path: Path) -> None:
    fact = await shown(
        tmp_path,
        {"run": ["python", "-m", "kit", "a b", "*"], "stdout": "kit a b *\n"},
        {"run": ["python3", "-m", "kit", "bad"], "stdout": "kit bad\n", "exit": 3},
        {"run": ["./bin/tool", "x"], "stdin": "é" * 1_000_000, "stdout": "1000000 x\n"},
        {"run": ["node", "cli.js", "a", "b"], "stdout": "a+b", "exit": 4},
        {"run": ["python", "show.py"], "stdout_json": [[], True]},
        {"run": ["cat", "{files}/in/a.txt"], "files": {"in/a.txt": "text\n"}, "stdout": "text\n"},
    )
    assert [one.kind for one in fact.tried] == [""] * 6, fact.tried
    assert fact.versions["node"].startswith("v")


@pytest.mark.spec("LAW-5")
async def test_what_is_not_there_is_missing_even_where_its_exit_code_was_expected(tmp_path: Path) -> None:
    """Python ends with 2 when there is no such script, and with 1 when there is no such module."""
    fact = await shown(
        tmp_path,
        {"run": ["python", "absent.py", "bad"], "stdout": "", "exit": 2},
        {"run": ["python", "-m", "absent"], "stdout": "", "exit": 1},
        {"run": ["node", "absent.js"], "stdout": "", "exit": 1},
        {"run": ["./bin/absent"], "stdout": "", "exit": 127},
        {"run": ["no-such-program"], "stdout": "", "exit": 127},
        {"run": ["python", "needy.py"], "stdout": "", "exit": 1},
        {"run": ["node", "wants.js"], "stdout": "", "exit": 1},
    )
    outcomes = [(one.outcome, one.kind) for one in fact.tried]
    assert outcomes[:4] == [(Outcomes.MISSING, "missing")] * 4
    kinds = ["program no-such-program", "module flask", "module express"]
    assert outcomes[4:] == [(Outcomes.UNJUDGED, kind) for kind in kinds]


CHECKED = "import pathlib, sys\nsys.exit('good' not in pathlib.Path('product.txt').read_text())\n"
DRIVEN = {"Makefile": "check:\n\t@python3 tools/check.py\n", "tools/check.py": CHECKED, "product.txt": "bad\n"}


@pytest.mark.slow
@pytest.mark.spec("LAW-8", "LAW-11", "DAY-9")
@pytest.mark.parametrize(
    ("command", "base", "head"),
    [
        pytest.param("make check", {}, {"Makefile": "check:\n\t@true\n"}, id="a Makefile of its own"),
        pytest.param("python check.py", {}, {"check.py": "print('ok')\n"}, id="a script of its own"),
        pytest.param("python -m shown", {}, {"shown/__main__.py": "print('ok')\n"}, id="a module of its own"),
        pytest.param(
            "npm run check",
            {"package.json": "{}"},
            {"package.json": '{"scripts": {"check": "true"}}'},
            id="a script of package.json",
            marks=pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm"),
        ),
        pytest.param("make check", DRIVEN, {"tools/check.py": "print('ok')\n"}, id="what the Makefile starts"),
    ],
)
async def test_a_command_that_passes_only_by_what_the_head_wrote_to_run_it_is_its_own_test(
    tmp_path: Path, command: str, base: dict[str, str], head: dict[str, str]
) -> None:
    requirement = {"id": "it", "text": f"`{command}` passes", "checks": [{"kind": "command", "command": command}]}
    verdict = await Trial(tmp_path, {"README.md": "x\n", **base}, [requirement]).verdict(head)
    assert only(verdict).grade is Grade.SELF_TESTED, only(verdict).why
    assert only(verdict).lacks == "attest"


@pytest.mark.slow
@pytest.mark.spec("LAW-8", "DAY-9")
async def test_a_command_of_the_base_that_the_work_turns_green_is_tested(tmp_path: Path) -> None:
    """This holds even if the head changed a driver in a way that does not affect the result."""
    requirement = {"id": "it", "text": "make check passes", "checks": [{"kind": "command", "command": "make check"}]}
    head = {"product.txt": "good\n", "tools/check.py": f"# clearer\n{CHECKED}"}
    assert only(await Trial(tmp_path, DRIVEN, [requirement]).verdict(head)).grade is Grade.TESTED


ONCE = """import os, sys
first = not os.path.exists("ran")
open("ran", "w").close()
print("yes" if first else "no")
"""


@pytest.mark.spec("LAW-6")
async def test_what_passes_only_the_first_time_is_refuted_and_the_reader_is_told_how_state_is_kept(
    tmp_path: Path,
) -> None:
    case = {"run": ["python", "once.py"], "stdout": "yes\n"}
    requirement = {"id": "it", "text": "it says yes", "checks": [{"kind": "examples", "cases": [case]}]}
    verdict = await Trial(tmp_path, {"README.md": "x\n"}, [requirement]).verdict({"once.py": ONCE})
    assert only(verdict).grade is Grade.REFUTED
    assert any("passed the first time" in one for one in only(verdict).why)


@pytest.mark.spec("LAW-6")
async def test_a_guard_that_never_passes_twice_on_the_base_either_is_not_counted(tmp_path: Path) -> None:
    cases = [
        {"run": ["python", "once.py"], "stdout": "yes\n"},
        {"run": ["python", "more.py"], "stdout": "more\n"},
    ]
    requirement = {"id": "it", "text": "it says more", "checks": [{"kind": "examples", "cases": cases}]}
    verdict = await Trial(tmp_path, {"once.py": ONCE}, [requirement]).verdict({"more.py": "print('more')\n"})
    assert only(verdict).grade is Grade.PROVEN, only(verdict).why


@pytest.mark.spec("LAW-11")
async def test_what_cases_leave_for_later_ones_is_said(tmp_path: Path) -> None:
    cases = [{"call": "m:f", "args": [1], "returns": 1}, {"call": "m:f", "args": [2], "returns": 2}]
    requirement = {"id": "it", "text": "it works", "checks": [{"kind": "examples", "cases": cases}]}
    trial = Trial(tmp_path, {"README.md": "x\n"}, [requirement])
    contract = await trial.seal()
    clean = await trial.prove(contract, await trial.head({"m.py": "def f(x):\n    return x\n"}))
    assert not any("left files" in one for one in clean.undecided)
    leaving = "def f(x):\n    open('seen', 'a').write(str(x))\n    return x\n"
    assert any(
        "left files" in one for one in (await trial.prove(contract, await trial.head({"m.py": leaving}))).undecided
    )


@pytest.mark.spec("DAY-12")
async def test_what_came_is_told_in_the_form_in_which_it_was_expected(tmp_path: Path) -> None:
    fact = await shown(
        tmp_path,
        {"run": ["python", "-m", "kit", "Grüße"], "stdout": "kit\n"},
        {"run": ["python", "-c", "import sys; sys.exit('no')"], "stdout": "x"},
    )
    printed, failed = (one.detail for one in fact.tried)
    assert printed == "prints 'kit Grüße\\n', exit code 0"
    assert failed == "prints '', exit code 1, stderr 'no\\n'"


PLUGINS = """import importlib, sys
try:
    importlib.import_module(sys.argv[1])
except ModuleNotFoundError as error:
    sys.exit(f"cannot load the plugin: {error}")
"""
OPTIONS: dict[str, str | None] = {
    "go.sh": "set -o | grep -c 'pipefail.*on'\n",
    "go.py": "import sys\nprint(len(sys.warnoptions))\n",
    "more.cjs": "globalThis.more = 1;\n",
    "go.js": "console.log(globalThis.more);\n",
    "go.pl": 'use Kit; print Kit::ONE, "\\n";\n',
    "lib/Kit.pm": "package Kit; use constant ONE => 1; 1;\n",
}


@pytest.mark.spec("LAW-5", "LAW-8")
async def test_a_program_that_reports_a_missing_plugin_as_expected_lacks_no_package(tmp_path: Path) -> None:
    """The work is to report it; a program that cannot begin for lack of a package still shows nothing."""
    cases = [
        {"run": ["python", "plugins.py", "nonesuch"], "stdout": "", "exit": 1},
        {"run": ["python", "crash.py", "nonesuch"], "stdout": "", "exit": 1},  # the case itself names the plugin
        {"run": ["python", "plugins.py", "json"], "stdout": ""},
    ]
    crash = "import importlib, sys\nimportlib.import_module(sys.argv[1])\n"
    head = {"plugins.py": PLUGINS, "crash.py": crash}
    requirement = {"id": "it", "text": "plugins are loaded", "checks": [{"kind": "examples", "cases": cases}]}
    trial = Trial(tmp_path, {"README.md": "x\n"}, [requirement])
    contract = await trial.seal()
    needy = "import flask\n"
    honest, liar = await trial.judged(contract, head, {**head, "plugins.py": needy, "crash.py": needy})
    assert honest.grade is Grade.PROVEN, honest.why
    assert liar.grade is Grade.REFUTED, liar.why


@pytest.mark.spec("LAW-5")
async def test_a_base_that_reports_a_missing_plugin_in_another_way_is_red(tmp_path: Path) -> None:
    case = {"run": ["python", "plugins.py", "--plugin=nonesuch"], "stdout": "", "exit": 3}
    requirement = {"id": "it", "text": "it ends with 3", "checks": [{"kind": "examples", "cases": [case]}]}
    base = PLUGINS.replace("sys.argv[1]", "sys.argv[1].partition('=')[2]")
    head = base.replace("sys.exit(", "print(").replace('{error}")', '{error}", file=sys.stderr)\n    sys.exit(3)')
    verdict = await Trial(tmp_path, {"plugins.py": base}, [requirement]).verdict({"plugins.py": head})
    assert only(verdict).grade is Grade.PROVEN, only(verdict).why


@pytest.mark.spec("LAW-5")
@pytest.mark.parametrize(
    "line",
    [
        ["bash", "-o", "pipefail", "go.sh"],
        ["bash", "-euo", "pipefail", "go.sh"],
        ["bash", "--norc", "-o", "pipefail", "--", "go.sh"],
        ["python", "-W", "error", "go.py"],
        ["python", "-X", "utf8", "-W", "error", "go.py"],
        ["python", "-BW", "error", "go.py"],
        pytest.param(
            ["node", "--require", "./more.cjs", "go.js"],
            marks=pytest.mark.skipif(shutil.which("node") is None, reason="no Node on the path"),
        ),
        pytest.param(
            ["perl", "-I", "lib", "go.pl"],
            marks=pytest.mark.skipif(shutil.which("perl") is None, reason="no Perl on the path"),
        ),
    ],
    ids=" ".join,
)
async def test_an_option_of_the_interpreter_with_a_value_is_no_script(tmp_path: Path, line: list[str]) -> None:
    """A case that expects exit code 1 shows whether the engine takes the value for a script that does not exist."""
    fails = "raise SystemExit(print(1) or 1)\n"
    base = {name: text for name, text in OPTIONS.items() if name not in ("go.sh", "go.py", "go.js", "go.pl")}
    scripts = {
        "go.sh": f"{OPTIONS['go.sh']}exit 1\n",
        "go.py": f"import sys\nassert sys.warnoptions == ['error']\n{fails}",
        "go.js": f"{OPTIONS['go.js']}process.exitCode = 1;\n",
        "go.pl": f"{OPTIONS['go.pl']}exit 1;\n",
    }
    checks = [{"kind": "examples", "cases": [{"run": line, "stdout": "1\n", "exit": 1}]}]
    trial = Trial(tmp_path, {"README.md": "x\n", **base}, [{"id": "it", "text": "it says 1", "checks": checks}])
    contract = await trial.seal()
    honest, nothing = await trial.judged(contract, scripts, {"README.md": "y\n"})
    assert honest.grade is Grade.PROVEN, honest.why
    assert nothing.grade is Grade.REFUTED, nothing.why
