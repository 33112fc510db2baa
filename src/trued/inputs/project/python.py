"""How a Python project is built, tested and started, judged only by files that a fresh clone has."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from trued.inputs.project.manifests import Inside, Project
from trued.proof.room.declared_packages import FAMILIES, LISTS
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import table_at, toml_table

LOOKED = 8  # test files that are read; one is nearly always enough
PACKAGES = 6  # a command names at most this many packages; if there are more, it names the whole folder
STARTED = ("main.py", "app.py")
DEPENDENCY_FILES = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "Pipfile", "pytest.ini")
TEST_FILE = lazy_regex(r"(?:[^/]+/)*(?:test_[^/]*|[^/]*_test)\.py")
_PROGRAM = lazy_regex(r"([A-Za-z_]\w*)/__main__\.py")  # a package beside the manifest runs without being installed
_PACKAGE = lazy_regex(r"([A-Za-z_]\w*)/__init__\.py")
_ASIDE = frozenset(("bench", "benchmarks", "docs", "examples", "migrations", "scripts", "test", "tests", "tools"))
_PYTEST = lazy_regex(r"^(?:import pytest|from pytest|(?:async )?def test_|class Test\w*(?:\(\))?:)", re.MULTILINE)
_DECLARED = lazy_regex(r"^[^#\n]*(?<![\w-])pytest(?![\w.-])", re.MULTILINE)
_GUARD = lazy_regex(r"^if __name__ == ['\"]__main__['\"]", re.MULTILINE)


class PythonCommands:
    """The build, test and start commands of one Python project; the test command comes with its reason."""

    def __init__(self, project: Project, names: set[str], inside: Inside) -> None:
        self.folder, self.tool, self.names = project.folder, project.tool, names
        self._within = project.within
        self._inside = inside
        self._manifest = toml_table(self._file_text("pyproject.toml"))
        self._tests = tests_in(names)

    def _file_text(self, name: str) -> str:
        return self._inside(self.folder, name)

    @property
    def build(self) -> str:
        """A command that compiles every file. Python needs no build, but compiling finds syntax errors."""
        there = sorted({match[1] for name in self.names if (match := _PACKAGE.fullmatch(name))} - _ASIDE)
        if any(name.startswith("src/") and name.endswith(".py") for name in self.names):
            there = ["src", *(folder for folder in there if folder != "src")]
        loose = (name for name in self.names if "/" not in name and name.endswith(".py"))
        # "./" so that a file named -x.py is not read as an option
        there = there or sorted(f"./{name}" if name.startswith("-") else name for name in loose)
        whole = ["."] if len(there) > PACKAGES else there
        return self._within(f"python3 -m compileall -q {shlex.join(whole)}") if there else ""

    @property
    def test(self) -> tuple[str, str]:
        """The test command, and the reason for choosing it. If there is no test command: "", and the reason for
        that."""
        if not self._tests:
            return "", "it has no tests yet"
        texts = [self._file_text(name) for name in self._tests[:LOOKED]]
        command, why = self._command_by_style(texts)
        return (self._within(command) if command else ""), why

    @property
    def start(self) -> str:
        run = self._runs("python")
        if "manage.py" in self.names:
            return self._within(f"{run} manage.py runserver")
        scripts = [name for name in table_at(self._manifest, "project", "scripts") if re.fullmatch(r"[\w-]+", name)]
        if self.tool in ("uv", "poetry") and len(scripts) == 1:
            return self._within(f"{self.tool} run {scripts[0]}")
        packages = [match[1] for name in self.names if (match := _PROGRAM.fullmatch(name)) and match[1] not in _ASIDE]
        if len(packages) == 1:
            return self._within(f"{run} -m {packages[0]}")
        files = [name for name in STARTED if name in self.names and _GUARD.search(self._file_text(name))]
        return self._within(f"{run} {files[0]}") if len(files) == 1 else ""

    def _command_by_style(self, texts: list[str]) -> tuple[str, str]:
        declared = any(_DECLARED.search(self._file_text(name)) for name in self._dependency_files())
        if declared or self._is_pytest_configured() or any(_PYTEST.search(text) for text in texts):
            if self.tool in ("uv", "poetry", "pipenv") and not declared:
                return "", f"its tests need pytest, which is not among the dependencies that {self.tool} installs"
            reason = "pytest is one of its dependencies" if declared else "its tests are pytest's"
            return self._runs("pytest"), reason
        if "manage.py" in self.names and any("django.test" in text for text in texts):
            return f"{self._runs('python')} manage.py test", "its tests are Django's"
        if any("unittest" in text and "TestCase" in text for text in texts):
            found = self._unittest()
            return found, "its tests are unittest's" if found else "unittest would not find all of its tests by itself"
        return "", f"{self._tests[0]} does not show which runner it needs"

    def _dependency_files(self) -> Iterator[str]:
        yield from (name for name in DEPENDENCY_FILES if name in self.names)
        yield from sorted(name for name in self.names if LISTS.fullmatch(name))

    def _is_pytest_configured(self) -> bool:
        conftest = any(name == "conftest.py" or name.endswith("/conftest.py") for name in self.names)
        return conftest or "pytest.ini" in self.names or "[tool:pytest]" in self._file_text("setup.cfg")

    def _runs(self, program: str) -> str:
        """The command that runs a program with the tool that made the environment."""
        if self.tool == "uv":
            return " ".join(("uv run", *(self._uv_flags() if program == "pytest" else ()), program))
        if self.tool in ("poetry", "pipenv"):
            return f"{self.tool} run {program}"
        return "python3" if program == "python" else f"python3 -m {program}"

    def _uv_flags(self) -> Iterator[str]:
        """The option of `uv run` that installs the group or extra with pytest; none if uv installs it by default."""
        groups = table_at(self._manifest, "dependency-groups")
        extras = table_at(self._manifest, "project", "optional-dependencies")
        for option, named in (("--group", groups), ("--extra", extras)):
            for name in (candidate for family in FAMILIES for candidate in named if candidate.lower() in family):
                if _names_pytest(named[name]) and (option, name) != ("--group", "dev"):
                    yield f"{option} {name}"
                    return

    def _unittest(self) -> str:
        if any(not name.rpartition("/")[2].startswith("test") for name in self._tests):
            return ""
        tops = {name.rpartition("/")[0] for name in self._tests}
        python = self._runs("python")
        if tops == {""}:
            return f"{python} -m unittest"
        if len(tops) == 1:
            (top,) = tops
            quoted = shlex.quote(top)
            whole = all(f"{part}/__init__.py" in self.names for part in _upwards(top))
            return f"{python} -m unittest discover -s {quoted}{' -t .' if whole else ''}"
        packaged = all(f"{part}/__init__.py" in self.names for top in tops if top for part in _upwards(top))
        return f"{python} -m unittest discover" if packaged else ""


def tests_in(names: set[str]) -> list[str]:
    """The test files, those nearest to the root first. Files in node_modules are left out."""
    own = (name for name in names if TEST_FILE.fullmatch(name) and "node_modules/" not in name)
    return sorted(own, key=lambda name: (name.count("/"), name))


def _upwards(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _names_pytest(entries: Any) -> bool:
    return isinstance(entries, list) and any(
        isinstance(entry, str) and re.match(r"pytest(?![\w.-])", entry) for entry in entries
    )
