"""A base's own checks beside its suites (`make check`, scripts among tests that tell by their exit code) guard nothing
here. A change of what only they check is not proven; all other work is."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.proof.trial import Trial, asked_three, lay, only
from trued.model import Grade
from trued.proof.reach.own_checks import own_checks

CORE = "def rate(x):\n    return x * 2\n\n\ndef other():\n    return 5\n"
KIT = "import core\n\n\ndef two():\n    return 2\n"
THREE = f"{KIT}\n\ndef three():\n    return 3\n"
PASSES = "import core\nimport kit\n\n\ndef test_two():\n    assert kit.two() == 2\n\n\n"
PASSES += "def test_other():\n    assert core.other() == 5\n"
SELFTEST = (
    "import pathlib\nimport sys\n\nsys.path.insert(0, str(pathlib.Path(__file__).parent.parent))\nimport core\n\n"
)
SELFTEST += "if core.rate(1) != 2:\n    sys.exit(1)\n"
CHECK_API = "import sys\n\nimport core\n\n\ndef main():\n    return 0 if core.rate(1) == 2 else 1\n\n\n"
CHECK_API += "if __name__ == '__main__':\n    sys.exit(main())\n"
SMOKE = "set -e\n[ \"$(python -c 'import core; print(core.rate(1))')\" = 2 ]\n"
PROGRAM = "import core\n\n\ndef run():\n    print(core.rate(1))\n\n\nif __name__ == '__main__':\n    run()\n"
STARTED = "import subprocess\nimport sys\n\ndone = subprocess.run([sys.executable, '-m', 'app'], capture_output=True)\n"
STARTED += "sys.exit(done.stdout != b'2\\n')\n"
MAKE = "check:\n\tpython tools/selftest.py\n"
NOX = "import nox\n\n\n@nox.session\ndef tests(session):\n    session.run('pytest')\n"
NOX += "    session.run('python', 'tools/selftest.py')\n"
CHECK_SH = "#!/bin/sh\nset -e\nruff check .\npython tools/selftest.py\npytest -q\n"
TOOL = {"tools/selftest.py": SELFTEST}
OFFERED: dict[str, tuple[dict[str, str], str]] = {
    "make": ({"Makefile": MAKE, **TOOL}, "tools/selftest.py"),
    "make, by a prerequisite": (
        {
            "Makefile": "T = tools/selftest.py\ncheck: unit api\nunit:\n\tpytest\napi:\n\t@python $(T)\n",
            **TOOL,
        },
        "tools/selftest.py",
    ),
    "make, by a script": (
        {"Makefile": "test:\n\t./tools/check.sh\n", "tools/check.sh": CHECK_SH, **TOOL},
        "tools/selftest.py",
    ),
    "make, in the recipe": (
        {"Makefile": "check: ; python -c 'import core; assert core.rate(1) == 2'\n"},
        "Makefile::check",
    ),
    "make, by the product": (
        {"Makefile": 'check:\n\ttest "`python app.py`" = 2 && python app.py\n', "app.py": PROGRAM},
        "Makefile::check",
    ),
    "just": (
        {"justfile": "test-all: unit\n    uv run python tools/selftest.py\nunit:\n    pytest\n", **TOOL},
        "tools/selftest.py",
    ),
    "tox": (
        {"tox.ini": "[testenv]\ncommands =\n    pytest\n    python {toxinidir}/tools/selftest.py\n", **TOOL},
        "tools/selftest.py",
    ),
    "nox": ({"noxfile.py": NOX, **TOOL}, "tools/selftest.py"),
    "a script of a package.json": (
        {"package.json": json.dumps({"scripts": {"lint": "python tools/selftest.py"}}), **TOOL},
        "tools/selftest.py",
    ),
    "a shell script": ({"tests/smoke.sh": SMOKE}, "tests/smoke.sh"),
    "a shell script that starts the product": (
        {"tests/smoke.sh": "python -m app | grep -qx 2\n", "app.py": PROGRAM},
        "tests/smoke.sh",
    ),
    "a program among tests": ({"tests/check_api.py": CHECK_API}, "tests/check_api.py"),
    "a program whose functions have names that tests use": (
        {"tests/check_api.py": CHECK_API.replace("main", "two")},
        "tests/check_api.py",
    ),
    "a program among tests that starts the product": (
        {"tests/check_app.py": STARTED, "app.py": PROGRAM},
        "tests/check_app.py",
    ),
}
JS = "require('child_process').execSync('python3 tools/selftest.py');\n"
BY_JUST = {
    "quiet": "@check:\n    python tools/selftest.py\n",
    "with a parameter": 'check level="a: b" *more: unit\n    python tools/selftest.py\nunit:\n    pytest\n',
    "by another name": "alias check := prices\nprices:\n    python tools/selftest.py\n",
    "by a setting": 'py := "python3"\ncheck:\n    {{ py }} tools/selftest.py\n',
    "by what only just knows": "py := `which python3`\ncheck:\n    {{ py }} tools/selftest.py\n",
    "from a file": "check:\n    python < tools/selftest.py\n",
    "from a pipe": "check:\n    cat tools/selftest.py | python -\n",
    "after an option": "check:\n    python -X dev tools/selftest.py\n",
    "in a shell script": "check:\n    #!/usr/bin/env bash\n    set -e\n    python tools/selftest.py\n",
}
OFFERED |= {f"just, {way}": ({"justfile": text, **TOOL}, "tools/selftest.py") for way, text in BY_JUST.items()}
OFFERED |= {
    "just, in a script": (
        {"justfile": "check:\n    #!/usr/bin/env python3\n    import core\n    assert core.rate(1) == 2\n"},
        "justfile::check",
    ),
    "just, by a header that nobody understands": (
        {"justfile": "check *args='$(x)' !!\n    pytest\n    ./compiled\n"},
        "justfile::check",
    ),
    "a folder": ({"justfile": "check:\n    python tools\n", "tools/__main__.py": SELFTEST}, "tools/__main__.py"),
    "nox, by a name": (
        {"noxfile.py": NOX.replace(".session\ndef tests", ".session(name='check')\ndef a"), **TOOL},
        "tools/selftest.py",
    ),
}
# Own checks whose names say little about the functions that they reach.
NAMED: dict[str, tuple[dict[str, str], str]] = {
    "just, unread": ({"justfile": "check (x):\n    python {{ tool }}\n", **TOOL}, "justfile::check"),
    "tsx": (
        {"package.json": json.dumps({"scripts": {"lint:api": "npx tsx tools/a.ts"}}), "tools/a.ts": JS, **TOOL},
        "tools/a.ts",
    ),
    "deno": (
        {"package.json": json.dumps({"scripts": {"lint:api": "deno run -A tools/a.ts"}}), "tools/a.ts": JS, **TOOL},
        "tools/a.ts",
    ),
    "node, with an option": (
        {
            "package.json": json.dumps({"scripts": {"check": "node -r ./tools/setup.js tools/a.js"}}),
            "tools/setup.js": "",
            "tools/a.js": JS,
            **TOOL,
        },
        "tools/a.js",
    ),
    "nox, computed": (
        {"noxfile.py": NOX.replace("'python', 'tools/selftest.py'", "*COMMAND"), **TOOL},
        "noxfile.py::tests",
    ),
}
QUICK = ("make", "make, in the recipe", "a shell script", "a program among tests")


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in OFFERED]
)
async def test_code_that_only_own_checks_reach_is_not_proven(name: str, tmp_path: Path) -> None:
    files, place = OFFERED[name]
    trial = Trial(tmp_path, {"core.py": CORE, "kit.py": KIT, "tests/test_kit.py": PASSES, **files}, asked_three())
    contract = await trial.seal_with_existing_tests()
    assert contract.uncollected == (place,)
    liar = await trial.prove(contract, await trial.head({"kit.py": THREE, "core.py": CORE.replace("x * 2", "0")}))
    assert only(liar).grade is Grade.TESTED, only(liar).why
    assert "core.py" in only(liar).why[0]
    assert any(place in one for one in liar.undecided), liar.undecided
    plain = {"kit.py": THREE}
    guarded = {"kit.py": THREE, "core.py": CORE.replace("return 5", "return 2 + 3")}
    honest = await trial.judged(contract, plain, guarded)
    assert [one.grade for one in honest] == [Grade.PROVEN] * 2, honest


LATIN = "# coding: latin-1\n" + CORE.replace("x * 2", "x * {'é': 2, 'è': 0}['é']")
HIDDEN = f"# coding: utf-7\n{CORE}#+AAo-def rate(x): return 0\n"


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_code_that_an_encoding_hides_is_altered(tmp_path: Path) -> None:
    def change(core: str, kit: str) -> Callable[[Path], None]:
        def write(folder: Path) -> None:
            lay(folder, {"kit.py": kit})
            (folder / "core.py").write_text(core, encoding="latin-1")

        return write

    def base(folder: Path) -> None:
        lay(folder, {"tests/test_kit.py": PASSES, "Makefile": MAKE, **TOOL})
        change(LATIN, KIT)(folder)

    trial = Trial(tmp_path, base, asked_three())
    contract = await trial.seal_with_existing_tests()
    liars = change(LATIN.replace("['é']", "['è']"), THREE), change(HIDDEN, THREE)
    honest = change(LATIN, THREE), change(LATIN.replace("return 5", "return 2 + 3"), THREE)
    grades = [one.grade for one in await trial.judged(contract, *liars, *honest)]
    assert grades == [Grade.TESTED] * 2 + [Grade.PROVEN] * 2


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("name", NAMED)
async def test_a_check_that_is_not_understood_is_named(name: str, tmp_path: Path) -> None:
    files, place = NAMED[name]
    trial = Trial(tmp_path, {"core.py": CORE, **files}, [])
    await trial.workspace.begin()
    assert place in (await own_checks(trial.workspace, trial.workspace.base, ["pytest"])).beside


ORDINARY = (
    "PYTHON ?= python3\nBIN := .venv/bin\n.PHONY: setup test check lint\nsetup: ## Install\n\t@tools/setup.sh test\n"
)
ORDINARY += "test: setup ## Tests\n\t@tools/setup.sh test\n\t@$(BIN)/pytest -n 3 $(ARGS)\n"
ORDINARY += "check: lint test\nlint:\n\truff check . > tools/deploy.py\n\t$(PYTHON) -m mypy src tests\n"
ORDINARY += "\tuv run ruff format --check\n"
ORDINARY += "deploy:\n\tpython tools/deploy.py\nbuild:\n\tpython setup.py build\n"
SETUP = "#!/bin/bash\nset -euo pipefail\n[ -d .venv ] || python3 -m venv .venv\n"
SETUP += 'if [ "$1" = test ]; then pip install -e .; fi\n'
DJANGO = "import os\nimport sys\n\nif __name__ == '__main__':\n"
DJANGO += "    from django.core.management import execute_from_command_line\n\n"
DJANGO += "    execute_from_command_line(sys.argv)\n"
RUNTESTS = (
    "import subprocess\nimport sys\n\nsys.exit(subprocess.call([sys.executable, '-m', 'pytest', *sys.argv[1:]]))\n"
)
USES_SCRIPT = "import subprocess\n\n\ndef test_it():\n    assert not subprocess.call(['sh', 'tests/smoke.sh'])\n"
TOX = "[tox]\nenvlist = py311,lint\n\n[testenv]\ncommands = pytest {posargs}\n\n"
TOX += "[testenv:lint]\ncommands =\n    ruff check\n    mypy src\n"
COVERED: dict[str, dict[str, str]] = {
    "an ordinary Makefile": {"Makefile": ORDINARY, "tools/setup.sh": SETUP, "tools/deploy.py": SELFTEST},
    "a linter of the project's own": {
        "Makefile": "check:\n\tpython tools/lint.py\n",
        "tools/lint.py": "import json\nimport pathlib\n\nWORDS = json.load(open('words.json'))\n"
        "for path in pathlib.Path('.').rglob('*.py'):\n    assert not {*WORDS} & {*path.read_text().split()}\n",
        "words.json": '["teh"]\n',
    },
    "only the suite": {"Makefile": "test:\n\tpytest\n"},
    "a script that starts the suite": {
        "Makefile": "check:\n\t./scripts/check.sh\n",
        "scripts/check.sh": "set -e\nruff check .\nmypy src\npython -m pytest -q\n",
    },
    "a program that starts the suite": {
        "Makefile": "test:\n\tpython tools/runtests.py\n",
        "tools/runtests.py": RUNTESTS,
    },
    "Django": {"Makefile": "test:\n\tpython manage.py test\n", "manage.py": DJANGO},
    "tox": {"tox.ini": TOX},
    "nox": {"noxfile.py": NOX.replace("'python', 'tools/selftest.py'", "'mypy', 'src'")},
    "just": {"justfile": "default: test\n\ntest *args:\n    uv run pytest {{args}}\n\nlint:\n    ruff check\n"},
    "just, in many ways": {
        "justfile": 'set shell := ["bash", "-c"]\nimport "more.just"\npy := "python3"\nexport A := "b"\n[private]\n'
        "default:\n    @just --list\n\n# all\n@check *args: (unit 'x: y') lint && done\n"
        "    {{ py }} -m pytest {{ args }}\n"
        "default:\n    @just --list\n\n# all\n"
        "@check *args: (unit 'x: y') lint && done\n    {{ py }} -m pytest {{ args }}\n"
        'unit what="all":\n    pytest {{what}}\ndone:\nlint:\n    #!/usr/bin/env bash\n    set -e\n    ruff check .\n'
        '    mypy core.py kit.py\n    run() { "$@"; }\n    cat core.py | wc -l\nverify:\n    #!/usr/bin/env python3\n'
        "    import pathlib\n    print(pathlib.Path('core.py').read_text())\n"
    },
    "linters of single files": {
        "Makefile": "lint:\n\truff check core.py\n\tmypy core.py kit.py\n\t$(RUN) pytest $(ARGS)\n"
        "\tpython -m mypy app\n"
        "\tfor f in *.py; do ruff check $$f; done\n",
        "app/__main__.py": PROGRAM,
        "app/__init__.py": "",
    },
    "nox with arguments": {
        "noxfile.py": "import sys\nimport nox\n\n\n@nox.session(python=['3.11'])\ndef tests(session):\n"
        "    session.install(*NEEDED)\n    session.run('pytest', *session.posargs)\n"
        "    session.run(sys.executable, '-m', 'pytest', *session.posargs)\n    session.run('mypy', *FILES)\n"
    },
    "a script that a counted test starts": {"tests/smoke.sh": SMOKE, "tests/test_smoke.py": USES_SCRIPT},
    "a program that a counted test starts": {
        "Makefile": MAKE,
        **TOOL,
        "tests/test_tool.py": "import runpy\n\n\ndef test_it():\n    runpy.run_path('tools/selftest.py')\n",
    },
    "a script that starts the suite, among tests": {"tests/all.sh": 'cd "$(dirname "$0")/.."\npython -m pytest -q\n'},
    "a program that starts the suite, among tests": {"tests/all.py": RUNTESTS},
    "a program that stands in for another": {
        "tests/far.py": "import sys\n\nsys.exit(len(sys.argv) != 2)\n",
        "tests/near.py": STARTED,
        "tests/helpers.py": "NEAR = 'near.py'\n",
        "tests/conftest.py": "import helpers\n",
    },
    "a script that prepares": {"tests/services.sh": "docker compose up -d\ncreatedb shop\n"},
    "a program that makes data": {
        "tests/make_data.py": "import json\n\nif __name__ == '__main__':\n    print(json.dumps([1]))\n"
    },
    "helpers": {
        "tests/helpers.py": "import sys\n\n\ndef stop():\n    sys.exit(3)\n",
        "tests/conftest.py": "import helpers\n",
    },
}


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("name", COVERED)
@pytest.mark.many(2)
async def test_what_the_suite_covers_is_no_check_of_its_own(name: str, tmp_path: Path) -> None:
    files = {"core.py": CORE, "kit.py": KIT, "tests/test_kit.py": PASSES, **COVERED[name]}
    trial = Trial(tmp_path, files, asked_three())
    assert (await trial.seal_with_existing_tests()).uncollected == ()


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("commands", "found"),
    [(["make test"], []), (["pytest"], ["tools/selftest.py"]), (["make lint"], ["tools/selftest.py"])],
)
async def test_what_a_suite_runs_is_not_named(commands: list[str], found: list[str], tmp_path: Path) -> None:
    files = {
        "Makefile": "test:\n\tpython tools/selftest.py\ncheck: test\nlint:\n\truff check\n",
        "core.py": CORE,
        **TOOL,
    }
    trial = Trial(tmp_path, files, asked_three())
    await trial.workspace.begin()
    assert (await own_checks(trial.workspace, trial.workspace.base, commands)).beside == found


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("make check", {"Makefile": MAKE, **TOOL}),
        pytest.param("python tests/check_api.py", {"tests/check_api.py": CHECK_API}, marks=pytest.mark.slow),
    ],
)
async def test_a_check_that_a_requirement_names_is_run(command: str, files: dict[str, str], tmp_path: Path) -> None:
    check = {"kind": "command", "command": f"PYTHONPATH=. {command}"}
    kept = {"id": "check", "text": "it passes", "keep": True, "checks": [check]}
    base = {"core.py": CORE, "kit.py": KIT, "tests/test_kit.py": PASSES, **files}
    trial = Trial(tmp_path, base, [*asked_three(), kept])
    contract = await trial.seal_with_existing_tests()
    assert contract.uncollected == ()
    liar = await trial.prove(contract, await trial.head({"kit.py": THREE, "core.py": CORE.replace("x * 2", "0")}))
    assert [one.grade for one in liar.requirements] == [Grade.PROVEN, Grade.REFUTED], liar
    honest = await trial.prove(contract, await trial.head({"kit.py": THREE}))
    assert [one.grade for one in honest.requirements] == [Grade.PROVEN, Grade.TESTED], honest
