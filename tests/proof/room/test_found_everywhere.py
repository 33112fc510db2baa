"""A check finds the project only where a user's Python would: nothing works only because of our PYTHONPATH."""

from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Change, Trial
from trued.model import Grade

KIT: dict[str, str | None] = {"kit/__init__.py": "", "kit/core.py": "def three():\n    return 3\n"}
IN_SRC: dict[str, str | None] = {f"src/{path}": text for path, text in KIT.items()}
GONE: dict[str, str | None] = dict.fromkeys(KIT)
SAYS = "from kit.core import three\n\nprint(three())\n"
BY_ITSELF = f"import sys\nfrom pathlib import Path\n\nsys.path.insert(0, str(Path(__file__).parents[1]))\n{SAYS}"
PROJECT = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n\n'
PROJECT += '[project]\nname = "kit"\nversion = "1"\n'
SHELL = "#!/bin/sh\nexec python tools/say.py\n"


def runs(*line: str) -> list[dict[str, Any]]:
    return [{"run": [*line], "stdout": "3\n"}]


async def graded(place: Path, base: dict[str, str | None], cases: list[dict[str, Any]], head: Change) -> Grade:
    checks = [{"kind": "examples", "cases": cases}]
    trial = Trial(place, base, [{"id": "three", "text": "it says 3", "checks": checks}])
    (judged,) = await trial.judged(await trial.seal(), head)
    return judged.grade


@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.many(2)
@pytest.mark.parametrize(
    ("base", "line", "head"),
    [
        pytest.param(KIT, "python tools/say.py", {"tools/say.py": SAYS}, id="a script below the top"),
        pytest.param(KIT, "python -W error tools/say.py", {"tools/say.py": SAYS}, id="after an option with a value"),
        pytest.param(KIT, "sh go.sh", {"tools/say.py": SAYS, "go.sh": SHELL}, id="a shell starts it"),
        pytest.param(KIT, "python go.py", {**GONE, **IN_SRC, "go.py": SAYS}, id="the module moves to src"),
        pytest.param(
            {**KIT, "requirements.txt": "# none\n"}, "python bin/say.py", {"bin/say.py": SAYS}, id="a list of packages"
        ),
        pytest.param(
            {**KIT, "tools/old.py": BY_ITSELF}, "python tools/say.py", {"tools/say.py": SAYS}, id="the base's finds it"
        ),
        pytest.param({"README.md": "x\n"}, "python bin/say.py", {**KIT, "bin/say.py": SAYS}, id="on an empty base"),
        *(
            pytest.param({**KIT, path: text}, "python tools/say.py", {"tools/say.py": SAYS}, id=f"{path} only speaks")
            for path, text in {
                "README.md": "You need not set PYTHONPATH.\n",
                "notes.rst": "Without it: PYTHONPATH=. python x.py\n",
                "Makefile": "# no PYTHONPATH=. here\nsay:\n\tunset PYTHONPATH; python x.py\n",
                "init.sh": 'echo "$PYTHONPATH: unused"\n',
            }.items()
        ),
    ],
)
async def test_a_program_that_finds_the_project_only_by_our_variable_is_refuted(
    tmp_path: Path, base: dict[str, str | None], line: str, head: dict[str, str | None]
) -> None:
    assert await graded(tmp_path, base, runs(*line.split()), head) is Grade.REFUTED


@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.many(1)
@pytest.mark.parametrize(
    "cases",
    [
        [{"call": "more:three", "args": [], "returns": 3}],
        runs("python", "-m", "more"),
        runs("python", "-c", "import more; print(more.three())"),
    ],
    ids=["a call", "a module", "code"],
)
@pytest.mark.parametrize("manifest", [{}, {"pyproject.toml": PROJECT + '[tool.setuptools]\npackages = ["kit"]\n'}])
async def test_a_new_folder_src_that_nothing_leads_to_is_not_found(
    tmp_path: Path, cases: list[dict[str, Any]], manifest: dict[str, str | None]
) -> None:
    more = 'def three():\n    return 3\n\n\nif __name__ == "__main__":\n    print(three())\n'
    assert await graded(tmp_path, {**KIT, **manifest}, cases, {"src/more.py": more}) is Grade.REFUTED


