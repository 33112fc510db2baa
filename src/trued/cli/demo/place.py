"""The demo's folder: a small repository, a plan, a requirements file that agents cannot read, and scripted agents."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trued.errors import BadInput

HERE = Path(__file__).parent
# make git ignore the user's settings, so that none of their hooks runs and no commit is signed
NO_CONFIG = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
AUTHOR = ("-c", "user.name=You", "-c", "user.email=you@localhost", "-c", "init.defaultBranch=main")


@dataclass(frozen=True)
class DemoPlace:
    folder: Path
    environ: Mapping[str, str]

    @property
    def repository(self) -> Path:
        return self.folder / "textkit"

    @property
    def requirements(self) -> Path:
        return self.folder / "held-out" / "requirements.yaml"

    @property
    def agents(self) -> Path:
        return self.folder / "agents.py"

    @property
    def home(self) -> Path:
        return self.folder / "state"

    @property
    def report(self) -> Path:
        return self.folder / "report.html"

    def trued(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "trued", *arguments]


def create_place(keep: Path | None, environ: Mapping[str, str]) -> DemoPlace:
    """Write and commit the demo's files. No file of the user is read or changed. Raises BadInput if the folder `keep`
    is not empty or cannot be created, or if git fails."""
    folder = _empty(keep) if keep else Path(tempfile.mkdtemp(prefix="trued-demo-"))
    inherited = {name: value for name, value in environ.items() if not name.startswith(("TRUED_", "GIT_", "XDG_"))}
    private = {"TRUED_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    place = DemoPlace(folder, {**inherited, **NO_CONFIG, **private})
    shutil.copytree(HERE / "files", place.repository, ignore=shutil.ignore_patterns("__pycache__"))
    place.requirements.parent.mkdir()
    shutil.copy(HERE / "requirements.yaml", place.requirements)
    shutil.copy(HERE / "agents.py", place.agents)
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "-m", "feat: squeeze white space")):
        _git(place, *AUTHOR, *arguments)
    return place


def _empty(folder: Path) -> Path:
    folder = folder.expanduser().absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder} exists and is not empty", then="pass a new folder with --keep")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot create {folder}: {error.strerror}", then="pass another with --keep") from error
    return folder


def _git(place: DemoPlace, *arguments: str) -> None:
    command = ["git", "-C", str(place.repository), *arguments]
    try:
        subprocess.run(command, env=dict(place.environ), check=True, capture_output=True, text=True, timeout=60)
    except FileNotFoundError as error:
        raise BadInput("git is not on PATH", then="install git") from error
    except subprocess.CalledProcessError as error:
        raise BadInput(f"git could not create the demo's repository: {error.stderr.strip()}") from error
