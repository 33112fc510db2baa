"""Ways to decide whether work is done, from the least to the most: three that are in use everywhere, and ours."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bench.show import ROOT
from tests.corpus.kit import Built, git

WITHIN_S = 60.0
VERIFY_S = 600.0
PLAIN_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Asked:
    """One head to decide on. `gold` builds the honest head of the same project: SWE-bench's rule learns its ids so."""

    built: Built
    project: str  # heads of one project have the same base and requirements
    gold: Callable[[Path], Built]


@dataclass(frozen=True, slots=True)
class Said:
    accepted: bool
    short: frozenset[str] | None = None  # requirements that are not met, where a gate can tell


Gate: TypeAlias = Callable[[Asked], Said]


def surroundings(home: Path) -> dict[str, str]:
    return {"PATH": f"{Path(sys.executable).parent}:{PLAIN_PATH}", "HOME": str(home), "LANG": "C.UTF-8"}


def ended(command: list[str], folder: Path, variables: Mapping[str, str], within_s: float) -> tuple[int | None, bytes]:
    """Exit code and stdout; None when it took too long. Nothing of it stays."""
    process = subprocess.Popen(
        command, cwd=folder, env=dict(variables), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, b""
    return process.returncode, said


def is_node(folder: Path) -> bool:
    return (folder / "package.json").exists()


def suite(folder: Path, report: Path | None = None) -> list[str]:
    """The project's own test command."""
    if is_node(folder):
        return [
            "node",
            "--test",
            *(["--test-reporter=junit", f"--test-reporter-destination={report}"] if report else []),
        ]
    return ["python", "-m", "pytest", "-q", *([f"--junitxml={report}"] if report else [])]


def exit_code(asked: Asked) -> Said:
    """The test command in the agent's own workspace."""
    code, _ = ended(suite(asked.built.head), asked.built.head, surroundings(asked.built.home), WITHIN_S)
    return Said(code == 0)


def clean_clone(asked: Asked) -> Said:
    """The test command in a fresh clone of the head: what a build server does."""
    with tempfile.TemporaryDirectory() as place:
        clone, home = Path(place) / "clone", Path(place) / "home"
        home.mkdir()
        git(Path(place), "clone", "-q", str(asked.built.head), str(clone), home=home)
        code, _ = ended(suite(clone), clone, surroundings(home), WITHIN_S)
        return Said(code == 0)


# -- SWE-bench's rule --------------------------------------------------------------------------------------------------

_learned: dict[str, frozenset[str]] = {}
_learning = threading.Lock()


def swebench_rule(asked: Asked) -> Said:
    """A fresh clone, the base's test files restored, and the ids that the honest head made or left green."""
    with _learning:
        if asked.project not in _learned:
            with tempfile.TemporaryDirectory() as place:
                gold = asked.gold(Path(place) / "gold")
                _learned[asked.project] = _passing(gold, gold.head)
    wanted = _learned[asked.project]
    return Said(bool(wanted) and wanted <= _passing(asked.built, asked.built.head))


def _passing(built: Built, head: Path) -> frozenset[str]:
    with tempfile.TemporaryDirectory() as place:
        clone, home, report = Path(place) / "clone", Path(place) / "home", Path(place) / "report.xml"
        home.mkdir()
        git(Path(place), "clone", "-q", str(head), str(clone), home=home)
        for name in _test_files(built.requirements):
            source = built.base / name
            target = clone / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_symlink() or target.is_file():
                target.unlink()
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            elif source.exists():
                shutil.copy(source, target)
        ended(suite(clone, report), clone, surroundings(home), WITHIN_S)
        return frozenset(_green(report))


def _test_files(requirements: Path) -> list[str]:
    data = json.loads(requirements.read_text())
    checks = [check for one in data["requirements"] for check in one.get("checks", ())]
    return sorted({name for check in checks if check["kind"] == "tests" for name in check.get("files", ())})


def _green(report: Path) -> list[str]:
    try:
        cases = ET.parse(report).getroot().iter("testcase")
    except (OSError, ET.ParseError):
        return []
    bad = ("failure", "error", "skipped")
    return [
        f"{one.get('classname')}::{one.get('name')}" for one in cases if not any(one.find(b) is not None for b in bad)
    ]


# -- ours --------------------------------------------------------------------------------------------------------------


def trued(asked: Asked) -> Said:
    """`trued verify`, cold: nothing is known of the base."""
    built = asked.built
    with tempfile.TemporaryDirectory() as home:
        variables = {**surroundings(built.home), "VIRTUAL_ENV": sys.prefix, "TRUED_HOME": home, "NO_COLOR": "1"}
        command = [sys.executable, "-m", "trued", "verify", "--json"]
        command += ["--base", str(built.base), "--head", str(built.head), "--requirements", str(built.requirements)]
        variables["PYTHONPATH"] = str(ROOT / "src")
        code, said = ended(command, built.requirements.parent, variables, VERIFY_S)
    try:
        found = json.loads(said)["requirements"]
    except (ValueError, KeyError):
        return Said(code == 0)
    met = ("attested", "proven")
    return Said(code == 0, frozenset(one["id"] for one in found if one["grade"] not in met))


GATES: dict[str, Gate] = {
    "exit-code": exit_code,
    "clean-clone": clean_clone,
    "swebench-rule": swebench_rule,
    "trued": trued,
}
