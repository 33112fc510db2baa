"""An example, begun as its README says: a new repository, with everything else beside it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.conftest import clean_environment, git

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Place:
    """The folder that `start.sh` made, and private state of its own."""

    folder: Path
    repository: Path

    @property
    def agents(self) -> Path:
        return self.folder / "agents.py"

    @property
    def requirements(self) -> Path:
        return self.folder / "requirements.yaml"

    @property
    def variables(self) -> dict[str, str]:
        beside = self.folder.parent
        return {**clean_environment(), "TRUED_HOME": str(beside / "state"), "HOME": str(beside / "home")}

    def trued(
        self, *words: str, within_s: float = 840, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """As somebody starts it in the repository; with `variables`, these are all that there are."""
        own = self.variables
        return subprocess.run(
            [sys.executable, "-m", "trued", *words],
            cwd=self.repository,
            env={"TRUED_HOME": own["TRUED_HOME"], **variables} if variables else own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )

    def data(self, *words: str) -> Any:
        done = self.trued(*words, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def lines(self, *words: str) -> list[dict[str, Any]]:
        """What a command tells as one JSON document a line."""
        return [json.loads(line) for line in self.trued(*words, "--json").stdout.splitlines()]

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [one["data"] for one in self.lines("logs") if one["kind"] == kind]

    def file(self, branch: str, path: str) -> str:
        return git(self.repository, "show", f"{branch}:{path}")

    def commit(self, message: str) -> str:
        git(self.repository, "add", ".")
        git(self.repository, "commit", "-q", "--allow-empty", "-m", message)
        return git(self.repository, "rev-parse", "HEAD")


def begun(name: str, folder: Path) -> Place:
    """By the example's own script, in a folder with a blank in its name."""
    place = folder / f"my {name}"
    done = started(name, place)
    assert done.returncode == 0, done.stderr
    return Place(place, Path(done.stdout.strip()))


def started(name: str, place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(EXAMPLES / name / "start.sh"), str(place)],
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