HONEST = [
    pytest.param({**KIT, "pyproject.toml": PROJECT}, "python tools/say.py", {"tools/say.py": SAYS}, id="flat project"),
    pytest.param(
        {**IN_SRC, "pyproject.toml": PROJECT}, "python tools/say.py", {"tools/say.py": SAYS}, id="project with src"
    ),
    pytest.param(
        {**KIT, "setup.py": "from setuptools import setup\nsetup(name='kit', packages=['kit'])\n"},
        "python bin/say.py",
        {"bin/say.py": SAYS},
        id="setup.py",
    ),
    pytest.param({"README.md": "x\n"}, "python bin/say.py", {**KIT, "bin/say.py": SAYS, "pyproject.toml": PROJECT},
                 id="all new, with a manifest"),
    pytest.param({"README.md": "x\n"}, "python -m kit.say", {**IN_SRC, "src/kit/say.py": SAYS},
                 id="all new in src, without a manifest"),
    pytest.param({"README.md": "x\n"}, "python src/say.py", {**IN_SRC, "src/say.py": SAYS}, id="beside the modules"),
    pytest.param(KIT, "python say.py", {"say.py": SAYS}, id="a script at the top"),
    pytest.param(KIT, "python -m kit.say", {"kit/say.py": SAYS}, id="a module at the top"),
    pytest.param(KIT, "python tools/say.py", {"tools/say.py": BY_ITSELF}, id="it finds the project itself"),
    pytest.param(IN_SRC, "python -m kit.say", {"src/kit/say.py": SAYS}, id="src of the base, without a manifest"),
    pytest.param(
        {**KIT, "Makefile": "say:\n\tPYTHONPATH=. python tools/old.py\n"},
        "python tools/say.py",
        {"tools/say.py": SAYS},
        id="the base sets the variable",
    ),
    *(
        pytest.param({**KIT, path: text}, "python tools/say.py", {"tools/say.py": SAYS}, id=f"{path} sets it")
        for path, text in {
            "compose.yaml": "environment:\n  PYTHONPATH: .\n",
            "pod.yml": "env:\n  - name: PYTHONPATH\n    value: .\n",
            "justfile": "export PYTHONPATH := '.'\n",
            "Dockerfile": "ENV PYTHONPATH /app\n",
            "tools.toml": '[env]\n"PYTHONPATH" = "."\n',
            "init.sh": 'export FIRST=1 PYTHONPATH="$PYTHONPATH:."\n',
        }.items()
    ),
    pytest.param({**KIT, "tools/old.py": SAYS}, "python tools/say.py", {"tools/say.py": SAYS}, id="as the base does"),
    pytest.param(
        {**KIT, "pyproject.toml": PROJECT},
        "python -m more",
        {"src/more.py": "print(3)\n", "pyproject.toml": PROJECT + '[tool.setuptools]\npackage-dir = {"" = "src"}\n'},
        id="a manifest leads to the new src",
    ),
    pytest.param(KIT, "python -m kit.say", {
        **GONE, **IN_SRC, "src/kit/say.py": SAYS, "pyproject.toml": PROJECT,
    }, id="a project moves to src"),
    pytest.param(
        {"server/pyproject.toml": PROJECT, **{f"server/{path}": text for path, text in KIT.items()}},
        "python server/tools/say.py",
        {"server/tools/say.py": SAYS},
        id="a project below the top",
    ),
]  # fmt: skip


@pytest.mark.spec("LAW-4", "LAW-8")
@pytest.mark.many(3)
@pytest.mark.parametrize(("base", "line", "head"), HONEST)
async def test_what_a_user_can_start_is_still_proven(
    tmp_path: Path, base: dict[str, str | None], line: str, head: dict[str, str | None]
) -> None:
    assert await graded(tmp_path, base, runs(*line.split()), head) is Grade.PROVEN


@pytest.mark.spec("LAW-4", "LAW-11")
async def test_a_new_folder_src_that_is_not_found_is_named(tmp_path: Path) -> None:
    checks = [{"kind": "examples", "cases": [{"call": "more:three", "args": [], "returns": 3}]}]
    trial = Trial(tmp_path, KIT, [{"id": "three", "text": "it says 3", "checks": checks}])
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head({"src/more.py": "def three():\n    return 3\n"}))
    assert any("new folder src" in note for note in verdict.undecided)


@pytest.mark.spec("LAW-4")
async def test_folders_that_the_requirements_name_are_found_everywhere(tmp_path: Path) -> None:
    checks = [{"kind": "examples", "cases": runs("python", "tools/say.py")}]
    trial = Trial(tmp_path, IN_SRC, [{"id": "three", "text": "it says 3", "checks": checks}], path=["src"])
    (judged,) = await trial.judged(await trial.seal(), {"tools/say.py": SAYS})
    assert judged.grade is Grade.PROVEN, judged.why
